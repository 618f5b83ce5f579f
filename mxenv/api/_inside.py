"""The files of one image, looked at by the paths of a lock."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv.api._packages import Present
from mxenv.distribution import normalised
from mxenv.stores.unpacked import Want
from mxenv.transports._layers import LayerTree
from mxenv.transports._tree import Unanswered, Walker

if TYPE_CHECKING:
    from mxenv.lock import Lock
    from mxenv.stores.unpacked import Node, Unpacked

METADATA = "METADATA"


def sites(lock: Lock) -> tuple[str, ...]:
    """Return the directories that distributions are installed in."""
    return tuple(dict.fromkeys((lock.target.purelib, lock.target.platlib)))


@dataclass(slots=True, kw_only=True)
class Inside:
    """The files of one image, looked at by the paths of a lock."""

    files: Unpacked
    lock: Lock
    ours: frozenset[int]
    """The numbers of the layers that are known to be the lock's; empty if that is not known."""
    walker: Walker = field(init=False)

    def __post_init__(self) -> None:
        """Walk the files as the image has them."""
        self.walker = Walker(LayerTree(self.files))

    def node(self, path: str) -> tuple[str, Node | None]:
        """Return where ``path`` leads and what lies there; raise `Unanswered` if unknown."""
        try:
            place = self.walker.find(path)
        except RecursionError:
            raise Unanswered("its links are nested too deep") from None
        return place.path, None if place.status is None else self.files.at(place.path)

    def text(self, path: str) -> str | None:
        """Return the text of a file, or nothing if it is not there or no file."""
        _, node = self.node(path)
        if node is None or node.kind != "file":
            return None
        if not self.files.holds(node):
            self.files.fetch({node.origin: Want.CONTENT})
        content = self.files.contents.get(node.origin)
        return content.data.decode(errors="replace") if content else ""

    def distributions(self) -> Present:
        """Return what lies in the directories of the lock."""
        present = Present(gap=self._gap() if self.files.missing else "")
        for site in sites(self.lock):
            place, folder = self.folder(site)
            for name in sorted(folder.children if folder else ()):
                stem, _, kind = name.rpartition(".")
                if kind in {"dist-info", "egg-info"}:
                    self._distribution(stem, f"{place}/{name}", present)
        return present

    def folder(self, path: str) -> tuple[str, Node | None]:
        """Return a directory as far as it can be read."""
        try:
            return self.node(path)
        except Unanswered:
            return path, self.files.at(path)

    def _gap(self) -> str:
        return f"layer {next(iter(self.files.missing.values()))} is not there to be read"

    def _distribution(self, stem: str, place: str, present: Present) -> None:
        name, _, version = stem.partition("-")
        path = f"{place}/{METADATA}" if place.endswith("dist-info") else f"{place}/PKG-INFO"
        try:
            text = self.text(path) or ""
        except Unanswered:
            text = ""
        head = text.partition("\n\n")[0]
        found = dict(re.findall(r"^(Name|Version): *(\S+)", head, re.MULTILINE))
        present.add(normalised(found.get("Name", name)), path, found.get("Version", version))
