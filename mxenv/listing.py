"""What lies where in an image: the kind of every path, and what is known of its content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = ("file", "directory", "link", "char", "block", "fifo")
"""As `mxenv.question.Status` has them."""


@frozen
class Place:
    """What lies at one path; no link was followed."""

    kind: str
    mode: int = 0o755
    size: int = 0
    """Bytes of a file."""
    target: str = ""
    """The text of a link."""
    sha256: str = ""
    """Of a file's content, in hexadecimal; empty where nobody looked."""


ROOT = Place(kind="directory")


@frozen
class Listing:
    """Every path of one image, as its last layer leaves it."""

    folders: Mapping[str, Mapping[str, Place]]
    """What lies in each directory, by name; one that is empty need not be here."""

    def at(self, path: str) -> Place | None:
        """Return what lies at ``path``, which is absolute and normal; `None` if nothing does."""
        if path == "/":
            return ROOT
        folder, _, name = path.rpartition("/")
        return self.names(folder or "/").get(name)

    def names(self, folder: str) -> Mapping[str, Place]:
        """Return what lies in a directory."""
        return self.folders.get(folder, {})
