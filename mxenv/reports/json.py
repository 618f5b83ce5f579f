"""For programs: every field of every finding, as ``verdict.schema.json`` describes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NotRequired, TypedDict, assert_never

from mxenv.facts import Absent, Observed, Unreadable
from mxenv.reports import Report
from mxenv.snapshot import to_json
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mxenv.comparison import Comparison, Side
    from mxenv.facts import FactKey, Reading, Snapshot, Value
    from mxenv.fingerprint import Difference
    from mxenv.fleet import Fleet, Member
    from mxenv.lock_difference import Locks
    from mxenv.reports import Page
    from mxenv.shares import Shares
    from mxenv.verdict import Evidence, Finding, Verdict, Waiver

SCHEMA = "mxenv.verdict/1"
Field = bool | str | list[dict[str, str]] | dict[str, str] | dict[str, str | int] | None


class _Shares(TypedDict):
    classes: list[dict[str, str | int]]
    gaps: int


class _Judged(TypedDict):
    subject: str
    outcome: str
    matrix: str
    findings: list[dict[str, Field]]
    shares: NotRequired[_Shares]


def verdicts(given: Sequence[Verdict], page: Page) -> str:  # noqa: ARG001 - no page to lay out
    """Return one document for all verdicts; its outcome is that of the worst."""
    worst = min((verdict.outcome for verdict in given), default=Outcome.UNKNOWN)
    document = {
        "schema": SCHEMA,
        "outcome": worst.word,
        "verdicts": [_verdict(verdict) for verdict in given],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _verdict(verdict: Verdict) -> _Judged:
    judged: _Judged = {
        "subject": verdict.subject,
        "outcome": verdict.outcome.word,
        "matrix": verdict.matrix,
        "findings": [_finding(finding) for finding in verdict.findings],
    }
    if verdict.shares is not None:
        judged["shares"] = _shares(verdict.shares)
    return judged


def _shares(shares: Shares) -> _Shares:
    classes: list[dict[str, str | int]] = [
        {"class": one.name, "operators": one.operators, "calls": one.calls}
        for one in shares.classes
    ]
    return {"classes": classes, "gaps": shares.gaps}


def _finding(finding: Finding) -> dict[str, Field]:
    said: dict[str, Field] = {
        "code": finding.code,
        "outcome": finding.outcome.word,
        "subject": finding.subject,
        "found": finding.found,
        "expected": finding.expected,
        "because": [_evidence(evidence) for evidence in finding.because],
        "remedy": finding.remedy,
        "row": finding.row,
        "waiver": _waiver(finding.waiver) if finding.waiver else None,
    }
    if finding.advice:
        said["advice"] = True
    if finding.place is not None:
        where: dict[str, str | int] = {"file": finding.place.file, "line": finding.place.line}
        said["place"] = where
    return said


def _evidence(evidence: Evidence) -> dict[str, str]:
    return {
        "who": evidence.who,
        "when": evidence.when,
        "grade": evidence.grade,
        "link": evidence.link,
    }


def _waiver(waiver: Waiver) -> dict[str, str]:
    return {
        "code": waiver.code,
        "subject": waiver.subject,
        "reason": waiver.reason,
        "owner": waiver.owner,
        "expires": waiver.expires.isoformat(),
    }


def snapshot(given: Snapshot, keys: Mapping[str, FactKey], page: Page) -> str:  # noqa: ARG001 - no page to lay out
    """Return the snapshot as a file would hold it."""
    return to_json(given, keys)


def comparison(given: Comparison, page: Page) -> str:  # noqa: ARG001 - no page to lay out
    """Return every difference with all readings of both sides, and what stands for what."""
    document = {
        "schema": "mxenv.diff/1",
        "differences": [_difference(one) for one in given.differences],
        "counterparts": [
            {"name": one.name, "before": _side(one.before), "after": _side(one.after)}
            for one in given.counterparts
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def locks(given: Locks, page: Page) -> str:  # noqa: ARG001 - no page to lay out
    """Return every difference of two locks."""
    document = {
        "schema": "mxenv.lockdiff/1",
        "before": given.before,
        "after": given.after,
        "changes": [
            {
                "part": one.part,
                "name": one.name,
                "kind": one.kind,
                "before": one.before,
                "after": one.after,
            }
            for one in given.changes
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _side(side: Side) -> dict[str, object]:
    return {
        "vendor": side.vendor,
        "key": side.key,
        "unit": side.unit,
        "readings": [
            {"of": item.of, "cards": item.count, **_reading(item.reading)} for item in side.items
        ],
    }


def _difference(one: Difference) -> dict[str, object]:
    return {
        "key": one.key,
        "instance": one.instance,
        "kind": one.kind,
        "before": [_reading(reading) for reading in one.before],
        "after": [_reading(reading) for reading in one.after],
    }


def fleet(given: Fleet, page: Page) -> str:  # noqa: ARG001 - no page to lay out
    """Return every node in short, and the groups, as ``fleet.schema.json`` describes it."""
    document = {
        "schema": "mxenv.fleet/1",
        "nodes": [_member(member, given) for member in given.members],
        "groups": [
            {
                "name": group.name,
                "stack": group.stack,
                "nodes": list(group.members),
                "differences": [_difference(one) for one in group.differences],
                "difference_count": group.count,
            }
            for group in given.groups
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _member(member: Member, given: Fleet) -> dict[str, object]:
    failure = member.failure
    return {
        "address": member.address,
        "node": member.node,
        "file": member.file,
        "seconds": member.seconds,
        "group": given.group(member),
        "stack": member.stack,
        "digest": member.digest or None,
        "read": member.read,
        "absent": member.absent,
        "unreadable": member.unreadable,
        "outcome": member.outcome.word if member.outcome is not None else None,
        "error": failure
        and {"message": failure.message, "hint": failure.hint, "status": failure.status},
    }


def _reading(reading: Reading) -> dict[str, Value]:
    match reading:
        case Observed(value):
            return {"status": "observed", "value": value}
        case Unreadable(reason):
            return {"status": "unreadable", "reason": reason}
        case Absent():
            return {"status": "absent"}
        case _:
            assert_never(reading)


REPORT = Report(
    title="JSON for programs",
    verdicts=verdicts,
    snapshot=snapshot,
    comparison=comparison,
    locks=locks,
    fleet=fleet,
)
