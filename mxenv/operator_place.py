"""What is known of the operators of a place to run: its torch, rows about it, what ran there."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.matrix import WORKS, stem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mxenv.operator_runs import Runs
    from mxenv.operator_table import Table
    from mxenv.verdict import Evidence


class Basis(StrEnum):
    """On what an answer rests."""

    TARGET = "target build"
    """The build of torch that is installed on the platform was asked."""
    OTHER = "other build"
    """Another build was: it says nothing of the platform's."""
    NOTHING = "nothing"
    """There is no table of operators of the platform."""


@frozen
class Known:
    """What a row of a matrix says of operators, of one platform."""

    operators: frozenset[str]
    """Names with their overload, or without: then of every one."""
    dtypes: frozenset[str] = frozenset()
    """The formats that it is about; empty: all."""
    kind: str
    """``wrong``, ``traps``, ``missing``, ``slow``, ``works`` or ``unknown``."""
    row: str
    said: str = ""
    by: str = ""
    """Whose kernels it is about; empty: those of torch itself."""
    sure: bool = True
    """False if it is not known whether the row is about this platform."""
    remedy: str = ""
    because: tuple[Evidence, ...] = ()

    def speaks_of(self, operator: str, dtypes: Iterable[str]) -> bool:
        """Return whether the row is about ``operator`` called with such tensors."""
        if operator not in self.operators and stem(operator) not in self.operators:
            return False
        given = frozenset(dtypes)
        if self.dtypes and self.kind == WORKS:
            # What was seen working says nothing of a call with a tensor of another format.
            return bool(given) and given <= self.dtypes
        return not self.dtypes or not given.isdisjoint(self.dtypes)


@frozen
class Platform:
    """What is known of the operators of a place to run."""

    name: str
    table: Table | None = None
    basis: Basis = Basis.NOTHING
    known: tuple[Known, ...] = ()
    why: str = ""
    """Why nothing is known of its own build of torch, if somebody said so."""
    runs: Runs | None = None
    """What came of running operators there, with that build of torch."""

    @property
    def asked(self) -> Table | None:
        """Return what the platform's own build of torch says, if it was asked."""
        return self.table if self.basis is Basis.TARGET else None
