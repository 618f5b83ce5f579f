"""The lock that an image carries: attached to it, or inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv import lock as locks
from mxenv.api.project import LARGEST
from mxenv.configuration import digest
from mxenv.errors import LockError, UsageError
from mxenv.foreign_json import table, text

if TYPE_CHECKING:
    from mxenv.api._attached import Attachments
    from mxenv.lock import Lock
    from mxenv.stores import ImageDescription, Source

DIGEST, PATH = "io.mxenv.lock.digest", "io.mxenv.lock.path"
"""The labels of an image that say which lock it was made from, and where in it that lies."""


def labels(image: ImageDescription) -> dict[str, str]:
    """Return the labels of an image."""
    found = table(table(image.configuration.get("config")).get("Labels"))
    return {name: text(value) for name, value in found.items()}


def lock(source: Source, image: ImageDescription, attached: Attachments) -> Lock:
    """Return the lock whose digest is in the image's configuration; layers are read last of all."""
    said = labels(image)
    if not said.get(DIGEST):
        raise UsageError(
            "the image carries no lock: it was not made by mxenv",
            context=source.name,
            hint="name the lock that it should be held against",
        )
    for document in attached.documents.get("lock", ()):
        if digest(document.content) == said[DIGEST]:
            return _parsed(document.content, source)
    content = _inside(source, image, said.get(PATH, ""))
    if content is None:
        raise LockError(
            f"the lock {said[DIGEST]} is neither attached to the image nor at {said.get(PATH)}",
            context=source.name,
            hint="name the lock that it should be held against",
        )
    if digest(content) != said[DIGEST]:
        raise LockError(
            f"the lock inside is {digest(content)}, and the image says {said[DIGEST]}",
            context=source.name,
            hint="do not use this image before you know who altered it",
        )
    return _parsed(content, source)


def _parsed(content: bytes, source: Source) -> Lock:
    place = f"{source.name}: lock"
    try:
        return locks.parse(content.decode(), context=place)
    except UnicodeDecodeError as error:
        raise LockError(f"not UTF-8 at byte {error.start}", context=place) from None


def _inside(source: Source, image: ImageDescription, path: str) -> bytes | None:
    """Return what lies at ``path``, in the uppermost layer that has it."""
    from mxenv.stores._layer import members  # noqa: PLC0415 - imported late: if nothing is attached

    for layer, diff_id in zip(reversed(image.layers), reversed(image.diff_ids), strict=True):
        if not source.has(layer.digest):
            continue
        for member in members(source, layer, diff_id, lambda: None):
            if member.path == path and member.open is not None:
                return member.open().read(LARGEST)
    return None
