"""How the facts of a node, and the differences of two nodes, read on a page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, assert_never

from mxenv.comparison import apart
from mxenv.facts import Absent, FactKey, Observed, Unreadable, observed
from mxenv.fingerprint import fingerprint
from mxenv.frozen import frozen
from mxenv.reports._page import harmless, wrapped
from mxenv.version import tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mxenv.facts import Fact, Reading, Snapshot
    from mxenv.fingerprint import Difference
    from mxenv.reports import Page

RECORD = "python.package.record"
OPERATORS = "mxenv.operators/1"
"""How a table of operators begins, as `mxenv.operator_table` writes it."""
FEW = 3
"""Instances that are still shown one by one when they read the same."""
MANY = 12
"""Python distributions of one environment that are still listed without being asked for."""
LABEL = 40
"""Columns that the names of facts get at most; the value of a longer one moves a line down."""


@frozen
class _Row:
    label: str
    text: str
    style: str = ""
    reason: str = ""
    """Why nothing could be read."""


def snapshot(given: Snapshot, keys: Mapping[str, FactKey], page: Page) -> str:
    """Return the facts of a node grouped by the first part of their keys, then its digests.

    Those of its cards come first, and last those of which nothing is known.
    """
    taken = given.taken_at.strftime("%Y-%m-%d %H:%M:%S %Z")
    lines = [f"{page.paint(harmless(given.node), 'bold')} seen as {given.view.value}, {taken}"]
    groups = {
        prefix: list(facts)
        for prefix, facts in groupby(given.facts, key=lambda fact: fact.key.partition(".")[0])
    }
    rows = {name: list(_rows(facts, given, keys, page)) for name, facts in groups.items()}
    blind = {name: {} if page.verbose else _blind(of_group) for name, of_group in rows.items()}
    rows = {name: [r for r in rows[name] if r.reason not in blind[name]] for name in rows}
    lengths = [len(harmless(row.label)) for row in chain.from_iterable(rows.values())]
    most = min(LABEL, page.width // 2) if page.width else LABEL
    column = max((length for length in lengths if length <= most), default=most)
    for prefix, facts in sorted(groups.items(), key=lambda group: _last(*group)):
        lines += ["", page.paint(harmless(prefix), "bold")]
        for row in rows[prefix]:
            lines += _row(row, page, column)
        for reason, labels in blind[prefix].items():
            lines += _listed(f"unreadable, {reason}", labels, page, "yellow")
        lines += _absent(facts, given, page)
    lines += ["", page.paint("fingerprint", "bold"), *_digests(given, keys)]
    return "\n".join(lines) + "\n"


def _last(prefix: str, facts: Iterable[Fact]) -> tuple[int, str]:
    """Return how far below the facts that begin with ``prefix`` stand."""
    known = [(fact.key, value) for fact, value in observed(facts)]
    cards = any(key.startswith(f"{prefix}.device.") and value != 0 for key, value in known)
    return (0 if cards else 1 if known else 2), prefix


def _blind(rows: Iterable[_Row]) -> dict[str, list[str]]:
    """Return what could not be read for one reason, by the reason, where that is much."""
    labels: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.reason:
            labels[row.reason].append(row.label)
    return {reason: of_reason for reason, of_reason in labels.items() if len(of_reason) > FEW}


def _digests(given: Snapshot, keys: Mapping[str, FactKey]) -> Iterator[str]:
    digests = fingerprint(given, keys)
    yield f"  stack  {digests.stack or 'none: a reading failed for a passing reason, probe again'}"
    yield f"  node   {digests.node}"


def _row(row: _Row, page: Page, column: int) -> Iterator[str]:
    label = harmless(row.label)
    first, *rest = wrapped(row.text, page, indent=column + 4)
    text = page.paint(first, row.style)
    if len(label) > column and page.width:
        yield f"  {label}"
        yield f"{' ' * (column + 4)}{text}"
    else:
        yield f"  {label:<{column}}  {text}"
    yield from rest


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
        elif name == RECORD and len(of_key) > FEW:
            # A digest tells a reader nothing, and there are hundreds.
            text = f"{len(of_key)} digests (-v lists them)"
            yield _Row(label=_short(name), text=text, style="dim")
        else:
            yield from sorted(_together(of_key, given, key), key=lambda row: row.label)


def _together(facts: Iterable[Fact], given: Snapshot, key: FactKey) -> Iterator[_Row]:
    """Yield a row a fact, or one for all the devices, or paths, that read the same."""
    alike: dict[tuple[str, Reading, str], list[Fact]] = defaultdict(list)
    for fact in _once(facts):
        reading = given.reading(fact.key, fact.instance)
        told = list(observed(given.instances(fact.key)[fact.instance]))
        if len({value for _, value in told}) > 1:
            yield _disagreed([one for one, _ in told], key)
        elif fact.wanted or not isinstance(reading, Absent):
            unread = _unread(given.instances(fact.key)[fact.instance])
            alike[_apart(key, fact.instance), reading, unread].append(fact)
    for (named, reading, unread), same in alike.items():
        if len(same) <= FEW:
            yield from (_in_part(_one(fact, reading, key), unread) for fact in same)
            continue
        row = _in_part(_one(same[0], reading, key), unread)
        label = f"{_short(key.name)}[{named}]" if named else _short(key.name)
        plain = not key.instance.startswith("@")
        which = f"  ({same[0].instance} .. {same[-1].instance})" if plain else ""
        yield replace(row, label=f"{label} x {len(same)}", text=row.text + which)


def _unread(facts: Sequence[Fact]) -> str:
    """Return why a source that told something did not tell all of it; empty if it did."""
    told = {fact.source for fact in facts if isinstance(fact.reading, Observed)}
    return next(
        (f.reading.reason for f in facts if isinstance(f.reading, Unreadable) and f.source in told),
        "",
    )


def _in_part(row: _Row, unread: str) -> _Row:
    return replace(row, text=f"{row.text}; not all: {unread}", style="yellow") if unread else row


def _apart(key: FactKey, instance: str) -> str:
    """Return what keeps a fact apart from others that read the same: not the card it is of."""
    if key.instance.startswith("@"):
        return apart(key, instance)
    parts = key.parts(instance)
    return parts[0] if len(parts) > 1 else ""


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
            more = "more " if shown else ""
            text = f"{len(installed) - len(shown)} {more}distributions (-v lists them)"
            yield _Row(label=f"package[{env}]", text=text, style="dim")


def _notable(reading: Reading) -> bool:
    return not isinstance(reading, Observed) or tag(str(reading.value)) is not None


def _once(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield the first fact of each instance; several sources make several facts."""
    for _, group in groupby(facts, key=lambda fact: fact.instance):
        yield next(group)


