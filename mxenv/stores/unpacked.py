"""The files that the layers of an image leave in the end, without unpacking them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from functools import lru_cache
from typing import TYPE_CHECKING

from mxenv.errors import LayoutError
from mxenv.stores._layer import DEEPEST, damage, members
from mxenv.stores._spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.stores import ImageDescription, Source
    from mxenv.stores._layer import Member, Readable

LARGEST = 32 << 20
"""Bytes that are kept of one file."""
MOST = 256 << 20
"""Bytes that are kept of all of them."""

_CHUNK = 1 << 20
_HOPS = 40
"""How many links Linux follows for one path (``MAXSYMLINKS``)."""
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
"""How a layer says that what lies below it is gone (OCI image specification, layer)."""

Origin = tuple[int, int]
"""Where a content came from: the layer's number, the member's number in it."""


class Want(Flag):
    """What is kept of a file as it passes by."""

    NOTHING = 0
    CONTENT = auto()
    HASH = auto()
    FILE = auto()
    """All of it, however large, on a disk for as long as the image is asked."""


@dataclass(frozen=True, slots=True)
class Content:
    """What was kept of a file."""

    data: bytes = b""
    """The first `LARGEST` bytes of it, if they were wanted."""
    sha256: str = ""
    """The digest of all of it, if that was wanted."""


_CHILDLESS: dict[str, Node] = {}
"""One for all that is no directory: an image has half a million files."""


@dataclass(slots=True, kw_only=True)
class Node:
    """One file or directory; ``children`` belong to directories only."""

    kind: str
    layer: int
    mode: int = 0o755
    size: int = 0
    target: str = ""
    brought: int = -1
    """The layer that its content came from."""
    ordinal: int = -1
    """The number of its content's member in that layer."""
    children: dict[str, Node] = field(default_factory=lambda: _CHILDLESS)

    def __post_init__(self) -> None:
        if self.kind == "directory":
            self.children = {}

    @property
    def origin(self) -> Origin:
        """Where its content came from."""
        return self.brought, self.ordinal


@lru_cache(maxsize=1 << 12)
def _once(mode: int) -> int:
    """Return ``mode``, one object for all that have it."""
    return mode


@dataclass(slots=True, kw_only=True)
class Unpacked:
    """The files of one image as the last layer leaves them."""

    source: Source
    description: ImageDescription
    missing: dict[int, str] = field(default_factory=dict)
    """The layers that are not there: number and digest."""
    root: Node = field(default_factory=lambda: Node(kind="directory", layer=-1))
    contents: dict[Origin, Content] = field(default_factory=dict)
    kept: int = 0
    spool: Spool = field(default_factory=Spool)
    covered_links: dict[str, int] = field(default_factory=dict)
    """Links of a layer below that a directory took the place of, and the layer that brought it."""
    replaced: dict[str, int] = field(default_factory=dict)
    """Files of a layer below that were replaced or removed, and the last layer that did so."""
    check: Callable[[], None] = lambda: None
    """Called all the time while layers are read; it ends that by raising."""

    def at(self, path: str) -> Node | None:
        """Return what lies at ``path``, following no link; nothing lies below a file."""
        node: Node | None = self.root
        for part in _parts(path):
            if node is None or node.kind != "directory":
                return None
            node = node.children.get(part)
        return node

    def holds(self, node: Node) -> bool:
        """Return whether the content of a file was kept, as far as any is."""
        content = self.contents.get(node.origin)
        return content is not None and len(content.data) >= min(node.size, LARGEST)

    def covered(self, node: Node) -> str:
        """Return the digest of a layer that is missing and may have replaced ``node``, if any."""
        return next((d for number, d in self.missing.items() if number > node.layer), "")

    def fetch(self, wanted: dict[Origin, Want]) -> None:
        """Read the layers again in which something lies that turned out to be wanted."""
        for number in sorted({layer for layer, _ in wanted}):
            for member in self._members(number):
                want = wanted.get((number, member.ordinal), Want.NOTHING)
                self._keep(number, member, want)

    def _members(self, number: int) -> Iterator[Member]:
        layers, diff_ids = self.description.layers, self.description.diff_ids
        return members(self.source, layers[number], diff_ids[number], self.check)

    def _keep(self, number: int, member: Member, want: Want) -> None:
        """Read what is wanted of a file, at once: the stream does not come back."""
        if member.open is None or not want:
            return
        if Want.FILE in want:
            # Whoever wants it whole wants nothing else of it, but perhaps to know it again.
            with damage(f"{self.source.name}: {member.path!r}"):
                self.spool.take((number, member.ordinal), member.open(), member.size)
            if Want.HASH in want and self.spool.holds((number, member.ordinal)):
                with self.spool.open((number, member.ordinal)) as kept:
                    sha256 = _content(kept, 0, whole=True).sha256
                before = self.contents.get((number, member.ordinal), Content())
                self.contents[number, member.ordinal] = Content(data=before.data, sha256=sha256)
            return
        limit = min(LARGEST, MOST - self.kept) if Want.CONTENT in want else 0
        with damage(f"{self.source.name}: {member.path!r}"):
            content = _content(member.open(), limit, whole=Want.HASH in want)
        self.kept += len(content.data)
        before = self.contents.get((number, member.ordinal), Content())
        self.contents[number, member.ordinal] = Content(
            data=content.data or before.data, sha256=content.sha256 or before.sha256
        )


