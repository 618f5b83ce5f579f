"""Look at many nodes at once: each for itself, and what was finished stays."""

from __future__ import annotations

import threading
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

from mxenv import _files, _plugins, fleet
from mxenv import snapshot as files
from mxenv.addresses import ADDRESS, file_names, listed, once
from mxenv.api import nodes
from mxenv.errors import InvalidFile, MxenvError, UsageError
from mxenv.fleet import Failure, Fleet, Member
from mxenv.verdict import Finding, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from mxenv.facts import Snapshot

T = TypeVar("T")
LIST = "@"
"""What begins the name of a file that lists nodes."""
LONGEST_LIST = 4 << 20
JOBS = 32
"""Nodes that are asked at once, unless told otherwise."""
GRACE = 3.0
"""Seconds for nodes that are being asked to end what they started, when nobody waits any more."""
PACKED = (".tar.gz", ".tgz", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit(Generic[T]):
    """What came of one node."""

    seconds: float
    result: T | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tour:
    """How many nodes are to be looked at."""

    addresses: tuple[str, ...]
    now: datetime
    wanted: nodes.Wanted = nodes.USUAL
    jobs: int | None = None
    told: Callable[[int, int], None] | None = None
    """Is told how many nodes are done, and how many there are."""


def addresses(given: Sequence[str]) -> tuple[str, ...]:
    """Return every address once; ``@FILE`` stands for those in a file."""
    found: list[str] = []
    for one in given:
        found += _listed(Path(one[1:])) if one.startswith(LIST) else [one]
    return once(found)


def inside(targets: Sequence[str]) -> tuple[str, ...]:
    """Return ``targets`` with the snapshots of a folder in its place; a recording is no folder."""
    found: list[str] = []
    missing = [one for one in targets if not ADDRESS.fullmatch(one) and not _exists(Path(one))]
    if missing and len(targets) > 1:
        hint = "name snapshot files, folders of them, or addresses as recording:DIR"
        raise UsageError("there is no such file", context=", ".join(missing), hint=hint)
    for target in targets:
        path = Path(target)
        if _exists(path) and path.is_dir() and not (path / "recording.toml").is_file():
            files = sorted(str(file) for file in path.glob("*.json"))
            if not files:
                hint = "`mxenv probe --on @FILE --out DIR` writes one for each node"
                raise InvalidFile("a folder without snapshots", context=target, hint=hint)
            found += files
        else:
            found.append(target)
    return once(found)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # too long for a path, or not one


def _listed(path: Path) -> tuple[str, ...]:
    try:
        text = _files.read(path, limit=LONGEST_LIST).decode()
    except UnicodeDecodeError as error:
        raise InvalidFile(f"not UTF-8 (byte {error.start})", context=str(path)) from None
    except FileNotFoundError:
        hint = "@FILE names a file with one address a line"
        raise UsageError("there is no such file", context=str(path), hint=hint) from None
    except (OSError, ValueError) as error:
        raise InvalidFile(f"cannot be read: {_files.why(error)}", context=str(path)) from None
    return listed(text, context=str(path), schemes=_plugins.names("transports"))


def each(tour: Tour, visit: Callable[[str, nodes.Wanted], T]) -> Mapping[str, Visit[T]]:
    """Visit every address, several at once, and return what came of each, in their order.

    What fails fails for one node only. Ctrl-C ends what was begun; what was finished stays done.
    """
    waiting: SimpleQueue[str] = SimpleQueue()
    done: SimpleQueue[tuple[str, Visit[T]]] = SimpleQueue()
    stop = threading.Event()
    wanted = replace(tour.wanted, stop=stop)

    def work() -> None:
        while not stop.is_set():
            try:
                address = waiting.get_nowait()
            except Empty:
                return
            done.put((address, _visit(address, wanted, visit)))

    for address in tour.addresses:
        waiting.put(address)
    jobs = min(tour.jobs or JOBS, len(tour.addresses))
    # Not a pool: its threads would be waited for when the program ends.
    threads = [threading.Thread(target=work, name="node", daemon=True) for _ in range(jobs)]
    visits: dict[str, Visit[T]] = {}
    try:
        for thread in threads:
            thread.start()
        while len(visits) < len(tour.addresses):
            address, came = done.get()
            visits[address] = came
            if tour.told:
                tour.told(len(visits), len(tour.addresses))
    finally:
        stop.set()
        deadline = time.monotonic() + GRACE
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
    return {address: visits[address] for address in tour.addresses}


def _visit(address: str, wanted: nodes.Wanted, visit: Callable[[str, nodes.Wanted], T]) -> Visit[T]:
    began = time.monotonic()
    result: T | None = None
    failure: Failure | None = None
    try:
        result = visit(address, wanted)
    except MxenvError as error:
        failure = Failure.of(error)
    except OSError as error:
        failure = Failure(message=f"the system refused: {_files.why(error)}", status=6)
    except Exception as error:  # noqa: BLE001 - costs this node and no other
        failure = Failure(
            message=f"a bug in mxenv: {type(error).__name__}: {error}",
            hint=f"run it with MXENV_DEBUG=1 and --on {address} alone, and report what it says",
            status=MxenvError.exit_code,
        )
    return Visit(seconds=round(time.monotonic() - began, 2), result=result, failure=failure)


@dataclass(slots=True)
class _Stacks:
    """One snapshot of every stack, packed: many nodes are more than memory holds."""

    packed: dict[str, bytes] = field(default_factory=dict)

    def member(self, address: str, snapshot: Snapshot) -> Member:
        """Return ``snapshot`` in short, and keep it if it is the first of its stack."""
        known = fleet.member(snapshot, nodes.keys(), address=address, seconds=0.0)
        if known.stack is not None and known.stack not in self.packed:
            self.packed[known.stack] = zlib.compress(
                files.to_json(snapshot, nodes.keys()).encode(), 1
            )
        return known

    def one_of(self, stack: str) -> Snapshot:
        """Return the snapshot that was kept of ``stack``."""
        return files.from_json(zlib.decompress(self.packed[stack]).decode(), context=stack)


def _fleet(visits: Mapping[str, Visit[Member]], stacks: _Stacks) -> Fleet:
    members = tuple(
        replace(came.result, seconds=came.seconds)
        if came.result is not None
        else Member(address=address, seconds=came.seconds, failure=came.failure)
        for address, came in visits.items()
    )
    return Fleet(members=members, groups=fleet.groups(members, stacks.one_of, nodes.keys()))


def probe(tour: Tour, out: Path | None = None) -> Fleet:
    """Probe many nodes; each snapshot is written into the folder ``out`` as soon as it is there."""
    stacks, names = _Stacks(), file_names(tour.addresses)
    _refuse(out)

    def visit(address: str, wanted: nodes.Wanted) -> Member:
        snapshot = nodes.probe(address, now=tour.now, wanted=wanted)
        known = stacks.member(address, snapshot)
        if out is None:
            return known
        path = out / f"{names[address]}.json"
        nodes.write_snapshot(snapshot, path)
        return replace(known, file=str(path))

    return _fleet(each(tour, visit), stacks)


def record(tour: Tour, out: Path) -> Fleet:
    """Record many nodes, each into a folder of its own in the folder ``out``."""
    stacks, names = _Stacks(), file_names(tour.addresses)
    _refuse(out)

    def visit(address: str, wanted: nodes.Wanted) -> Member:
        path = out / names[address]
        snapshot = nodes.record(address, path, now=tour.now, wanted=wanted)
        return replace(stacks.member(address, snapshot), file=str(path))

    return _fleet(each(tour, visit), stacks)


def judge(tour: Tour, judged: Callable[[Snapshot], Verdict]) -> tuple[Fleet, tuple[Verdict, ...]]:
    """Return many nodes in short, and a verdict on each of them in the order of addresses."""
    stacks = _Stacks()
    verdicts: dict[str, Verdict] = {}

    def visit(address: str, wanted: nodes.Wanted) -> Member:
        snapshot = nodes.snapshot_of(address, now=tour.now, wanted=wanted)
        verdicts[address] = verdict = judged(snapshot)
        return replace(stacks.member(address, snapshot), outcome=verdict.outcome)

    came = _fleet(each(tour, visit), stacks)
    return came, told_apart(came, verdicts)


def told_apart(came: Fleet, verdicts: Mapping[str, Verdict]) -> tuple[Verdict, ...]:
    """Return the verdict on each node in order; of several of one name each says its address."""
    names = Counter(verdict.subject for verdict in verdicts.values())
    apart = []
    for member in came.members:
        verdict = verdicts.get(member.address) or not_asked(member)
        if names[verdict.subject] > 1:
            verdict = replace(verdict, subject=f"{verdict.subject} ({member.address})")
        apart.append(verdict)
    return tuple(apart)


def compare(
    tour: Tour, compared: Callable[[str, nodes.Wanted], Verdict]
) -> tuple[Fleet, tuple[Verdict, ...]]:
    """Return what ``compared`` says of each address; no node is described by it."""
    verdicts: dict[str, Verdict] = {}

    def visit(address: str, wanted: nodes.Wanted) -> Member:
        verdicts[address] = verdict = compared(address, wanted)
        return Member(address=address, seconds=0.0, outcome=verdict.outcome)

    came = _fleet(each(tour, visit), _Stacks())
    return came, told_apart(came, verdicts)


def not_asked(member: Member) -> Verdict:
    """Return the verdict on a node that could not be asked: it may be anything."""
    failure = member.failure
    finding = Finding(
        code="MX190",
        outcome=Outcome.UNKNOWN,
        subject=member.address,
        found=failure.message if failure else "not asked",
        expected="an answer",
        remedy=failure.hint if failure else "",
    )
    return Verdict(subject=member.address, findings=(finding,))


def _refuse(out: Path | None) -> None:
    hint = "name a folder: many nodes have a file each"
    if out is not None and out.exists() and not out.is_dir():
        raise UsageError("is there and not a folder", context=str(out), hint=hint)
    if out is not None and not out.exists() and out.name.endswith(PACKED):
        raise UsageError("names one file, and there are many nodes", context=str(out), hint=hint)
