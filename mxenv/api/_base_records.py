"""What is known of a base without asking for it: its record, which lies beside the lock."""

from __future__ import annotations

import hashlib
import re
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mxenv import _files, base_record
from mxenv import snapshot as snapshots
from mxenv.api import nodes
from mxenv.base_record import AGAIN, Told
from mxenv.errors import InvalidFile, LockError
from mxenv.listing import Place
from mxenv.stores.description import describe
from mxenv.stores.unpacked import Want, read
from mxenv.transports._layers import LayerHost, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mxenv.base_record import Record
    from mxenv.facts import Snapshot
    from mxenv.lock import Lock
    from mxenv.stores import ImageDescription, Source
    from mxenv.stores.unpacked import Node, Unpacked

FOLDER = "bases"
"""Beside the lock; it goes into version control with it."""
LARGEST = 1 << 28
"""Bytes; the record of an image of half a million files has a thirtieth of it."""
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""What an image holds does not depend on when it was looked at."""
HASHED = re.compile(
    r".*/(?:site|dist)-packages/(?!.*\.pyc$).*"
    r"|(?:/[^/]+)*/bin/[^/]+"
    r"|/usr/local/.*"
    r"|/(?:opt|srv|home|root)/.*/(?:etc|include|share)/.*"
)
"""Files that a wheel may bring as well: whether they are equal is a question of their bytes."""


def path_of(folder: Path, digest: str) -> Path:
    """Return where the record of the base with this digest lies, beside the locks in ``folder``."""
    return folder / FOLDER / f"{digest.replace(':', '-')}.json.gz"


def open_record(path: Path) -> Record:
    """Return the record at ``path``; raise `InvalidFile` if there is none that can be used."""
    try:
        content = _files.read(path, limit=LARGEST)
    except (OSError, ValueError) as error:
        said = f"cannot be read: {_files.why(error)}"
        raise InvalidFile(said, context=str(path), hint=AGAIN) from None
    return base_record.parse(content, context=str(path))


def locked(lock: Lock, lock_path: Path) -> Record:
    """Return the record that ``lock`` names.

    One that is missing, damaged or another one is refused: the lock relies on it.
    """
    base = lock.base
    path = path_of(lock_path.parent, base.digest)
    try:
        record = open_record(path)
    except InvalidFile as error:
        raise LockError(
            f"what is known of the base {error.message}", context=error.context, hint=AGAIN
        ) from None
    if (record.told.base, record.digest) != (base.digest, base.listing):
        raise LockError(
            f"is not the record that {lock_path} was locked with", context=str(path), hint=AGAIN
        )
    return record


def kept(folder: Path, digest: str, platform: str) -> tuple[Record | None, str]:
    """Return the record of a base if some lock in ``folder`` vouches for it, and else why not."""
    path = path_of(folder, digest)
    if not path.exists():
        return None, ""
    try:
        record = open_record(path)
        _ = facts_of(record, str(path))
        _ = len(record.listing.folders)
    except InvalidFile as error:
        return None, f"{error.context}: {error.message}; the base is read again"
    if (record.told.base, record.told.platform) != (digest, platform):
        return None, f"{path}: is of another image; the base is read again"
    if record.keys != _keys():
        return None, f"{path}: was written by another mxenv; the base is read again"
    if not _vouched(folder, record):
        return None, f"{path}: no lock beside it names it; the base is read again"
    return record, ""


def _vouched(folder: Path, record: Record) -> bool:
    """Return whether a lock names exactly this record, and the facts that are in it."""
    stack = nodes.fingerprint_of(facts_of(record, "")).stack or ""
    lines = {f'listing = "{record.digest}"', *([f'snapshot = "{stack}"'] if stack else [])}
    for path in sorted(folder.glob("pylock.*.toml")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        if lines <= set(text.splitlines()):
            return True
    return False


def _keys() -> str:
    """Name the facts that this mxenv asks for."""
    return hashlib.sha256("\n".join(sorted(nodes.keys())).encode()).hexdigest()


def facts_of(record: Record, context: str) -> Snapshot:
    """Return the facts in a record."""
    return snapshots.from_json(record.snapshot, context=context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A base that was read, layer by layer."""

    snapshot: Snapshot
    content: bytes | None
    """Its record; `None` where layers are missing, for then nobody knows which files it holds."""
    record: Record | None


@contextmanager
def looking(source: Source, platform: str) -> Iterator[tuple[Looked, LayerHost]]:
    """Read a base, and go on answering questions about it."""
    image = describe(source, platform)
    asked = wanted(question for probe in nodes.probes() for question in probe.questions)
    files = read(source, image, lambda path: asked(path) | _hash(path))
    host = LayerHost(source=source, description=image, files=files)
    with closing(files.spool):
        snapshot = nodes.look(host, now=NO_TIME)
        content = record = None
        if not files.missing:
            content = _render(source, image, platform, snapshot, files)
            record = base_record.parse(content, context=source.name)
        yield Looked(snapshot=snapshot, content=content, record=record), host


def _hash(path: str) -> Want:
    return Want.HASH if HASHED.fullmatch(path) else Want.NOTHING


def _render(
    source: Source, image: ImageDescription, platform: str, snapshot: Snapshot, files: Unpacked
) -> bytes:
    manifest, text = source.manifest(platform)
    with source.blob(image.config) as stream:
        configuration = stream.read()
    told = Told(
        base=manifest.digest,
        platform=platform,
        media_type=manifest.media_type,
        manifest=text,
        configuration=configuration,
    )
    # Where it was read, and when, is no part of what it holds.
    plain = replace(snapshot, node=manifest.digest, taken_at=NO_TIME)
    facts = snapshots.to_json(plain, nodes.keys())
    return base_record.render(told, folders(files), keys=_keys(), snapshot=facts)


def folders(files: Unpacked) -> dict[str, dict[str, Place]]:
    """Return what lies in each directory of an image."""
    found: dict[str, dict[str, Place]] = {}
    todo = [("/", files.root)]
    while todo:
        path, node = todo.pop()
        if node.children:
            found[path] = {name: _place(child, files) for name, child in node.children.items()}
        todo += [
            (f"{path.rstrip('/')}/{name}", child)
            for name, child in node.children.items()
            if child.kind == "directory"
        ]
    return found


def _place(node: Node, files: Unpacked) -> Place:
    content = files.contents.get(node.origin)
    return Place(
        kind=node.kind,
        mode=node.mode,
        size=node.size if node.kind == "file" else 0,
        target=node.target if node.kind == "link" else "",
        sha256=content.sha256 if content and node.kind == "file" else "",
    )
