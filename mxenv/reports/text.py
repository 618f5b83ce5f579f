"""For people: the worst first, each with what was found, what was expected, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.reports import Report
from mxenv.reports._facts import differences, snapshot
from mxenv.reports._page import STYLES, counted, harmless, labelled, said, wrapped
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.reports import Page
    from mxenv.verdict import Finding, Verdict


def verdicts(given: Sequence[Verdict], page: Page) -> str:
    """Return every verdict, each closed by one line that sums it up."""
    return "\n".join(line for verdict in given for line in _verdict(verdict, page)) + "\n"


def _verdict(verdict: Verdict, page: Page) -> Iterator[str]:
    for finding in sorted(verdict.findings, key=_rank):
        if _shown(finding, page):
            yield from _finding(finding, page)
            yield ""
    yield from _summary(verdict, page)


def _rank(finding: Finding) -> tuple[bool, int, str, str]:
    return (finding.waiver is not None, finding.outcome, finding.code, finding.subject)


def _shown(finding: Finding, page: Page) -> bool:
    return page.verbose or finding.outcome is not Outcome.COMPATIBLE or finding.waiver is not None


def _finding(finding: Finding, page: Page) -> Iterator[str]:
    word = "waived" if finding.waiver else finding.outcome.word
    style = "bold cyan" if finding.waiver else STYLES[finding.outcome]
    subject = page.paint(harmless(finding.subject), "bold")
    yield f"{page.paint(f'{word:<12}', style)}  {finding.code}  {subject}"
    yield from labelled("found", finding.found, page)
    if finding.expected:
        yield from labelled("expected", finding.expected, page)
    for evidence in finding.because:
        yield from labelled("because", said(evidence), page)
        if evidence.link:
            link = harmless(evidence.link)
            yield " " * 14 + page.paint(link, f"underline link {link}" if "://" in link else "")
    if finding.row:
        yield from labelled("row", finding.row, page)
    if finding.remedy:
        yield from labelled("remedy", finding.remedy, page)
    if waiver := finding.waiver:
        text = f"by {waiver.owner} until {waiver.expires.isoformat()}: {waiver.reason}"
        yield from labelled("waived", text, page)


def _summary(verdict: Verdict, page: Page) -> Iterator[str]:
    outcome = verdict.outcome
    hidden = any(not _shown(finding, page) for finding in verdict.findings)
    subject = harmless(verdict.subject)
    lines = wrapped(
        f"{subject}: {outcome.word.upper()} - {counted(verdict.findings)}"
        f"{' (-v shows all)' if hidden else ''}"
        f"{f', matrix {verdict.matrix[:19]}' if verdict.matrix else ''}",
        page,
        indent=2,
    )
    # Painted after wrapping: paint has no width.
    lines[0] = lines[0].replace(
        outcome.word.upper(), page.paint(outcome.word.upper(), STYLES[outcome]), 1
    )
    yield from lines


REPORT = Report(
    title="text for people",
    verdicts=verdicts,
    snapshot=snapshot,
    differences=differences,
)
