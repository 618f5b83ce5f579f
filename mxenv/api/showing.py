"""What an image is, as far as it says so itself: no layer is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv import envelope
from mxenv import lock as locks
from mxenv.api import _attached, _attested, _carried, signing
from mxenv.attachment import KINDS
from mxenv.configuration import digest
from mxenv.errors import LockError
from mxenv.foreign_json import items, table, text
from mxenv.layers import START_GATE
from mxenv.stores import places
from mxenv.stores.description import describe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mxenv.api._attached import Attachments
    from mxenv.lock import Lock
    from mxenv.stores import ImageDescription

MAKER = "mxenv build"
"""What the history of an image says of the layers that mxenv made."""
GATE_FIRST = "asks the host first: mxenv's start gate"
NO_GATE = "none: nothing asks the host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer, from the base upwards."""

    digest: str
    size: int
    """Of the blob, as it is transferred."""
    title: str
    """What is in it, or what made it."""
    ours: bool
    """True if the image says that mxenv made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An image in short."""

    name: str
    manifest: str
    config: str
    platform: str
    labels: dict[str, str]
    lock: Lock | None
    """The lock that is attached, if the image names it."""
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    signed: tuple[str, ...]
    """Keys that signed, verified if any were named; else those that say they did."""
    verified: bool
    attached: tuple[str, ...]
    """The kinds of documents that are attached."""

    @property
    def made_by_mxenv(self) -> bool:
        """Return whether the image says so."""
        return _carried.DIGEST in self.labels

    @property
    def gate(self) -> str:
        """Return whether the host is asked before anything starts."""
        return GATE_FIRST if self.entrypoint[:1] == (START_GATE,) else NO_GATE

    @property
    def size(self) -> int:
        """Return how many bytes a node has to fetch that has none of it."""
        return sum(layer.size for layer in self.layers)


def show(
    address: str, *, platform: str = "", keys: Sequence[Path] = (), save: Path | None = None
) -> Shown:
    """Return what the image at ``address`` is; its documents are written to ``save``, if named."""
    known = tuple(map(signing.verifier, keys))
    source = places.source_of(address)
    image = describe(source, platform)
    attached = _attached.read(source, image.manifest.digest, [key.key for key in known])
    if known:
        by = _attested.signatures(image.manifest.digest, attached, known).by
        signed = tuple(f"{key.path} {key.key}" for key in by)
    else:
        signed = tuple(_claimed(attached))
    if save is not None:
        _save(attached, save)
    config = table(image.configuration.get("config"))
    labels = _carried.labels(image)
    parts = (text(image.configuration.get(one)) for one in ("os", "architecture", "variant"))
    return Shown(
        name=source.name,
        manifest=image.manifest.digest,
        config=image.config.digest,
        platform="/".join(filter(None, parts)),
        labels=labels,
        lock=_lock(attached, labels),
        layers=tuple(_layers(image)),
        entrypoint=tuple(map(str, items(config.get("Entrypoint")))),
        command=tuple(map(str, items(config.get("Cmd")))),
        signed=signed,
        verified=bool(known),
        attached=tuple(kind.name for kind in KINDS.values() if kind.name in attached.documents),
    )


def _lock(attached: Attachments, labels: dict[str, str]) -> Lock | None:
    for document in attached.documents.get("lock", ()):
        if digest(document.content) == labels.get(_carried.DIGEST):
            try:
                return locks.parse(document.content.decode(), context="lock")
            except (LockError, UnicodeDecodeError):
                # Of a later mxenv, perhaps; what the labels say is left.
                return None
    return None


def _claimed(attached: Attachments) -> Iterator[str]:
    found: dict[str, None] = {}
    for document in attached.documents.get("signature", ()):
        try:
            signatures = envelope.parse(document.content).signatures
        except ValueError:
            continue
        found.update((one.key or "a key without a name", None) for one in signatures)
    yield from found


def _layers(image: ImageDescription) -> Iterator[Layer]:
    history = [
        entry
        for entry in map(table, items(image.configuration.get("history")))
        if not entry.get("empty_layer")
    ]
    # A history may leave out the layers of its base.
    rest = [*[table(None)] * (len(image.layers) - len(history)), *history]
    for layer, entry in zip(image.layers, rest[len(rest) - len(image.layers) :], strict=True):
        made, comment = text(entry.get("created_by")), text(entry.get("comment"))
        ours = made == MAKER
        yield Layer(
            digest=layer.digest, size=layer.size, title=comment if ours else made, ours=ours
        )


def _save(attached: Attachments, folder: Path) -> None:
    from mxenv._files import write_atomically  # noqa: PLC0415 - imported late: seldom asked for

    for kind in KINDS.values():
        for number, document in enumerate(attached.documents.get(kind.name, ())):
            name = kind.file if not number else f"{number + 1}.{kind.file}"
            write_atomically(folder / name, document.content)
