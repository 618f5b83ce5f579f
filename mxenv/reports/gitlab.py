"""For GitLab's code quality: an issue for every finding that somebody should read."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, TypedDict

from mxenv.reports import Report
from mxenv.reports._apart import identities
from mxenv.reports._page import harmless
from mxenv.reports._place import place_of, told
from mxenv.verdict import Outcome, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.reports import Page
    from mxenv.verdict import Finding, Verdict

SEVERITIES = {Outcome.INCOMPATIBLE: "critical", Outcome.UNKNOWN: "major"}
WAIVED = "info"


class _Issue(TypedDict):
    description: str
    check_name: str
    fingerprint: str
    severity: str
    location: dict[str, object]


def verdicts(given: Sequence[Verdict], page: Page) -> str:  # noqa: ARG001 - no page to lay out
    """Return one array; no issue in it means that all is fine."""
    issues = [issue for verdict in given for issue in _issues(verdict)]
    # Equal fingerprints would be shown as one; two verdicts can be about one subject.
    seen: Counter[str] = Counter()
    for issue in issues:
        said = issue["fingerprint"]
        issue["fingerprint"] = hashlib.sha256(f"{said}:{seen[said]}".encode()).hexdigest()
        seen[said] += 1
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _issues(verdict: Verdict) -> Iterator[_Issue]:
    known = zip(verdict.findings, identities(verdict), strict=True)
    for finding, fingerprint in sorted(known, key=lambda pair: pair[0].outcome):
        if finding.outcome is not Outcome.COMPATIBLE:
            severity = WAIVED if finding.waiver else SEVERITIES[finding.outcome]
            yield _Issue(
                description=_description(finding),
                check_name=finding.code,
                fingerprint=fingerprint,
                severity=severity,
                location=_location(verdict, place_of(verdict, finding)),
            )
    if not verdict.findings:
        yield _Issue(
            description=f"{harmless(verdict.subject)}: nothing was checked",
            check_name="mxenv",
            fingerprint=f"{verdict.subject}:nothing",
            severity=SEVERITIES[Outcome.UNKNOWN],
            location=_location(verdict, place_of(verdict)),
        )


def _description(finding: Finding) -> str:
    return harmless(f"{finding.code} {finding.subject}: {told(finding)}")


def _location(verdict: Verdict, place: Place | None) -> dict[str, object]:
    # GitLab takes no issue without a file: of a node, its address stands for one.
    shown = place or Place(file=verdict.subject)
    return {"path": harmless(shown.file), "lines": {"begin": shown.line}}


REPORT = Report(title="code quality for GitLab", verdicts=verdicts)
