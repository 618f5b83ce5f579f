"""How the differences of two locks read on a page: a line each, what tells most first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.reports._page import harmless, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.difference import Change
    from mxenv.lock_difference import Locks
    from mxenv.reports import Page

ARROW = " → "
STYLES = {"added": "green", "removed": "red", "changed": ""}


def locks(given: Locks, page: Page) -> str:
    """Return what differs between two locks; of many that went or came each has its line."""
    return "".join(f"{line}\n" for change in given.changes for line in _change(change, page))


def _change(change: Change, page: Page) -> Iterator[str]:
    sides = ("nothing" if side is None else side for side in (change.before, change.after))
    label, style = harmless(change.label), STYLES[change.kind]
    first, *rest = wrapped(f"{label}  {ARROW.join(sides)}", page, indent=2)
    text = first.removeprefix(label)
    yield page.paint(label, "bold") + (page.paint(text, style) if style else text)
    yield from rest
