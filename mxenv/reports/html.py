"""For people who are sent a file: one page without anything from elsewhere, to read or to print."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from mxenv.fingerprint import fingerprint
from mxenv.reports import Report
from mxenv.reports._facts import worded
from mxenv.reports._markup import document, link, listed, marked, table, text
from mxenv.reports._page import counted, said
from mxenv.shares import section
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mxenv.comparison import Comparison
    from mxenv.facts import Fact, FactKey, Reading, Snapshot
    from mxenv.fleet import Fleet, Member
    from mxenv.lock_difference import Locks
    from mxenv.matrix_table import Section
    from mxenv.reports import Page
    from mxenv.verdict import Evidence, Finding, Verdict

FINDINGS = ("finding", "outcome", "found", "expected", "because", "what to do", "row")

TITLES = {"model": "What a model asks for", "change": "Differences"}
"""What a page of tables is called that is not of a matrix, by what its first table holds."""


def verdicts(given: Sequence[Verdict], page: Page) -> str:  # noqa: ARG001 - paper has no columns
    """Return every verdict with all of its findings, the worst first."""
    worst = min((verdict.outcome for verdict in given), default=Outcome.UNKNOWN)
    summary = f"<p>All {len(given)}: {marked(worst.word)}</p>\n" if len(given) != 1 else ""
    return document("Verdict", summary + "".join(map(_verdict, given)))


def _verdict(verdict: Verdict) -> str:
    matrix = f" Matrix <code>{text(verdict.matrix)}</code>." if verdict.matrix else ""
    head = (
        f"<h2>{text(verdict.subject)}: {marked(verdict.outcome.word)}</h2>\n"
        f"<p>{text(counted(verdict.findings))}.{matrix}</p>\n"
    )
    rows = [_finding(finding) for finding in sorted(verdict.findings, key=_rank)]
    found = table(f"Findings on {verdict.subject}", FINDINGS, rows) if rows else ""
    return head + _shares(verdict) + found


def _shares(verdict: Verdict) -> str:
    if verdict.shares is None:
        return ""
    made = section(verdict.shares, f"Operators of {verdict.subject}")
    return table(made.title, made.head, [tuple(map(text, row)) for row in made.rows])


def _rank(finding: Finding) -> tuple[bool, int, bool, str, str]:
    waived = finding.waiver is not None
    return (waived, finding.outcome, finding.advice, finding.code, finding.subject)


def _finding(finding: Finding) -> tuple[str, ...]:
    outcome = marked("advice" if finding.advice else finding.outcome.word)
    if waiver := finding.waiver:
        until = f"waived by {waiver.owner} until {waiver.expires.isoformat()}: {waiver.reason}"
        outcome += f"<br>{marked('waived', until)}"
    return (
        f"{text(finding.code)} {text(finding.subject)}",
        outcome,
        text(f"{finding.place}: {finding.found}" if finding.place else finding.found),
        text(finding.expected),
        listed([_evidence(piece) for piece in finding.because]),
        text(finding.remedy),
        f"<code>{text(finding.row)}</code>" if finding.row else "",
    )


def _evidence(piece: Evidence) -> str:
    return f"{text(said(piece))} {link(piece.link)}".strip()


def snapshot(given: Snapshot, keys: Mapping[str, FactKey], page: Page) -> str:  # noqa: ARG001 - paper has no columns
    """Return the facts of a node, a table for the first part of their names."""
    digests = fingerprint(given, keys)
    stack = digests.stack or "none: a reading failed for a passing reason"
    head = (
        f"<p>Seen as {text(given.view.value)}, {text(given.taken_at.isoformat())}.</p>\n"
        f"<p>Stack <code>{text(stack)}</code><br>Node <code>{text(digests.node)}</code></p>\n"
    )
    groups = groupby(given.facts, key=lambda fact: fact.key.partition(".")[0])
    tables = [
        table(name, ("fact", "reading", "source", "of"), [_fact(fact, keys) for fact in facts])
        for name, facts in groups
    ]
    return document(given.node, head + "".join(tables))


def _fact(fact: Fact, keys: Mapping[str, FactKey]) -> tuple[str, ...]:
    unit = keys[fact.key].unit if fact.key in keys else ""
    reading, source = text(worded(fact.reading, unit)), text(fact.source)
    return (text(fact.label), reading, source, text(fact.view.value))


def comparison(given: Comparison, page: Page) -> str:  # noqa: ARG001 - paper has no columns
    """Return every fact in which two nodes differ."""
    rows = [
        (text(one.label), _readings(one.before), _readings(one.after)) for one in given.differences
    ]
    return document("Differences", _differing(len(rows), "fact", ("before", "after"), rows))


def locks(given: Locks, page: Page) -> str:  # noqa: ARG001 - paper has no columns
    """Return every difference of two locks."""
    rows = [
        (text(one.label), *(text("nothing" if side is None else side) for side in sides))
        for one in given.changes
        for sides in [(one.before, one.after)]
    ]
    sides = (given.before, given.after)
    return document("Differences", _differing(len(rows), "what", sides, rows))


def _differing(count: int, what: str, sides: tuple[str, str], rows: Sequence[Sequence[str]]) -> str:
    if not count:
        return "<p>They do not differ.</p>\n"
    return table(f"{count} difference{'s' * (count != 1)}", (what, *sides), rows)


def fleet(given: Fleet, page: Page) -> str:  # noqa: ARG001 - paper has no columns
    """Return every node in a row, and what sets each group apart from the largest."""
    head = ("node", "address", "group", "stack", "read", "absent", "unreadable", "outcome")
    nodes = table("Nodes", head, [_member(member, given) for member in given.members])
    differing = [
        (text(group.name), text(one.label), _readings(one.before), _readings(one.after))
        for group in given.groups
        for one in group.differences
    ]
    columns = ("group", "fact", "the largest group", "this group")
    apart = table("What sets groups apart", columns, differing) if differing else ""
    return document("Fleet", nodes + apart)


def _member(member: Member, given: Fleet) -> tuple[str, ...]:
    failure, outcome = member.failure, member.outcome
    said = marked(outcome.word) if outcome is not None else ""
    counts = (member.read, member.absent, member.unreadable)
    return (
        text(member.node or member.address),
        text(member.address),
        text(given.group(member)),
        f"<code>{text(member.stack or '')}</code>",
        *(("",) * len(counts) if failure else map(str, counts)),
        text(failure.message) if failure else said,
    )


def _readings(readings: Sequence[Reading]) -> str:
    return listed([text(worded(reading)) for reading in readings])


def tables(given: Sequence[Section], page: Page) -> str:  # noqa: ARG001 - paper has no columns
    """Return the tables of a matrix, or of what a model asks for."""
    made = [
        table(section.title, section.head, [tuple(map(text, row)) for row in section.rows])
        for section in given
    ]
    title = TITLES.get(given[0].kind if given else "", "What works together")
    return document(title, "".join(made))


REPORT = Report(
    title="HTML, one page for people",
    verdicts=verdicts,
    snapshot=snapshot,
    comparison=comparison,
    locks=locks,
    fleet=fleet,
    tables=tables,
)
