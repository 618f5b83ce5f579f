"""How two nodes read side by side: what stands for what, a line each, then what else differs."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Observed
from mxenv.fingerprint import NO_VALUE
from mxenv.reports._facts import LABEL, differences, worded
from mxenv.reports._page import harmless, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.comparison import Comparison, Counterpart, Item, Side
    from mxenv.facts import Reading
    from mxenv.fingerprint import Difference
    from mxenv.reports import Page

FEW = 6
"""Items of one side, or facts of one key, that are still listed without being asked for."""
ARROW = " → "
TIMES = "\N{MULTIPLICATION SIGN}"
PRESENT = Observed("present")
ONE_BY_ONE = "python.package"
"""What people migrate: each of these is named."""


def comparison(given: Comparison, page: Page) -> str:
    """Return what differs, what tells most first; what stands for what has one line each."""
    if not given.counterparts:
        return "".join(f"{line}\n" for line in _plainly(given.others, page))
    column = min(max(len(harmless(one.name)) for one in given.counterparts), LABEL)
    lines = [line for one in given.counterparts for line in _counterpart(one, page, column)]
    others = [*_others(given.others, page)]
    return "".join(f"{line}\n" for line in [*lines, *([""] if others else []), *others])


def _plainly(given: Sequence[Difference], page: Page) -> Iterator[str]:
    told = [one for one in given if page.verbose or one.rank < NO_VALUE]
    yield from differences(sorted(told, key=lambda one: one.rank), page)
    yield from _untold(len(given) - len(told), page)


def _untold(count: int, page: Page) -> Iterator[str]:
    if count:
        text = f"{count} more without a value on either side (-v lists them)"
        yield page.paint(text, "dim")


def _counterpart(one: Counterpart, page: Page, column: int) -> Iterator[str]:
    text = f"{_side(one.before, page)}{ARROW}{_side(one.after, page)}"
    first, *rest = wrapped(text, page, indent=column + 2)
    style = "dim" if _values(one.before) == _values(one.after) else ""
    label = page.paint(f"{harmless(one.name):<{column}}", "bold")
    yield f"{label}  {page.paint(first, style)}"
    yield from (page.paint(line, style) for line in rest)


def _values(side: Side) -> set[tuple[str, Reading]]:
    return {(item.of, item.reading) for item in side.items}


def _side(side: Side, page: Page) -> str:
    """Return what one node has, its vendor before it where it is no card's."""
    if not side.key:
        return f"(not asked of {side.vendor})"
    there = [item for item in side.items if not isinstance(item.reading, Absent)]
    text = _listed([_item(item, side.unit) for item in there], page)
    text = text or ("absent" if side.items else "not asked")
    per_card = any(item.count for item in side.items)
    return f"{side.vendor} {text}" if side.vendor and not per_card else text


def _listed(texts: Sequence[str], page: Page) -> str:
    shown = texts if page.verbose or len(texts) <= FEW else texts[:FEW]
    more = len(texts) - len(shown)
    return ", ".join([*shown, *([f"{more} more"] if more else [])])


def _item(item: Item, unit: str) -> str:
    value = "" if item.reading == PRESENT and item.of else worded(item.reading, unit)
    text = " ".join(part for part in (item.of, value) if part)
    return f"{text} {TIMES}{item.count}" if item.count else text


def _others(given: Sequence[Difference], page: Page) -> Iterator[str]:
    """Yield what no counterpart speaks of; many of one key on one line, unless all is wanted."""
    untold = 0
    for key, group in groupby(given, key=lambda one: one.key):
        of_key = list(group)
        valued = [one for one in of_key if page.verbose or one.rank < NO_VALUE]
        untold += len(of_key) - len(valued)
        if len(valued) <= FEW or page.verbose or key == ONE_BY_ONE:
            for one in valued:
                text = f"{_said(one.before)}{ARROW}{_said(one.after)}"
                yield from _laid_out(one.label, text, page)
        else:
            texts = (
                _listed([f"{at} {_said(readings)}" for at, readings in side if readings], page)
                for side in (
                    [(one.instance, one.before) for one in valued],
                    [(one.instance, one.after) for one in valued],
                )
            )
            yield from _laid_out(key, ARROW.join(text or "nothing" for text in texts), page)
    yield from _untold(untold, page)


def _said(readings: tuple[Reading, ...]) -> str:
    return " | ".join(map(worded, readings)) or "nothing"


def _laid_out(label: str, text: str, page: Page) -> Iterator[str]:
    label = harmless(label)
    first, *rest = wrapped(f"{label}  {text}", page, indent=2)
    yield first.replace(label, page.paint(label, "bold"), 1)
    yield from rest
