"""How many nodes read on one page: a line each, then which are the same and which are not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv.fingerprint import NO_VALUE
from mxenv.reports._facts import differences
from mxenv.reports._page import STYLES, harmless, table, wrapped
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.fleet import Fleet, Group, Member
    from mxenv.reports import Page

NONE = "-"
NAMED = 8
"""Nodes of a group that are named without being asked for."""
SPARE = ("error", "node", "seconds")
"""Columns that a narrow page does without: an error has a line of its own there."""
FEW = 10
"""Differences that are shown without being asked for."""
MANY = 40
"""Nodes that have a line each, whatever came of them; of more, those that are fine are counted."""


def fleet(given: Fleet, page: Page) -> str:
    """Return a table of all nodes, then the groups by stack digest, the largest first."""
    lines = list(_table(given, page))
    for group in given.groups:
        lines += ["", *_group(group, given, page)]
    lonely = [m for m in given.members if m.stack is None and m.digest]
    if lonely:
        said = f"no stack digest: {_named([m.address for m in lonely], page)}"
        lines += ["", *wrapped(said, page, indent=2)]
        lines.append("  a reading failed for a passing reason; probe again, or allow more time")
    lines += ["", *wrapped(_summary(given), page, indent=2)]
    return "\n".join(lines) + "\n"


def _table(given: Fleet, page: Page) -> Iterator[str]:
    judged = any(member.outcome is not None for member in given.members)
    described = any(member.digest for member in given.members)
    failed = any(member.failure is not None for member in given.members)
    head = ["address", "node", "stack", "read", "unreadable", "seconds", "outcome", "error"]
    kept = [True, described, described, described, described, True, judged, failed]
    members = _listed(given, page)
    rows = [head, *(_cells(member, given) for member in members)]
    shown = [name for name, keep in zip(head, kept, strict=True) if keep]
    lines = _lines(rows, head, shown)
    for name in SPARE:
        if 0 < page.width < max(map(len, lines)) and name in shown:
            shown.remove(name)
            lines = _lines(rows, head, shown)
    yield page.paint(lines[0], "bold")
    for member, line in zip(members, lines[1:], strict=True):
        yield page.paint(line, _style(member))
        if member.failure is not None and "error" not in shown:
            why = wrapped(_why(member), _within(page, 4), indent=0)
            yield from (page.paint(text, _style(member)) for text in _indented(why, by=4))
    if left := len(given.members) - len(members):
        yield f"and {left} more, {Outcome.COMPATIBLE.word} (-v lists them)"


def _listed(given: Fleet, page: Page) -> tuple[Member, ...]:
    """Return the nodes that have a line: what is wrong is not to drown in what is not."""
    if page.verbose or len(given.members) <= MANY:
        return given.members
    return tuple(member for member in given.members if member.outcome is not Outcome.COMPATIBLE)


def _lines(rows: list[list[str]], head: list[str], shown: list[str]) -> list[str]:
    return table([[row[head.index(name)] for name in shown] for row in rows])


def _style(member: Member) -> str:
    if member.failure is not None:
        return "red"
    return STYLES[member.outcome] if member.outcome is not None else ""


def _cells(member: Member, given: Fleet) -> list[str]:
    known = bool(member.digest)
    return [
        harmless(member.address),
        harmless(member.node) or NONE,
        given.group(member) or NONE,
        str(member.read) if known else NONE,
        str(member.unreadable) if known else NONE,
        f"{member.seconds:.1f}",
        member.outcome.word if member.outcome is not None else NONE,
        _why(member),
    ]


def _group(group: Group, given: Fleet, page: Page) -> Iterator[str]:
    count = len(group.members)
    head = f"stack {group.name}  {group.stack}  {count} node{'' if count == 1 else 's'}"
    yield page.paint(head, "bold")
    yield from _indented(wrapped(_named(group.members, page), _within(page, 2), indent=2))
    if group is given.groups[0]:
        return
    told = [one for one in group.differences if page.verbose or one.rank < NO_VALUE]
    shown = told if page.verbose else told[:FEW]
    facts = "1 fact" if group.count == 1 else f"{group.count} facts"
    yield f"  differs from {given.groups[0].name} (-) in {facts}:"
    yield from _indented(differences(shown, _within(page, 4)), by=4)
    if left := group.count - len(shown):
        # Those that tell most are kept, and come first.
        valued = page.verbose or len(shown) < len(told)
        yield f"    and {left} more{'' if valued else ' without a value on either side'}"


def _named(addresses: tuple[str, ...] | list[str], page: Page) -> str:
    few = addresses if page.verbose else addresses[:NAMED]
    left = len(addresses) - len(few)
    return ", ".join(few) + (f" and {left} more (-v names them)" if left else "")


def _indented(lines: Iterable[str], *, by: int = 2) -> Iterator[str]:
    yield from (f"{' ' * by}{line}" for line in lines)


def _within(page: Page, columns: int) -> Page:
    """Return a page as wide as what is left of ``page`` beside ``columns``."""
    return replace(page, width=max(page.width - columns, 1)) if page.width else page


def _summary(given: Fleet) -> str:
    count, failed = len(given.members), len(given.statuses)
    said = f"{count} node{'' if count == 1 else 's'}, {count - failed} asked"
    if failed:
        said += f", {failed} not"
    if given.groups:
        stacks = len(given.groups)
        said += f"; {stacks} different stacks" if stacks > 1 else "; one stack"
    outcomes = [member.outcome for member in given.members]
    judged = [f"{outcomes.count(one)} {one.word}" for one in Outcome if one in outcomes]
    return "; ".join((said, ", ".join(judged))) if judged else said


def _why(member: Member) -> str:
    # The address stands in the same line.
    said = member.failure.message if member.failure is not None else ""
    return harmless(said.removeprefix(f"{member.address}: "))
