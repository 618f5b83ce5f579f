"""Check what was learned about a node against the matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mxenv import expectation, judgement
from mxenv.api import matrices, nodes
from mxenv.expectation import Expectation
from mxenv.grounds import grounded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date
    from pathlib import Path

    from mxenv.facts import Snapshot
    from mxenv.matrix import Matrix
    from mxenv.verdict import Verdict, Waiver


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """What snapshots are held against, read once for all of them."""

    judge: Callable[[Snapshot], Verdict]
    matrix: Matrix
    keys: frozenset[str] = frozenset()
    """Facts that are looked at beside those of the matrix."""


def load_matrix(extra: Sequence[Path] = (), *, keys: Sequence[Path] = ()) -> Matrix:
    """Return the shipped matrix, with the files of ``extra`` laid over it in their order.

    With ``keys``, each of those files must be signed with one of them.
    """
    return matrices.load(matrices.Sources(site=tuple(extra), keys=tuple(keys)))


def expect(texts: Sequence[str]) -> tuple[Expectation, ...]:
    """Return what ``texts`` take for granted, as ``accelerators>=1``."""
    return tuple(Expectation(text, keys=nodes.keys()) for text in texts)


def check(  # noqa: PLR0913 - each is a question of its own, and has its default
    snapshot: Snapshot,
    matrix: Matrix,
    *,
    env: str | None = None,
    waivers: Sequence[Waiver] = (),
    expected: Sequence[Expectation] = (),
    today: date,
) -> Verdict:
    """Return what ``matrix`` says of ``snapshot``, in the environment ``env`` if it is named.

    What is ``expected`` of the node is said first, and no waiver makes another node of it.
    """
    verdict = judgement.judge(snapshot, matrix, env=env, waivers=waivers, today=today)
    own = tuple(grounded(expectation.findings(expected, snapshot)))
    return replace(verdict, findings=(*own, *verdict.findings)) if own else verdict
