"""How long somebody waits for what is being understood."""

from __future__ import annotations

from itertools import islice
from math import inf
from typing import TYPE_CHECKING, TypeVar

from mxenv.facts import Unreadable
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")
LATE = Unreadable("not understood in time", passing=True)
"""What is said of an answer that came, and for which no time was left."""
STEP = 64
"""Of many entries, after how many the time is looked at."""


class Late(Exception):
    """Nobody waits any more; what was not understood by now is not known."""


@frozen(kw_only=False)
class Patience:
    """What is left of the time in which all of something has to be done."""

    left: Callable[[], float]
    """Returns how many seconds are left; none or fewer if it is over."""

    def check(self) -> None:
        """Raise `Late` if time is over."""
        if self.left() <= 0:
            raise Late

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Yield ``items`` for as long as there is time."""
        found = iter(items)
        for item in found:
            self.check()
            yield item
            # Not taken together first: what came before time was over, is not to be lost.
            yield from islice(found, STEP - 1)

    def share(self, part: float) -> Patience:
        """Return a patience that ends once this part of what is left is over."""
        left = self.left()
        if left == inf:
            return self
        kept = left * (1 - part)
        return Patience(lambda: self.left() - kept)


def endless() -> float:
    """Return how much is left of a time that has no end."""
    return inf


ENDLESS = Patience(endless)
