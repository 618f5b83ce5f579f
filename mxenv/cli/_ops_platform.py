"""How `mxenv ops` holds a model against platforms, and platforms against one another."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from mxenv.cli import _options, _status
from mxenv.errors import UsageError
from mxenv.frozen import frozen
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mxenv.cli._ops_options import Held
    from mxenv.cli._output import Output
    from mxenv.difference import Change
    from mxenv.inventory import Inventory
    from mxenv.matrix import Matrix
    from mxenv.operator_place import Platform

DIFFERENT = _status.STATUS[Outcome.INCOMPATIBLE]
UNSURE = _status.STATUS[Outcome.UNKNOWN]
TOLD = ("text", "html")
"""Formats for people, in which what is alike stands together."""


@frozen
class Model:
    """A model, and what it was named."""

    target: str
    inventory: Inventory


def refuse(held: Held, *, diff: bool) -> None:
    """Refuse results that would be held against no platform, or against several."""
    if held.ran is not None and (diff or len(held.platforms) != 1):
        raise UsageError("--ran is what came of a run on one --platform: name that one alone")


def judge(output: Output, model: Model, held: Held) -> NoReturn:
    """Print a verdict on the model for each platform; the worst is the status."""
    from mxenv.api import (  # noqa: PLC0415 - imported late: --help needs none
        operator_runs,
        operators,
        waiving,
    )

    known, answered = held.matrix.load(), waiving.read(held.waivers)
    runs = operator_runs.read_results(held.ran) if held.ran is not None else None
    verdicts = [
        operators.cover(
            model.inventory,
            platform,
            known,
            waivers=answered,
            each=output.format not in TOLD,
            env=held.env,
            runs=runs,
            target=model.target,
            now=_options.now(),
            today=_options.today(),
        )
        for platform in held.platforms
    ]
    output.verdicts(verdicts)
    sys.exit(_status.STATUS[_status.worst(verdicts)])


def compare_for(output: Output, model: Model, other: str, held: Held) -> NoReturn:
    """Print which operators of a model become something else on another platform."""
    from mxenv import operator_difference as difference  # noqa: PLC0415 - imported late: as above

    if len(held.platforms) > 1:
        raise UsageError("--diff compares one --platform with another: name one")
    known = held.matrix.load()
    (one,) = held.platforms
    before, after = (_place(name, known, held.env) for name in (one, other))
    changes = difference.of_model(model.inventory, before, after)
    settled = difference.settled(before, after) and not model.inventory.gaps
    show(output, changes, (one, other), schema="mxenv.platformdiff/1", settled=settled)


def compare(output: Output, one: str, other: str, held: Held) -> NoReturn:
    """Print in what the builds of torch of two nodes do not do the same."""
    from mxenv import operator_difference as difference  # noqa: PLC0415 - imported late: as above

    known = held.matrix.load()
    before, after = (_place(name, known, held.env) for name in (one, other))
    changes = difference.of_all(before, after)
    settled = difference.settled(before, after)
    show(output, changes, (one, other), schema="mxenv.platformdiff/1", settled=settled)


def _place(name: str, known: Matrix, env: str | None) -> Platform:
    from mxenv.api import operators  # noqa: PLC0415 - imported late: as above

    return operators.place_of(name, known, env=env, now=_options.now())[1]


def show(
    output: Output,
    changes: Sequence[Change],
    sides: tuple[str, str],
    *,
    schema: str,
    settled: bool,
) -> NoReturn:
    """Print differences; the status says whether there are any, and whether all was known."""
    from mxenv.inventory_difference import section  # noqa: PLC0415 - imported late: as above

    if output.format == "json":
        fields = ("part", "name", "before", "after")
        told = [{name: getattr(one, name) for name in fields} for one in changes]
        output.values(schema, {"before": sides[0], "after": sides[1], "changes": told})
    elif changes:
        output.tables((section(changes, *sides),))
    unsure = "" if changes or settled else "; what neither says may still differ"
    count = f"{len(changes) or 'no'} difference{'s' * (len(changes) != 1)}"
    output.note(f"{count} between {sides[0]} and {sides[1]}{unsure}")
    sys.exit(DIFFERENT if changes else 0 if settled else UNSURE)


def nodes(one: str, other: str) -> bool:
    """Return whether two that are compared are nodes, and no models; one of each is refused."""
    from mxenv.api import operators  # noqa: PLC0415 - imported late: as above

    there = [operators.is_place(name) for name in (one, other)]
    if any(there) and not all(there):
        raise UsageError(
            f"{one} and {other}: one is a node and one is none",
            hint="hold a model against a node with --platform",
        )
    return all(there)