def _one(fact: Fact, reading: Reading, key: FactKey, *, source: bool = False) -> _Row:
    label = _short(fact.label)
    text = worded(reading, key.unit)
    if fact.wanted and isinstance(reading, Absent):
        return _Row(label=label, text=f"absent, though {fact.source} names it", style="yellow")
    if source:
        text = f"{text}  ({fact.source}, {fact.view.value})"
    reason = reading.reason if isinstance(reading, Unreadable) else ""
    return _Row(label=label, text=text, style=_style(reading), reason=reason)


def _disagreed(facts: Sequence[Fact], key: FactKey) -> _Row:
    """Return a row of what several sources say otherwise."""
    sources: dict[str, list[str]] = defaultdict(list)
    for fact in facts:
        sources[worded(fact.reading, key.unit)].append(fact.source)
    said = (f"{text} ({', '.join(where)})" for text, where in sources.items())
    label = _short(facts[0].label)
    return _Row(label=label, text=f"sources disagree: {' | '.join(said)}", style="yellow")


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
            if text.startswith(f"{OPERATORS} "):
                return _operators(text)
            return f"{text} {unit}" if unit and text[-1:].isdigit() else text
        case Unreadable(reason):
            return f"unreadable: {reason}"
        case Absent():
            return "absent"
        case _:
            assert_never(reading)


def _operators(text: str) -> str:
    """Return a table of operators in a few words; it has thousands of them."""
    from mxenv import operator_table  # noqa: PLC0415 - imported late: few nodes were asked

    try:
        return operator_table.summary(operator_table.read(text))
    except ValueError as error:
        return f"a table of operators that {error}"


def _absent(facts: Sequence[Fact], given: Snapshot, page: Page) -> Iterator[str]:
    """Yield one line for everything that is not there."""
    if page.verbose:
        return
    # What one source has nothing of, another may have.
    there = {fact.key for fact, _ in observed(facts)}
    names: dict[str, list[str]] = defaultdict(list)
    for fact in facts:
        if fact.key == RECORD or fact.wanted or (fact.key in there and not fact.instance):
            continue
        if isinstance(given.reading(fact.key, fact.instance), Absent):
            names[fact.key].append(_short(fact.label))
    if names:
        told = ([f"{_short(k)} x {len(n)}"] if len(n) > MANY else n for k, n in names.items())
        yield from _listed("absent", chain.from_iterable(told), page, "dim")


def _listed(head: str, names: Iterable[str], page: Page, style: str) -> Iterator[str]:
    text = f"{head}: {', '.join(dict.fromkeys(names))}"
    for i, line in enumerate(wrapped(text, page, indent=4)):
        yield page.paint(f"  {line}" if i == 0 else line, style)


def differences(given: Iterable[Difference], page: Page) -> Iterator[str]:
    """Yield the lines of what differs, fact by fact, the first side above the second.

    Many instances of one key that differ in the same are told of at once.
    """
    alike: dict[tuple[str, object, object], list[Difference]] = defaultdict(list)
    ordered = list(given)
    for one in ordered:
        alike[one.key, one.before, one.after].append(one)
    for one in ordered:
        same = alike[one.key, one.before, one.after]
        if page.verbose or len(same) <= FEW:
            yield from _difference(one.label, one, page)
        elif one is same[0]:
            label = f"{one.key} x {len(same)}  ({one.instance} .. {same[-1].instance})"
            yield from _difference(label, one, page)


def _difference(label: str, one: Difference, page: Page) -> Iterator[str]:
    yield page.paint(harmless(label), "bold")
    for sign, readings, style in (("-", one.before, "red"), ("+", one.after, "green")):
        said = " | ".join(map(worded, readings)) or "nothing"
        first, *rest = wrapped(said, page, indent=4)
        yield page.paint(f"  {sign} {first}", style)
        yield from rest
