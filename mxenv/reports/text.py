"""For people: the worst first, each with what was found, what was expected, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.reports import Report
from mxenv.reports._facts import snapshot
from mxenv.reports._fleet import fleet
from mxenv.reports._locks import locks
from mxenv.reports._page import STYLES, counted, harmless, labelled, said, wrapped
from mxenv.reports._sides import comparison
from mxenv.reports._tables import tables
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.reports import Page
    from mxenv.verdict import Finding, Verdict

FEW = 2
"""How many of those who say so are named without being asked for."""
INDENT = 21
"""Where the subject of a finding begins."""
BESIDE = 14
"""Where the text beside a label begins."""


def verdicts(given: Sequence[Verdict], page: Page) -> str:
    """Return every verdict, each closed by one line that sums it up."""
    parts = ["\n".join(_verdict(verdict, page)) for verdict in given]
    if len(given) != 1:
        worst = min((verdict.outcome for verdict in given), default=Outcome.UNKNOWN)
        word = page.paint(worst.word.upper(), STYLES[worst])
        parts.append(f"all {len(given)}: {word}")
    return "\n\n".join(parts) + "\n"


def _verdict(verdict: Verdict, page: Page) -> Iterator[str]:
    for finding in sorted(verdict.findings, key=_rank):
        if _shown(finding, page):
            yield from _finding(finding, page)
            yield ""
    if verdict.shares is not None:
        from mxenv.shares import section  # noqa: PLC0415 - imported late: only models have shares

        title = f"operators of {harmless(verdict.subject)}"
        yield tables((section(verdict.shares, title),), page)
    yield from _summary(verdict, page)


def _rank(finding: Finding) -> tuple[bool, int, bool, str, str]:
    waived = finding.waiver is not None
    return (waived, finding.outcome, finding.advice, finding.code, finding.subject)


def _shown(finding: Finding, page: Page) -> bool:
    return page.verbose or finding.outcome is not Outcome.COMPATIBLE or finding.waiver is not None


def _finding(finding: Finding, page: Page) -> Iterator[str]:
    style = STYLES[finding.outcome] if finding.counts else "bold cyan"
    word = page.paint(f"{finding.word:<12}", style)
    subject, *rest = wrapped(finding.subject, page, indent=INDENT)
    yield f"{word}  {finding.code}  {page.paint(subject, 'bold')}"
    yield from (page.paint(line, "bold") for line in rest)
    if finding.place is not None:
        yield from labelled("at", str(finding.place), page)
    yield from labelled("found", finding.found, page)
    fine = finding.outcome is Outcome.COMPATIBLE
    if finding.expected and not fine:
        yield from labelled("expected", finding.expected, page)
    yield from _because(finding, page, links=not fine)
    if finding.row:
        yield from labelled("row", finding.row, page)
    if finding.remedy:
        yield from labelled("remedy", finding.remedy, page)
    if waiver := finding.waiver:
        text = f"by {waiver.owner} until {waiver.expires.isoformat()}: {waiver.reason}"
        yield from labelled("waived", text, page)


def _because(finding: Finding, page: Page, *, links: bool) -> Iterator[str]:
    """Yield who says so: the first few, unless all is wanted; links where something is wrong."""
    if not links:
        for text in dict.fromkeys(map(said, finding.because)):
            yield from labelled("because", text, page)
        return
    shown = finding.because if page.verbose else finding.because[:FEW]
    for evidence in shown:
        yield from labelled("because", said(evidence), page)
        if evidence.link:
            link = harmless(evidence.link)
            style = f"underline link {link}" if "://" in link else ""
            yield " " * BESIDE + page.paint(link, style)
    if left := len(finding.because) - len(shown):
        where = f"`mxenv matrix why {finding.row}`" if finding.row else "-v shows them"
        yield from labelled("", f"and {left} more: {where}", page)


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
    comparison=comparison,
    locks=locks,
    fleet=fleet,
    tables=tables,
)
