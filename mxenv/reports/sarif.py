"""For code scanning: SARIF 2.1.0, a result for every finding that is not fine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from mxenv import __version__
from mxenv.codes import CODES
from mxenv.reports import Report
from mxenv.reports._apart import identities
from mxenv.reports._page import said
from mxenv.reports._place import place_of
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mxenv.reports import Page
    from mxenv.verdict import Finding, Verdict

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
LEVELS = {
    Outcome.INCOMPATIBLE: "error",
    Outcome.UNKNOWN: "warning",
    Outcome.COMPATIBLE: "none",
}
KINDS = {
    Outcome.INCOMPATIBLE: "fail",
    Outcome.UNKNOWN: "fail",
    Outcome.COMPATIBLE: "pass",
}


def verdicts(given: Sequence[Verdict], page: Page) -> str:  # noqa: ARG001 - no page to lay out
    """Return one run that holds the results of every verdict."""
    codes = sorted({finding.code for verdict in given for finding in verdict.findings})
    driver = {
        "name": "mxenv",
        "semanticVersion": __version__,
        "rules": [_rule(code) for code in codes],
    }
    results = [
        _result(verdict, finding, codes.index(finding.code), known)
        for verdict in given
        for finding, known in zip(verdict.findings, identities(verdict), strict=True)
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, object]:
    known = CODES.get(code)
    if known is None:
        return {"id": code}
    return {
        "id": code,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.meaning},
        "help": {"text": known.remedy},
    }


def _result(verdict: Verdict, finding: Finding, index: int, known: str) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "kind": "informational" if finding.advice else KINDS[finding.outcome],
        # Of what is no failure the standard wants no level.
        "level": "none" if finding.advice else LEVELS[finding.outcome],
        "message": {"text": _message(finding)},
        "locations": [_location(verdict, finding)],
        "partialFingerprints": {"mxenv/1": known},
    }
    if waiver := finding.waiver:
        reason = f"{waiver.owner}, until {waiver.expires.isoformat()}: {waiver.reason}"
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": reason}
        ]
    return result


def _message(finding: Finding) -> str:
    parts = [f"{finding.subject}: found {finding.found}"]
    if finding.expected:
        parts.append(f"expected {finding.expected}")
    parts += [f"because {said(evidence)} {evidence.link}" for evidence in finding.because]
    if finding.remedy:
        parts.append(finding.remedy)
    return "; ".join(parts)


def _location(verdict: Verdict, finding: Finding) -> dict[str, object]:
    name = f"{verdict.subject}/{finding.subject}"
    location: dict[str, object] = {
        "logicalLocations": [{"name": finding.subject, "fullyQualifiedName": name}]
    }
    if place := place_of(verdict, finding):
        location["physicalLocation"] = {
            "artifactLocation": {"uri": quote(place.file)},
            "region": {"startLine": place.line},
        }
    return location


REPORT = Report(title="SARIF for code scanning", verdicts=verdicts)
