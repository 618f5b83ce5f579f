"""How the facts of a node, and the differences of two nodes, read on a page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, assert_never

from mxenv.facts import Absent, FactKey, Observed, Unreadable
from mxenv.fingerprint import fingerprint
from mxenv.reports._page import harmless, wrapped
from mxenv.version import tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mxenv.facts import Fact, Reading, Snapshot
    from mxenv.fingerprint import Difference
    from mxenv.reports import Page

FEW = 3
"""Instances that are still shown one by one when they read the same."""
MANY = 12
"""Python distributions of one environment that are still listed without being asked for."""
LABEL = 34
"""Columns for the names of facts; a longer one moves its value to the right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    label: str
    text: str
    style: str = ""


def snapshot(given: Snapshot, keys: Mapping[str, FactKey], page: Page) -> str:
    """Return the facts of a node grouped by the first part of their keys, then its digests."""
    taken = given.taken_at.strftime("%Y-%m-%d %H:%M:%S %Z")
    lines = [f"{page.paint(harmless(given.node), 'bold')} seen as {given.view.value}, {taken}"]
    for prefix, group in groupby(given.facts, key=lambda fact: fact.key.partition(".")[0]):
        facts = list(group)
        lines += ["", page.paint(prefix, "bold")]
        for row in _rows(facts, given, keys, page):
            lines += _row(row, page)
        lines += _absent(facts, given, page)
    lines += ["", page.paint("fingerprint", "bold"), *_digests(given, keys)]
    return "\n".join(lines) + "\n"


def _digests(given: Snapshot, keys: Mapping[str, FactKey]) -> Iterator[str]:
    digests = fingerprint(given, keys)
    yield f"  stack  {digests.stack or 'none: a reading failed for a passing reason, probe again'}"
    yield f"  node   {digests.node}"


def _row(row: _Row, page: Page) -> Iterator[str]:
    label = harmless(row.label)
    indent = 2 + max(LABEL, len(label)) + 2
    lines = wrapped(row.text, page, indent=indent if len(label) <= LABEL else LABEL + 4)
    if len(label) > LABEL and page.width:
        yield f"  {label}"
        yield " " * (LABEL + 4) + page.paint(lines[0], row.style)
    else:
        yield f"  {label:<{LABEL}}  {page.paint(lines[0], row.style)}"
    yield from lines[1:]


def _rows(
    facts: Sequence[Fact], given: Snapshot, keys: Mapping[str, FactKey], page: Page
) -> Iterator[_Row]:
    for name, group in groupby(facts, key=lambda fact: fact.key):
        key = keys.get(name, FactKey(name=name, meaning=""))
        of_key = list(group)
        if page.verbose:
            yield from (_one(fact, fact.reading, key, source=True) for fact in of_key)
        elif name == "python.package":
            yield from _packages(of_key, given, key)
        else:
            yield from _together(of_key, given, key)


def _together(facts: Iterable[Fact], given: Snapshot, key: FactKey) -> Iterator[_Row]:
    """Yield a row a fact, or one for all the devices that read the same."""
    alike: dict[tuple[str, Reading], list[Fact]] = defaultdict(list)
    for fact in _once(facts):
        reading = given.reading(fact.key, fact.instance)
        if not isinstance(reading, Absent):
            alike[_without_address(key, fact.instance), reading].append(fact)
    for (rest, reading), same in alike.items():
        if len(same) > FEW:
            row = _one(same[0], reading, key)
            label = f"{_short(key.name)}[{rest}]" if rest else _short(key.name)
            yield _Row(label=f"{label} x {len(same)}", text=row.text, style=row.style)
        else:
            yield from (_one(fact, reading, key) for fact in same)


def _packages(facts: Iterable[Fact], given: Snapshot, key: FactKey) -> Iterator[_Row]:
    """Yield the distributions that a vendor built, and how many others there are."""
    by_env: dict[str, list[Fact]] = defaultdict(list)
    for fact in _once(facts):
        by_env[fact.instance.rpartition("/")[0]].append(fact)
    for env, installed in by_env.items():
        few = len(installed) <= MANY
        shown = [f for f in installed if few or _notable(given.reading(f.key, f.instance))]
        yield from _together(shown, given, key)
        if len(shown) < len(installed):
            text = f"{len(installed) - len(shown)} more distributions (-v lists them)"
            yield _Row(label=f"package[{env}]", text=text, style="dim")


def _notable(reading: Reading) -> bool:
    return not isinstance(reading, Observed) or tag(str(reading.value)) is not None


def _once(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield the first fact of each instance; several sources make several facts."""
    for _, group in groupby(facts, key=lambda fact: fact.instance):
        yield next(group)


def _without_address(key: FactKey, instance: str) -> str:
    declared = key.instance.split("/") if key.instance else []
    parts = key.parts(instance)
    return "/".join(
        part for part, name in zip(parts, declared, strict=False) if not name.startswith("@")
    )


def _one(fact: Fact, reading: Reading, key: FactKey, *, source: bool = False) -> _Row:
    label = _short(fact.label)
    text = worded(reading, key.unit)
    if source:
        text = f"{text}  ({fact.source}, {fact.view.value})"
    return _Row(label=label, text=text, style=_style(reading))


def _short(label: str) -> str:
    return label.partition(".")[2] or label


def _style(reading: Reading) -> str:
    match reading:
        case Observed():
            return ""
        case Unreadable():
            return "yellow"
        case Absent():
            return "dim"
        case _:
            assert_never(reading)


def worded(reading: Reading, unit: str = "") -> str:
    """Return what was read with its unit, or why it was not."""
    match reading:
        case Observed(value):
            text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            return f"{text} {unit}" if unit else text
        case Unreadable(reason):
            return f"unreadable: {reason}"
        case Absent():
            return "absent"
        case _:
            assert_never(reading)


def _absent(facts: Iterable[Fact], given: Snapshot, page: Page) -> Iterator[str]:
    """Yield one line for everything that is not there."""
    if page.verbose:
        return
    names = [
        _short(fact.label)
        for fact in facts
        if isinstance(given.reading(fact.key, fact.instance), Absent)
    ]
    if names:
        text = ", ".join(dict.fromkeys(names))
        for i, line in enumerate(wrapped(f"absent: {text}", page, indent=10)):
            yield page.paint(f"  {line}" if i == 0 else line, "dim")


def differences(given: Sequence[Difference], page: Page) -> str:
    """Return what differs, fact by fact, the first side above the second."""
    lines: list[str] = []
    for difference in given:
        lines.append(page.paint(harmless(difference.label), "bold"))
        for sign, readings, style in (
            ("-", difference.before, "red"),
            ("+", difference.after, "green"),
        ):
            said = " | ".join(map(worded, readings)) or "not asked"
            first, *rest = wrapped(said, page, indent=4)
            lines += [page.paint(f"  {sign} {first}", style), *rest]
    return "".join(line + "\n" for line in lines)
