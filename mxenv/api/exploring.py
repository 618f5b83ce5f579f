"""What a node could become: which known sets are near, and what an upgrade would break."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv import judgement, route, supposition
from mxenv.api import nodes
from mxenv.environment import candidates, environments, select_env
from mxenv.errors import UsageError
from mxenv.selector import PACKAGE, Selector
from mxenv.stack import KMD, SDK, stack
from mxenv.supposition import GONE, Shift, Supposed
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from mxenv.facts import Snapshot
    from mxenv.matrix import Matrix
    from mxenv.route import Change, Way
    from mxenv.verdict import Verdict

USUAL = "/usr"
"""The environment of a node on which none was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A way, and what the node would then be."""

    way: Way
    verdict: Verdict


def what_if(
    snapshot: Snapshot,
    settings: Sequence[str],
    matrix: Matrix,
    *,
    env: str | None = None,
    today: date,
) -> Shift:
    """Return what the verdict on ``snapshot`` is, and would be with ``KEY=VALUE`` settings."""
    keys = nodes.keys()
    changes = [Supposed.parse(text, keys=keys) for text in settings]
    other = supposition.suppose(snapshot, changes, keys, select_env(snapshot, env))
    return Shift(
        before=judgement.judge(snapshot, matrix, env=env, today=today),
        after=judgement.judge(other, matrix, env=env, today=today),
    )


def nearest(
    snapshot: Snapshot, matrix: Matrix, *, env: str | None = None, count: int, today: date
) -> tuple[Tried, ...]:
    """Return the ``count`` shortest ways to a known set; those that get there come first.

    Each was tried: a way that no row forbids may still break a rule, and then it is no way.
    """
    tried: list[Tried] = []
    reached = 0
    for one in _tried(snapshot, matrix, env, today):
        tried.append(one)
        reached += one.verdict.outcome is Outcome.COMPATIBLE
        if reached == count:
            break
    # Sorting keeps the order of equals, which is that of their lengths.
    return tuple(sorted(tried, key=lambda one: -one.verdict.outcome)[:count])


def _tried(snapshot: Snapshot, matrix: Matrix, env: str | None, today: date) -> Iterator[Tried]:
    keys, selected = nodes.keys(), _environment(snapshot, env)
    for way in route.ways(stack(snapshot, selected), matrix):
        changes = [_supposed(change) for change in way.changes]
        other = supposition.suppose(snapshot, changes, keys, selected)
        judged = judgement.judge(other, matrix, env=select_env(other, env), today=today)
        yield Tried(way=way, verdict=judged)


def _environment(snapshot: Snapshot, env: str | None) -> str:
    """Return the environment that is looked at; one that holds nothing yet would do as well."""
    if selected := select_env(snapshot, env):
        return selected
    if several := candidates(snapshot):
        hint = f"--env {several[0]}"
        raise UsageError(f"which environment is meant: {', '.join(several)}?", hint=hint)
    return next(iter(sorted(environments(snapshot))), USUAL)


def _supposed(change: Change) -> Supposed:
    keys, name = nodes.keys(), change.component
    if name in {KMD, SDK}:
        return Supposed(selector=Selector(key=keys[name]), value=change.after)
    selector = Selector(key=keys[PACKAGE], instance=name)
    return Supposed(selector=selector, value=change.after or GONE)
