"""What in a matrix is nearest to a stack that it does not cover, and what separates the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv import version
from mxenv.matrix import Release, Tested, same_family
from mxenv.stack import sdk_family

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mxenv.matrix import Matrix
    from mxenv.stack import Component, Fit, Stack

Row = Release | Tested


def rows_with_sdk(matrix: Matrix) -> tuple[Row, ...]:
    """Return every row that names an SDK."""
    return (*matrix.releases, *matrix.tested)


def nearest_sdk(text: str, matrix: Matrix) -> str:
    """Return the SDK families just below and just above a version, for a person to read."""
    families = {sdk_family(row.sdk) for row in rows_with_sdk(matrix)} - {""}
    below = [family for family in families if version.parse(family) < version.parse(text)]
    above = families.difference(below)
    older = f"{max(below, key=version.parse)}, older" if below else ""
    newer = f"{min(above, key=version.parse)}, newer" if above else ""
    return "; ".join(filter(None, (older, newer))) or "none, the matrix knows no SDK"


def card_names(found: Stack) -> str:
    """Return the models of the cards, for a person to read."""
    return ", ".join(found.cards) or "unknown"


def nearest_pair(found: Stack, matrix: Matrix) -> Tested | None:
    """Return the tested row that differs least: in the card only, in the driver, in the SDK."""

    def distance(row: Tested) -> tuple[int, bool, tuple[int, ...], str]:
        return (
            (not same_family(row.sdk, found.sdk.version))
            + (version.parse(row.kmd) != version.parse(found.kmd.version)),
            not same_family(row.sdk, found.sdk.version),
            gap(row.kmd, found.kmd.version) + gap(row.sdk, found.sdk.version),
            row.id,
        )

    return min(matrix.tested, key=distance, default=None)


def gap(left: str, right: str) -> tuple[int, ...]:
    """Return how far two versions are apart, field by field."""
    a, b = version.fields(left), version.fields(right)
    width = max(len(a), len(b))
    padded = (x + (0,) * (width - len(x)) for x in (a, b))
    return tuple(abs(x - y) for x, y in zip(*padded, strict=True))


def apart(row: Tested, found: Stack, matrix: Matrix) -> str:
    """Return what separates the node from the row."""
    parts = []
    if version.parse(row.kmd) != version.parse(found.kmd.version):
        newest = max((version.parse(r.kmd) for r in matrix.tested), default=None)
        newer = newest is not None and version.parse(found.kmd.version) > newest
        parts.append(
            f"driver {row.kmd}, here {found.kmd.version}{', newer than any tested' * newer}"
        )
    if not same_family(row.sdk, found.sdk.version):
        parts.append(f"SDK {row.sdk}, here {found.sdk.version}")
    if not found.cards or not all(matrix.alike(card, row.card) for card in found.cards):
        parts.append(f"card {row.card}, here {card_names(found)}")
    return f"{row.row} ({'; '.join(parts)})"


def nearest_row(component: Component, fits: Iterable[Fit]) -> Fit | None:
    """Return the row that has the component and fits the rest of the node best."""

    def rank(fit: Fit) -> tuple[int, tuple[int, ...], str]:
        apart = gap(fit.pins[component.name], component.version)
        return (-len(fit.matched), apart, fit.row.row)

    return min((fit for fit in fits if component.name in fit.pins), key=rank, default=None)
