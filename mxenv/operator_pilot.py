"""What a run of operators on a node is evidence of: the rows that a site's matrix gets from it."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from mxenv.constraint import Constraint
from mxenv.errors import UsageError
from mxenv.matrix import FAILS, WORKS, Operator
from mxenv.operator_platform import CARD
from mxenv.operator_runs import Ended

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.facts import FactKey
    from mxenv.operator_runs import Runs
    from mxenv.stack import Stack
    from mxenv.verdict import Evidence

KINDS = {
    Ended.VERIFIED: WORKS,
    Ended.WRONG: "wrong",
    Ended.REFUSED: "missing",
    Ended.CRASHED: "traps",
    Ended.HUNG: "traps",
}
"""What an end is evidence of; one that says nothing of numbers is evidence of nothing."""
TEXTS = {
    WORKS: "right to what the format allows when it was run",
    "wrong": "wrong when it was run",
    "missing": "refused when it was run",
    "traps": "crashed or hung when it was run",
}
COUNTING = frozenset({"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"})
"""Formats of indices and masks: what fails, fails because of the others where there are some."""
ACCELERATED = "CUDA"
_SHORT = 8
_NOT_OF_AN_ID = re.compile(r"[^a-z0-9.+-]+")


def rows(
    runs: Runs, found: Stack, keys: Mapping[str, FactKey], *, evidence: Evidence, file: str
) -> tuple[Operator, ...]:
    """Return the rows that ``runs`` on the node ``found`` are evidence of, or say why of none."""
    if problems := list(_problems(runs, found)):
        raise UsageError(
            f"results on {found.snapshot.node} cannot become rows: {'; '.join(problems)}"
        )
    texts = (
        f"{CARD} == {found.cards[0]}",
        f"metax.sdk == {found.sdk.version}",
        f"python.package[torch] == {runs.device.torch}",
    )
    when = tuple(Constraint.parse(text, keys=keys) for text in texts)
    groups: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for kind, dtypes, operator in _ended(runs):
        groups.setdefault((kind, dtypes), set()).add(operator)
    return tuple(
        Operator(
            id=_id(found, kind, dtypes, sorted(operators)),
            file=file,
            text=TEXTS[kind],
            operators=tuple(sorted(operators)),
            kind=kind,
            dtypes=dtypes,
            when=when,
            evidence=(evidence,),
        )
        for (kind, dtypes), operators in sorted(groups.items())
    )


def _problems(runs: Runs, found: Stack) -> Iterator[str]:
    """Yield what is not as it was when operators were run, or is not known."""
    if runs.device.key != ACCELERATED:
        yield f"they ran on {runs.device.name}, and rows are about cards"
    if len(found.cards) != 1:
        yield f"it has {', '.join(found.cards) or 'no card that could be read'}"
    if not found.sdk.version:
        yield found.sdk.seen.found
    if (there := found.versions.get("torch", "none that was read")) != runs.device.torch:
        yield f"they are of torch {runs.device.torch}, and it has {there}"
    if not any(_ended(runs)):
        yield "nothing was verified, and nothing failed"


def _ended(runs: Runs) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield what each operator did, of several forms the worst."""
    for operator, dtypes in sorted({(one.trial.operator, one.trial.dtypes) for one in runs.runs}):
        run = runs.of(operator, dtypes)
        kind = KINDS.get(run.ended) if run is not None else None
        if kind in FAILS:
            yield kind, _telling(dtypes), operator
        elif kind and dtypes:
            # Without a tensor nothing tells for which calls it would speak.
            yield kind, tuple(sorted(set(dtypes))), operator


def _telling(dtypes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(dtypes) - COUNTING or set(dtypes)))


def _id(found: Stack, kind: str, dtypes: tuple[str, ...], operators: list[str]) -> str:
    """Return a name that people can read, and that no other row of this kind has."""
    said = repr((found.cards, found.sdk.version, found.versions["torch"], kind, dtypes, operators))
    digest = hashlib.sha256(said.encode()).hexdigest()[:_SHORT]
    readable = f"{found.cards[0]}-sdk{found.sdk.version}-{kind}-{'-'.join(dtypes)}".lower()
    return f"{_NOT_OF_AN_ID.sub('-', readable).strip('-.+')}-{digest}"
