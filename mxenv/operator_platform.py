"""What is known of the operators of a place: what its own torch says of itself, and which rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mxenv import operator_table, version
from mxenv.environment import select_env
from mxenv.errors import UsageError
from mxenv.facts import Absent, Fact, Observed, Snapshot, Unreadable, View
from mxenv.operator_place import Basis, Known, Platform
from mxenv.operator_runs import fits
from mxenv.ruling import guard
from mxenv.selector import PACKAGE
from mxenv.stack import stack
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from mxenv.facts import Reading
    from mxenv.matrix import Matrix
    from mxenv.operator_runs import Runs
    from mxenv.operator_table import Table

KEY = "torch.operators"
"""The fact that holds a table, one for each environment whose interpreter was asked."""
MODEL = ".device.model"
METAX = "metax"
CARD = f"{METAX}{MODEL}"
DEVICES = ("CUDA", "CPU")
"""Keys for which torch itself has kernels."""
BUILDS = {METAX: METAX, "cu": "nvidia"}
"""For whose cards a build of torch is, by the vendor of its build tag."""
PLUG_INS = ("torch-fl",)
"""Distributions that bring a device of their own to a build of torch for the CPU."""


def of_node(
    snapshot: Snapshot, matrix: Matrix, *, env: str | None = None, runs: Runs | None = None
) -> Platform:
    """Return what is known of the operators of a node, in ``env`` if that is named.

    ``runs`` is what came of running some; it has to be of that torch, and of such cards.
    """
    chosen = select_env(snapshot, env)
    place, table, why = _table(snapshot, chosen if env is None else env, named=env is not None)
    basis = Basis.NOTHING
    if table is not None:
        why = _not_its_own(snapshot, place, table)
        basis = Basis.OTHER if why else Basis.TARGET
    if runs is not None:
        _check(runs, table if basis is Basis.TARGET else None, makers(snapshot), snapshot.node)
    return Platform(
        name=snapshot.node,
        table=table,
        basis=basis,
        known=known(snapshot, matrix, place or chosen),
        why=why,
        runs=runs,
    )


def of_card(card: str, matrix: Matrix, *, runs: Runs | None = None) -> Platform:
    """Return what is known of the operators of a model of card, of which nobody has a node."""
    if runs is not None:
        _check(runs, None, frozenset({METAX}), card)
    fact = Fact(key=CARD, instance=card, reading=Observed(card), source="named")
    taken_at = datetime(1970, 1, 1, tzinfo=UTC)
    place = Snapshot(node=card, view=View.HOST, taken_at=taken_at, facts=(fact,))
    return Platform(name=card, known=known(place, matrix, None), runs=runs)


def _check(runs: Runs, table: Table | None, cards: frozenset[str], name: str) -> None:
    """Refuse results that are not of the platform: they would say something of another."""
    why = fits(runs, table) if table is not None else ""
    if table is None and not _made_for(runs.device.torch, runs.device.key, cards):
        whose = f" of {', '.join(sorted(cards))}" if cards else ""
        why = (
            f"they are of torch {runs.device.torch} on {runs.device.name}, not of its cards{whose}"
        )
    if why:
        raise UsageError(f"the results say nothing of {name}: {why}")


def known(snapshot: Snapshot, matrix: Matrix, env: str | None) -> tuple[Known, ...]:
    """Return what rows say of operators that may be about this place."""
    found = stack(snapshot, env, ambiguous=env is None)
    said = []
    for row in matrix.operators:
        applies = guard(row.when, found)
        if applies is not Outcome.INCOMPATIBLE:
            one = Known(
                operators=frozenset(row.operators),
                dtypes=frozenset(row.dtypes),
                kind=row.kind,
                row=row.row,
                said=row.text,
                by=row.by,
                sure=applies is Outcome.COMPATIBLE,
                remedy=row.remedy,
                because=row.evidence,
            )
            said.append(one)
    return tuple(said)


def makers(snapshot: Snapshot) -> frozenset[str]:
    """Return the vendors whose cards were seen."""
    return frozenset(
        fact.key.removesuffix(MODEL)
        for fact in snapshot.facts
        if fact.key.endswith(MODEL) and isinstance(fact.reading, Observed)
    )


def _table(
    snapshot: Snapshot, env: str | None, *, named: bool
) -> tuple[str | None, Table | None, str]:
    """Return the environment whose table counts, the table, and why there is none."""
    asked = {instance: snapshot.reading(KEY, instance) for instance in snapshot.instances(KEY)}
    if env not in asked and not named:
        read = [place for place, reading in asked.items() if isinstance(reading, Observed)]
        if len(read) > 1:
            told = ", ".join(sorted(read))
            return None, None, f"torch was asked in several environments: {told}"
        env = read[0] if read else env
    if env is None or env not in asked:
        return env, None, _why(next((asked[place] for place in asked if not place), None))
    return env, *_read(asked[env])


def _read(reading: Reading) -> tuple[Table | None, str]:
    if not isinstance(reading, Observed):
        return None, _why(reading)
    try:
        return operator_table.read(str(reading.value)), ""
    except ValueError as error:
        return None, f"the table of operators of its torch {error}"


def _why(reading: Reading | None) -> str:
    match reading:
        case Unreadable(reason):
            return f"its torch was not asked for its operators: {reason}"
        case Absent():
            return "there is no torch in it to be asked"
        case _:
            return "its torch was not asked for its operators"


def _not_its_own(snapshot: Snapshot, env: str | None, table: Table) -> str:
    """Return why a table says nothing of the place; nothing if it is of its own build of torch."""
    installed = snapshot.reading(PACKAGE, f"{env}/torch")
    if installed != Observed(table.torch):
        there = installed.value if isinstance(installed, Observed) else "one that was not read"
        return f"torch {table.torch} was asked, and {there} is installed in {env}"
    cards = makers(snapshot)
    said = f"torch {table.torch} was asked what it has for {table.key}"
    if not cards and _dark(snapshot):
        return f"{said}, and for which cards that would have to be could not be read"
    if _fits(snapshot, env, table, cards):
        return ""
    whose = f"the cards of {', '.join(sorted(cards))}" if cards else "this place"
    return f"{said}: a build that is not for {whose} says nothing of the one that is"


def _dark(snapshot: Snapshot) -> bool:
    """Return whether there may be a card that could not be read; an image has none."""
    return snapshot.view is not View.IMAGE and any(
        fact.key.endswith(MODEL) and isinstance(fact.reading, Unreadable) for fact in snapshot.facts
    )


def _fits(snapshot: Snapshot, env: str | None, table: Table, cards: frozenset[str]) -> bool:
    """Return whether a build of torch, with what is installed beside it, is for these cards."""
    there = (snapshot.reading(PACKAGE, f"{env}/{name}") for name in PLUG_INS)
    plugged = any(isinstance(reading, Observed) for reading in there)
    return (plugged and table.key not in DEVICES) or _made_for(table.torch, table.key, cards)


def _made_for(torch: str, key: str, cards: frozenset[str]) -> bool:
    """Return whether a build of torch is for the cards that were seen."""
    tag = version.tag(torch)
    match key:
        case "CUDA" if tag is not None:
            return cards <= {BUILDS.get(tag.vendor, "")}
        case "CUDA":
            # Upstream's wheels for CUDA carry no tag where they come from the public index.
            return cards == {"nvidia"}
        case "CPU":
            return not cards
        case _:
            return False
