"""What a node that was seen working is evidence of: the row that a site's matrix gets from it."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from mxenv.errors import UsageError
from mxenv.facts import Observed, View
from mxenv.matrix import Tested, same_family
from mxenv.nearness import rows_with_sdk
from mxenv.stack import held, listed, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.matrix import Matrix
    from mxenv.stack import Component, Stack
    from mxenv.verdict import Evidence

_SHORT = 8
_NOT_OF_AN_ID = re.compile(r"[^a-z0-9.+-]+")


def tested(found: Stack, matrix: Matrix, *, evidence: Evidence, file: str) -> Tested:
    """Return the row that ``found`` is evidence of, or say why it is none.

    Whatever a verdict would ask of the node has to be known: a row that leaves out what could not
    be read would vouch for every version of it.
    """
    if problems := list(_problems(found, matrix)):
        raise UsageError(
            f"{found.snapshot.node} cannot become a tested row: {'; '.join(problems)}",
            hint="probe it where all of this can be read",
        )
    packages = tuple((c.name, c.version) for c in _components(found, matrix))
    return Tested(
        id=_id(found, packages),
        file=file,
        card=found.cards[0],
        kmd=found.kmd.version,
        sdk=found.sdk.version,
        packages=packages,
        os=" ".join(filter(None, (_read(found, "os.id"), _read(found, "os.version")))),
        kernel=_read(found, "kernel.release"),
        evidence=(evidence,),
    )


def _problems(found: Stack, matrix: Matrix) -> Iterator[str]:
    """Yield what is not known of the node, and has to be."""
    if found.snapshot.view is View.IMAGE:
        yield "an image was not seen working, a node was"
    for component in (found.kmd, found.sdk):
        if not component.version:
            yield component.seen.found
    if not found.cards:
        yield "no card could be read"
    for seen in found.unread:
        yield seen.found
    others = [card for card in found.cards[1:] if not matrix.alike(card, found.cards[0])]
    if others:
        yield f"cards that no [[series]] row has together: {', '.join(found.cards)}"


def _components(found: Stack, matrix: Matrix) -> Sequence[Component]:
    """Return the distributions that a verdict on this very node names."""
    near = [row for row in rows_with_sdk(matrix) if same_family(row.sdk, found.sdk.version)]
    return named(found, [held(row, found.versions) for row in near], matrix)


def _id(found: Stack, packages: Sequence[tuple[str, str]]) -> str:
    """Return a name that people can read, and that no other set of versions has."""
    said = repr((found.cards[0], found.kmd.version, found.sdk.version, packages))
    digest = hashlib.sha256(said.encode()).hexdigest()[:_SHORT]
    readable = f"{found.cards[0]}-kmd{found.kmd.version}-sdk{found.sdk.version}".lower()
    return f"{_NOT_OF_AN_ID.sub('-', readable).strip('-.+')}-{digest}"


def _read(found: Stack, key: str) -> str:
    reading = found.snapshot.reading(key)
    return str(reading.value) if isinstance(reading, Observed) else ""


def summed_up(row: Tested) -> str:
    """Return what the row says, in one line."""
    names = [f"{name} {text}" for name, text in row.packages]
    return f"{row.card}, driver {row.kmd}, SDK {row.sdk}: {listed(names) or 'no distributions'}"
