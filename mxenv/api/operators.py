"""What a model asks of a platform, and what follows: inventories made, kept, held against cards."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import (
    _files,
    _plugins,
    inventory_file,
    judgement,
    number_format,
    operator_coverage,
    operator_findings,
    operator_platform,
    suitability,
)
from mxenv.addresses import ADDRESS
from mxenv.api import nodes
from mxenv.cards import MODELS
from mxenv.errors import InventoryError, UsageError
from mxenv.facts import Observed, Unreadable
from mxenv.format_fit import Cards
from mxenv.grounds import grounded
from mxenv.models import Request
from mxenv.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime

    from mxenv.facts import Snapshot
    from mxenv.inventory import Inventory
    from mxenv.matrix import Matrix
    from mxenv.models import Reader
    from mxenv.operator_place import Platform
    from mxenv.operator_runs import Runs
    from mxenv.verdict import Waiver

SNAPSHOT = b"mxenv.snapshot/"
"""What is in the head of a file of facts."""
HEAD = 4096
LARGEST = 64 << 20
"""Bytes of an inventory; that of a large source tree has 2 MB."""
KEPT = ".json"
"""What a file is called that holds an inventory."""
MODEL = ".device.model"
MEMORY = ".device.memory_mib"
SLICE = ".device.slice"
OWN = "metax"
"""The vendor to whose cards code is ported."""
DEVICE = re.compile(r"[a-z][a-z0-9_]*(?::[0-9]{1,3})?")
"""A device as torch names it; ``meta`` is one on which nothing runs, which torch itself says."""
OF_A_SLICE = re.compile(r"([0-9]+) MiB")


@cache
def readers() -> Mapping[str, Reader]:
    """Return every way to read a model, by its name."""
    names = _plugins.names("models")
    return {name: importlib.import_module(f"mxenv.models.{name}").READER for name in names}


def inventory_of(
    target: str, reader: str | None = None, *, request: Request | None = None
) -> Inventory:
    """Return what the model at ``target`` asks for: a file of it, or what ``reader`` finds.

    Without a ``reader``, the first that knows the target reads it; one that needs more than mxenv
    itself only if it is there, or if the ``request`` asks for what only it can do.
    """
    known = readers()
    if reader is not None and reader not in known:
        raise UsageError(f"nothing reads {reader!r}", hint=f"one of {', '.join(known)}")
    if not target or not (_exists(Path(target)) or known["torch"].claims(target)):
        raise UsageError("there is no such file", context=target, hint=_named(known))
    request = replace(request or Request(target=target), target=target)
    if reader is None:
        reader = _best(target, request)
    if request.record_on:
        _check_device(request, known.get(reader or ""))
    if reader is not None:
        return known[reader].read(request)
    if Path(target).suffix == KEPT:
        return read_inventory(Path(target))
    raise UsageError("nobody here reads such a model", context=target, hint=_named(known))


def _check_device(request: Request, reader: Reader | None) -> None:
    if not DEVICE.fullmatch(request.record_on):
        raise UsageError(
            f"{request.record_on!r} is no device", hint="as torch has it: cuda, cuda:1"
        )
    if reader is None or not reader.runs:
        hint = "--record-on is for a configuration, or module:callable"
        raise UsageError("nothing of it can be run", context=request.target, hint=hint)


def _best(target: str, request: Request) -> str | None:
    """Return the reader of ``target``: one that walks through it, if that can be or is asked."""
    able = [name for name, one in readers().items() if one.claims(target)]
    walking = [name for name in able if readers()[name].needs]
    told = request.python is not None or request.train or request.trust_remote_code
    told = told or bool(request.record_on)
    for name in walking:
        if told or all(importlib.util.find_spec(module) for module in readers()[name].needs):
            return name
    # What nothing else reads is read by one that says what it lacks.
    return next((name for name in able if name not in walking), next(iter(walking), None))


def _named(known: Mapping[str, Reader]) -> str:
    titles = "; ".join(f"{one.title} ({name})" for name, one in known.items())
    return f"what can be read: {titles}; or an inventory as {KEPT}"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # too long for a path, or not one


def read_inventory(path: Path) -> Inventory:
    """Return the inventory in the file at ``path``."""
    try:
        content = _files.read(path, limit=LARGEST)
        return inventory_file.from_json(content.decode(), context=str(path))
    except UnicodeDecodeError as error:
        raise InventoryError(f"not UTF-8 (byte {error.start})", context=str(path)) from None
    except (OSError, ValueError) as error:
        raise InventoryError(f"cannot be read: {_files.why(error)}", context=str(path)) from None


def write_inventory(inventory: Inventory, path: Path) -> None:
    """Write ``inventory`` to the file at ``path``."""
    _files.write_atomically(path, inventory_file.to_json(inventory))


def place_of(
    platform: str,
    matrix: Matrix,
    *,
    env: str | None = None,
    runs: Runs | None = None,
    now: datetime,
) -> tuple[Cards, Platform]:
    """Return the cards that ``platform`` names, and what is known of its operators.

    It is a model of card, a snapshot file or an address. ``env`` is whose torch counts, of a node,
    and ``runs`` what came of running operators there.
    """
    known = {card.casefold(): card for card in known_cards(matrix)}
    if card := known.get(platform.casefold()):
        if env is not None:
            raise UsageError(f"{card} is a model of card: it has no Python environment {env!r}")
        return Cards(name=card, models=(card,)), operator_platform.of_card(card, matrix, runs=runs)
    address = ADDRESS.fullmatch(platform) or platform in _plugins.names("transports")
    if not address and not _exists(Path(platform)):
        near = difflib.get_close_matches(platform.casefold(), known, n=1)
        mean = f"did you mean {known[near[0]]}? " if near else ""
        hint = f"{mean}cards that are known: {', '.join(sorted(known.values()))}"
        said = f"{platform!r} is no card, no snapshot and no address"
        raise UsageError(said, hint=hint)
    snapshot = nodes.snapshot_of(platform, now=now)
    return seen(snapshot), operator_platform.of_node(snapshot, matrix, env=env, runs=runs)


def is_place(target: str) -> bool:
    """Return whether ``target`` is a node: its address, or the file of a snapshot."""
    address = ADDRESS.fullmatch(target)
    if address and address[1] in _plugins.names("transports"):
        return True
    path = Path(target)
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return SNAPSHOT in file.read(HEAD)
    except (OSError, ValueError):
        return False  # a folder, too long for a path, or not one


def known_cards(matrix: Matrix) -> set[str]:
    """Return every model of card that somebody speaks of."""
    together = (card for row in matrix.series for card in row.cards)
    return {*number_format.cards(matrix), *MODELS.values(), *together}


def seen(snapshot: Snapshot) -> Cards:
    """Return the cards that a node was seen to have, and their memory."""
    models, vendors, dark = set(), set(), ""
    for fact in snapshot.facts:
        if not fact.key.endswith(MODEL):
            continue
        match snapshot.reading(fact.key, fact.instance):
            case Observed(value):
                models.add(str(value))
                vendors.add(fact.key.removesuffix(MODEL))
            case Unreadable(reason):
                dark = dark or f"its cards could not be read: {reason}"
            case _:
                pass
    return Cards(
        name=snapshot.node,
        models=tuple(sorted(models)),
        memory=_memory(snapshot, vendors),
        why=dark or "no card was seen",
        ported=not vendors or OWN in vendors,
    )


def _memory(snapshot: Snapshot, vendors: set[str]) -> tuple[int, ...]:
    """Return the memory of each card in MiB; of cards that are shared, of the parts given out."""
    keys = {f"{vendor}{end}" for vendor in vendors for end in (MEMORY, SLICE)}
    found: dict[str, list[int]] = {MEMORY: [], SLICE: []}
    for key, unit in dict.fromkeys((f.key, f.instance) for f in snapshot.facts if f.key in keys):
        reading = snapshot.reading(key, unit)
        match reading:
            case Observed(int(value)) if key.endswith(MEMORY):
                found[MEMORY].append(value)
            case Observed(value) if key.endswith(SLICE):
                found[SLICE] += map(int, OF_A_SLICE.findall(str(value)))
            case _:
                pass
    return tuple(sorted(found[SLICE] or found[MEMORY]))


def cover(  # noqa: PLR0913 - each is a question of its own, and has its default
    inventory: Inventory,
    platform: str,
    matrix: Matrix,
    *,
    waivers: Sequence[Waiver] = (),
    each: bool = False,
    env: str | None = None,
    runs: Runs | None = None,
    target: str = "",
    now: datetime,
    today: date,
) -> Verdict:
    """Return what follows for a model on ``platform``: a snapshot, an address, a model of card.

    With ``each``, every place in code is a finding of its own, within the folder ``target``, and
    every operator. ``env`` is the environment of a node whose torch counts.
    """
    if runs is not None and runs.inventory != inventory.digest:
        raise UsageError(f"the results are of another inventory, of {runs.model}")
    cards, place = place_of(platform, matrix, env=env, runs=runs, now=now)
    coverage = operator_coverage.cover(inventory, place)
    root = _shown(target)
    found = tuple(suitability.findings(coverage, cards, matrix, each=each, root=root))
    verdict = Verdict(
        subject=f"{inventory.name} on {cards.name}",
        findings=judgement.waive(found, waivers, today),
        matrix=matrix.digest,
        shares=operator_findings.shares(coverage),
    )
    return replace(verdict, findings=tuple(grounded(verdict.findings)))


def _shown(target: str) -> str:
    """Return a folder as reports name it: from where mxenv runs, if it lies below."""
    path = Path(target)
    if not target or not path.is_dir():
        return ""
    here = Path.cwd()
    whole = path.resolve()
    shown = whole.relative_to(here) if whole.is_relative_to(here) else whole
    return "" if shown == Path() else shown.as_posix()
