"""One thing in which two files of a kind are not the same: two locks, two inventories."""

from __future__ import annotations

from mxenv.frozen import frozen


@frozen
class Change:
    """One thing that is not the same."""

    part: str
    """``packages``, ``base``, ``operators``: the place in the file."""
    name: str
    """``numpy``, ``digest``; empty if the part is one thing."""
    before: str | None
    """`None`: it is not there."""
    after: str | None

    @property
    def kind(self) -> str:
        """Return ``added``, ``removed`` or ``changed``."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    @property
    def label(self) -> str:
        """Return the part and the name."""
        return f"{self.part}.{self.name}" if self.name else self.part