def _content(file: Readable, limit: int, *, whole: bool) -> Content:
    digest = hashlib.sha256()
    data = bytearray()
    while (whole or len(data) < limit) and (chunk := file.read(_CHUNK)):
        data += chunk[: limit - len(data)]
        if whole:
            digest.update(chunk)
    return Content(data=bytes(data), sha256=digest.hexdigest() if whole else "")


def read(
    source: Source,
    description: ImageDescription,
    want: Callable[[str], Want],
    check: Callable[[], None] = lambda: None,
) -> Unpacked:
    """Read every layer once, in order; ``want`` says of each path what is kept of a file there."""
    files = Unpacked(source=source, description=description, check=check)
    for number, layer in enumerate(description.layers):
        if not source.has(layer.digest):
            files.missing[number] = layer.digest
            continue
        for member in files._members(number):  # noqa: SLF001 - the same module
            _apply(files, number, member)
            if member.kind == "file":
                files._keep(number, member, want(member.path))  # noqa: SLF001 - the same module
    return files


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]


def _apply(files: Unpacked, layer: int, member: Member) -> None:
    """Lay one member over what is there."""
    *above, name = _parts(member.path) or [""]
    if not name:
        return
    folder = _directory(files, above, layer)
    _note(files, folder, layer, member)
    if name == _OPAQUE:
        _strip(folder, layer)
    elif name.startswith(_WHITEOUT):
        gone = folder.children.get(name.removeprefix(_WHITEOUT))
        if gone is not None and not _strip(gone, layer):
            del folder.children[name.removeprefix(_WHITEOUT)]
    elif member.kind == "hard link":
        _link(files, folder, name, layer, member)
    elif member.kind == "directory" and _is_directory(folder.children.get(name)):
        folder.children[name].layer = layer
        folder.children[name].mode = member.mode
    else:
        if member.kind == "directory" and _is_below(folder.children.get(name), layer):
            files.covered_links[member.path] = layer
        folder.children[name] = Node(
            kind=member.kind,
            layer=layer,
            mode=_once(member.mode),
            size=member.size,
            target=member.target,
            brought=layer,
            ordinal=member.ordinal,
        )


def _note(files: Unpacked, folder: Node, layer: int, member: Member) -> None:
    """Note what of the layers below ``member`` takes away."""
    above, _, name = member.path.rpartition("/")
    if name == _OPAQUE:
        gone: Node | None = folder
        path = above
    else:
        path = f"{above}/{name.removeprefix(_WHITEOUT)}"
        gone = folder.children.get(path.rpartition("/")[2])
    both = member.kind == "directory" and _is_directory(gone)
    if gone is not None and gone.layer < layer and not both:
        files.replaced[path] = layer


def _is_below(node: Node | None, layer: int) -> bool:
    """Return whether ``node`` is a link of a layer below."""
    return node is not None and node.kind == "link" and node.layer < layer


def _is_directory(node: Node | None) -> bool:
    return node is not None and node.kind == "directory"


def _link(files: Unpacked, folder: Node, name: str, layer: int, member: Member) -> None:
    """Give a file another name; it stays what it was when the first one is replaced."""
    *above, last = _parts(member.target) or [""]
    other = _directory(files, above, layer).children.get(last)
    if other is not None and other.kind != "directory":
        folder.children[name] = replace(other, layer=layer)
    elif not files.missing:
        raise LayoutError(
            f"{member.path!r} is a hard link to {member.target!r}, which is not there",
            context=f"{files.source.name}: layer {files.description.layers[layer].digest}",
        )


def _directory(files: Unpacked, parts: list[str], layer: int) -> Node:
    """Return the directory that a layer means, made where it is missing.

    A link of the same layer is followed. One of a layer below is covered by a directory, as an
    overlay file system does it: engines differ here, and no image should count on either.
    """
    todo = parts[::-1]
    root = files.root
    trail, names = [root], [""]
    hops = 0
    while todo:
        part = todo.pop()
        if part == "..":
            trail, names = trail[:-1] or [root], names[:-1] or [""]
            continue
        child = trail[-1].children.get(part)
        if child is not None and child.kind == "link" and child.layer == layer and hops < _HOPS:
            hops += 1
            if child.target.startswith("/"):
                trail, names = [root], [""]
            todo.extend(_parts(child.target)[::-1])
            continue
        if child is None or child.kind != "directory":
            if _is_below(child, layer):
                files.covered_links["/".join((*names, part))] = layer
            child = trail[-1].children[part] = Node(kind="directory", layer=layer)
        trail.append(child)
        names.append(part)
        if len(trail) > DEEPEST:
            raise LayoutError(f"{'/'.join(parts[:3])!r} …: its folders are nested too deep")
    return trail[-1]


def _strip(node: Node, layer: int) -> bool:
    """Take away what came from below ``layer``; return whether anything is left."""
    if node.kind == "directory":
        for name in [n for n, child in node.children.items() if not _strip(child, layer)]:
            del node.children[name]
    return node.layer == layer or bool(node.children)
