"""For CI servers: a test suite a verdict, a test case a finding; unknown fails as well."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from mxenv.reports import Report
from mxenv.reports._apart import names
from mxenv.reports._page import harmless, said
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mxenv.reports import Page
    from mxenv.verdict import Finding, Verdict


def verdicts(given: Sequence[Verdict], page: Page) -> str:  # noqa: ARG001 - no page to lay out
    """Return one ``testsuites`` element that holds every verdict."""
    root = ET.Element("testsuites", name="mxenv")
    for verdict in given:
        _suite(root, verdict)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _suite(root: ET.Element, verdict: Verdict) -> None:
    skipped = sum(not finding.counts for finding in verdict.findings)
    failed = sum(
        finding.counts and finding.outcome is not Outcome.COMPATIBLE for finding in verdict.findings
    )
    suite = ET.SubElement(
        root,
        "testsuite",
        name=harmless(verdict.subject),
        tests=str(len(verdict.findings) or 1),
        failures=str(failed if verdict.findings else 1),
        skipped=str(skipped),
    )
    for finding, name in zip(verdict.findings, names(verdict.findings), strict=True):
        _case(suite, finding, harmless(name))
    if not verdict.findings:
        # A suite without a case would count as passed.
        case = ET.SubElement(suite, "testcase", classname="mxenv", name="anything was checked")
        ET.SubElement(case, "failure", type="unknown", message="nothing was checked")


def _case(suite: ET.Element, finding: Finding, name: str) -> None:
    case = ET.SubElement(suite, "testcase", classname=f"mxenv.{finding.code}", name=name)
    if place := finding.place:
        case.set("file", harmless(place.file))
        case.set("line", str(place.line))
    found = harmless(finding.found)
    if waiver := finding.waiver:
        message = f"waived by {waiver.owner} until {waiver.expires.isoformat()}: {waiver.reason}"
        ET.SubElement(case, "skipped", message=harmless(message))
    elif finding.advice:
        ET.SubElement(case, "skipped", message=f"advice: {found}")
    elif finding.outcome is not Outcome.COMPATIBLE:
        failure = ET.SubElement(case, "failure", type=finding.outcome.word, message=found)
        failure.text = "\n".join(harmless(line) for line in _details(finding))


def _details(finding: Finding) -> list[str]:
    because = [("because", f"{said(evidence)} {evidence.link}") for evidence in finding.because]
    parts = (
        ("at", str(finding.place or "")),
        ("found", finding.found),
        ("expected", finding.expected),
        *because,
        ("remedy", finding.remedy),
        ("row", finding.row),
    )
    return [f"{name}: {text}" for name, text in parts if text]


REPORT = Report(title="JUnit XML for CI servers", verdicts=verdicts)
