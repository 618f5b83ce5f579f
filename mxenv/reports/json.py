"""For programs: every field of every finding, as ``verdict.schema.json`` describes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict

from mxenv.reports import Report
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mxenv.reports import Page
    from mxenv.verdict import Evidence, Finding, Verdict, Waiver

SCHEMA = "mxenv.verdict/1"
Field = str | list[dict[str, str]] | dict[str, str] | None


class _Judged(TypedDict):
    subject: str
    outcome: str
    matrix: str
    findings: list[dict[str, Field]]


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
    return {
        "subject": verdict.subject,
        "outcome": verdict.outcome.word,
        "matrix": verdict.matrix,
        "findings": [_finding(finding) for finding in verdict.findings],
    }


def _finding(finding: Finding) -> dict[str, Field]:
    return {
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


REPORT = Report(title="JSON for programs", verdicts=verdicts)
