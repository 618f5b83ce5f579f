"""Check what was learned about a node against the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv import judgement
from mxenv.api import matrices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from mxenv.facts import Snapshot
    from mxenv.matrix import Matrix
    from mxenv.verdict import Verdict, Waiver


def load_matrix(extra: Sequence[Path] = (), *, keys: Sequence[Path] = ()) -> Matrix:
    """Return the shipped matrix, with the files of ``extra`` laid over it in their order.

    With ``keys``, each of those files must be signed with one of them.
    """
    return matrices.load(matrices.Sources(site=tuple(extra), keys=tuple(keys)))


def check(
    snapshot: Snapshot,
    matrix: Matrix,
    *,
    env: str | None = None,
    waivers: Sequence[Waiver] = (),
    today: date,
) -> Verdict:
    """Return what ``matrix`` says of ``snapshot``, in the environment ``env`` if it is named."""
    return judgement.judge(snapshot, matrix, env=env, waivers=waivers, today=today)
