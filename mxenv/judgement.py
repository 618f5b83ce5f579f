"""The verdict on one node or image: what the matrix says of it, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv import advising, coverage, grounds, linkage, mixture, ruling, version
from mxenv.environment import candidates, select_env
from mxenv.facts import observed
from mxenv.stack import Stack, exactly_tested, stack
from mxenv.verdict import Finding, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from mxenv.facts import Fact, Snapshot, Value
    from mxenv.matrix import Matrix
    from mxenv.verdict import Waiver

__all__ = ["judge", "select_env", "waive"]


def judge(
    snapshot: Snapshot,
    matrix: Matrix,
    *,
    env: str | None = None,
    waivers: Sequence[Waiver] = (),
    today: date,
) -> Verdict:
    """Return what ``matrix`` says of ``snapshot``; what it does not cover is unknown."""
    findings = waive(tuple(_findings(snapshot, matrix, env)), waivers, today)
    said = tuple(grounds.grounded(findings))
    return Verdict(subject=snapshot.node, findings=said, matrix=matrix.digest)


def _findings(snapshot: Snapshot, matrix: Matrix, env: str | None) -> Iterator[Finding]:
    selected = select_env(snapshot, env)
    several = candidates(snapshot) if selected is None else ()
    found = stack(snapshot, selected, ambiguous=bool(several))
    if several:
        yield _ambiguous(several)
    elif found.nothing or (found.no_cards and not found.image):
        yield _no_accelerator(found)
    if found.nothing and not several:
        return
    tested = exactly_tested(found, matrix)
    ruled = tuple(ruling.rule(found, matrix, tested))
    kept = [r.rule for r in ruled if r.rule.covers_driver and r.outcome is Outcome.COMPATIBLE]
    if mixed := mixture.mixture(found, matrix, ruled, tested):
        yield mixed
    yield from map(ruling.finding, ruled)
    yield from ruling.known_broken(found, matrix)
    yield from coverage.cover(found, matrix, kept)
    yield from advising.findings(found, matrix)
    yield from linkage.findings(snapshot, selected)
    yield from _disagreements(found.snapshot)


def _ambiguous(several: Sequence[str]) -> Finding:
    return Finding(
        code="MX102",
        outcome=Outcome.UNKNOWN,
        subject="python.package",
        found=f"several environments could be the one in use: {', '.join(several)}",
        expected="one environment to judge",
        remedy=f"name it: --env {several[0]}",
    )


def _no_accelerator(found: Stack) -> Finding:
    facts = found.snapshot.of("metax.device.count")
    asked = ", ".join(dict.fromkeys(fact.source for fact in facts))
    said = "no MetaX SDK and no wheel built for one" if found.image else "no MetaX accelerator"
    return Finding(
        code="MX101",
        outcome=Outcome.UNKNOWN,
        subject="metax.device.count",
        found=f"{said} here ({asked or 'not asked'}, {found.snapshot.view.value})",
        expected="a node with a card, or an image for one",
        remedy="check a node that has one; in a container, map /dev/mxcd and /dev/dri into it",
    )


def _disagreements(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield every fact for which two sources give different values."""
    values: dict[tuple[str, str], list[tuple[Fact, Value]]] = {}
    for fact, value in observed(snapshot.facts):
        values.setdefault((fact.key, fact.instance), []).append((fact, value))
    for read in values.values():
        if len(read) > 1 and len({version.parse(str(value)) for _, value in read}) > 1:
            yield Finding(
                code="MX116",
                outcome=Outcome.UNKNOWN,
                subject=read[0][0].label,
                found="; ".join(f"{v} ({f.source}, {f.view.value})" for f, v in read),
                expected="all sources agree",
                remedy="look at each source; a restart after an upgrade often makes them agree",
            )


def waive(
    findings: Sequence[Finding], waivers: Sequence[Waiver], today: date
) -> tuple[Finding, ...]:
    """Return the findings, those that somebody answers for marked, and what is wrong of waivers.

    A waiver without a use is shown and changes nothing: it speaks of a state that is better than
    expected. One that expired fails, whether or not what it waived is still there: a date was
    promised to somebody.
    """
    current = [waiver for waiver in waivers if waiver.holds(today)]
    marked = tuple(replace(finding, waiver=_waiver(finding, current)) for finding in findings)
    used = {finding.waiver for finding in marked}
    expired = tuple(_expired(waiver) for waiver in waivers if waiver not in current)
    unused = tuple(_unused(waiver) for waiver in current if waiver not in used)
    return (*marked, *expired, *unused)


def _waiver(finding: Finding, waivers: Sequence[Waiver]) -> Waiver | None:
    if finding.outcome is Outcome.COMPATIBLE:
        return None
    for waiver in waivers:
        if waiver.code == finding.code and waiver.subject in ("", finding.subject):
            return waiver
    return None


def _expired(waiver: Waiver) -> Finding:
    return Finding(
        code="MX119",
        outcome=Outcome.INCOMPATIBLE,
        subject=_named(waiver),
        found=f"waived until {waiver.expires.isoformat()} by {waiver.owner}: {waiver.reason}",
        expected="a waiver that has not expired, or none",
        remedy="mend what was waived, or renew the waiver on purpose",
    )


def _unused(waiver: Waiver) -> Finding:
    return Finding(
        code="MX120",
        outcome=Outcome.COMPATIBLE,
        subject=_named(waiver),
        found=f"no finding is waived by it ({waiver.owner}: {waiver.reason})",
        expected="a finding that somebody answers for",
        remedy="remove the waiver",
    )


def _named(waiver: Waiver) -> str:
    return f"{waiver.code} {waiver.subject}".strip()
