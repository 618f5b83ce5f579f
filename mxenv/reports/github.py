"""For GitHub Actions: an annotation for every finding that somebody should read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.reports import Report
from mxenv.reports._page import counted, harmless
from mxenv.reports._place import place_of, told
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.reports import Page
    from mxenv.verdict import Finding, Place, Verdict

COMMANDS = {
    Outcome.INCOMPATIBLE: "error",
    Outcome.UNKNOWN: "warning",
    Outcome.COMPATIBLE: "notice",
}


def verdicts(given: Sequence[Verdict], page: Page) -> str:  # noqa: ARG001 - no page to lay out
    """Return workflow commands; the last of each verdict sums it up."""
    return "".join(line + "\n" for verdict in given for line in _verdict(verdict))


def _verdict(verdict: Verdict) -> Iterator[str]:
    for finding in sorted(verdict.findings, key=lambda finding: finding.outcome):
        if finding.outcome is not Outcome.COMPATIBLE:
            yield _annotation(verdict, finding)
    title = f"{verdict.subject}: {verdict.outcome.word}"
    yield _command(COMMANDS[verdict.outcome], title, counted(verdict.findings), place_of(verdict))


def _annotation(verdict: Verdict, finding: Finding) -> str:
    command = "notice" if finding.waiver else COMMANDS[finding.outcome]
    title = f"{finding.code} {finding.subject}"
    return _command(command, title, told(finding), place_of(verdict, finding))


def _command(command: str, title: str, message: str, place: Place | None) -> str:
    where = ""
    if place is not None:
        # The first line is what GitHub takes if none is named.
        line = f"line={place.line}," if place.line > 1 else ""
        where = f"file={_property(place.file)},{line}"
    return f"::{command} {where}title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return harmless(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


REPORT = Report(title="annotations for GitHub Actions", verdicts=verdicts)
