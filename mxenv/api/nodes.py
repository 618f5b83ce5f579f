"""Look at nodes: probe, record, read back, compare."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cache
from itertools import chain
from math import inf
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING

from mxenv import _files, _plugins, fingerprint
from mxenv import snapshot as files
from mxenv.addresses import ADDRESS, parts
from mxenv.errors import HostUnreachable, SnapshotError, UsageError
from mxenv.facts import Absent, Unreadable
from mxenv.frozen import frozen
from mxenv.patience import ENDLESS, LATE, Late, Patience
from mxenv.probe import Probe, no_more, snapshot
from mxenv.question import Answers, Command, Found, Option
from mxenv.redaction import clean, clean_answers
from mxenv.transports import Dated, Replayed, Terms, Timed, Transport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from mxenv.comparison import Comparison
    from mxenv.facts import FactKey, Snapshot
    from mxenv.fingerprint import Difference, Fingerprint
    from mxenv.probe import Host
    from mxenv.question import Question
    from mxenv.vendors import Vendor

LOCAL = "local:"
LARGEST = 64 << 20
"""Bytes in a snapshot; a node of twenty environments has a tenth of it."""
OPERATORS = "operators"
PATIENCE = 150.0
"""Seconds for a node whose torch is asked as well, which takes some to be imported."""
ROUNDS = 5
"""Times that a node is asked, at most: what is found leads to further questions."""
NOT_IN_TIME = Unreadable("not asked in time", passing=True)
SHARE = 0.5
"""Of the time that is left, for each thing that is done with the answers: what asks for more, what
masks, what understands; the rest is for writing it down."""
LEAST = 0.25
"""Seconds for each, however little is left: most nodes need a twentieth of it."""


@frozen
class Wanted:
    """How a node is to be asked."""

    seconds: float | None = None
    """How long it may take; `None`: as long as the way to the node is given otherwise."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What is wanted beyond the usual, by the names that `Option` has."""
    stop: Event = field(default_factory=Event, compare=False)
    """Set when nobody waits any more."""


USUAL = Wanted()


@cache
def vendors() -> tuple[Vendor, ...]:
    """Return every vendor that mxenv knows."""
    return tuple(_plugins.load("vendors", name) for name in _plugins.names("vendors"))


@cache
def own_probes() -> tuple[Probe, ...]:
    """Return the probes of any node, no vendor's among them."""
    return tuple(_plugins.load("probes", name) for name in _plugins.names("probes"))


def probes() -> tuple[Probe, ...]:
    """Return every probe: of any node, then of each vendor."""
    return (*own_probes(), *(vendor.probe for vendor in vendors()))


@cache
def keys() -> Mapping[str, FactKey]:
    """Return every fact that can be known, by its name."""
    return {key.name: key for probe in probes() for key in probe.keys}


@cache
def allowed() -> frozenset[tuple[str, ...]]:
    """Return every command that may be run on a node."""
    asked = chain.from_iterable(probe.questions for probe in own_probes())
    own = {question.argv for question in asked if isinstance(question, Command)}
    further = (probe.read_only for probe in own_probes())
    return frozenset(own.union(*further, *(vendor.read_only for vendor in vendors())))


def demanded(options: Mapping[str, str]) -> frozenset[tuple[str, ...]]:
    """Return every command that may be run beside those, since somebody asks for it."""
    return frozenset(chain.from_iterable(probe.on_demand(options) for probe in own_probes()))


@frozen(kw_only=False)
class _Allowed:
    """What both return, once it is looked through: all probes have to be loaded for that."""

    options: Mapping[str, str]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(allowed() | demanded(self.options))


def open_host(address: str, wanted: Wanted = USUAL) -> AbstractContextManager[Host]:
    """Open the node that ``address`` (``scheme:rest``) names."""
    scheme, rest = parts(address)
    known = _plugins.names("transports")
    if scheme not in known:
        import difflib  # noqa: PLC0415 - imported late: only for what is misspelt

        near = difflib.get_close_matches(scheme, known, n=1)
        hint = f"did you mean '{near[0]}:'? " if near else ""
        hint += f"an address begins with one of {', '.join(f'{name}:' for name in known)}"
        raise UsageError(f"nothing is reached by {scheme!r}", context=address, hint=hint)
    transport: Transport = _plugins.load("transports", scheme)
    seconds = wanted.seconds
    if seconds is None and OPERATORS in wanted.options:
        seconds = PATIENCE
    terms = Terms(allowed=_Allowed(wanted.options), seconds=seconds, stop=wanted.stop)
    return transport.open(rest, terms)


def ask(host: Host, wanted: Wanted = USUAL) -> Answers:
    """Put every question to ``host``, round after round, and return the answers fit to be kept.

    Where nobody waits any longer what was not asked, or not made fit, is unreadable.
    """
    options = dict(host.options) if isinstance(host, Replayed) else {}
    options |= wanted.options
    questions = dict.fromkeys(chain.from_iterable(p.questions for p in probes()))
    answers, kept, patience = Answers(), Answers(), _patience(host)
    for _ in range(ROUNDS):
        fresh = host.gather([q for q in questions if not isinstance(q, Option)])
        fresh |= Answers({q: _option(q, options) for q in questions if isinstance(q, Option)})
        answers = replace(answers | fresh, patience=_some(patience, SHARE))
        # Round by round: what the last one brings may be more than there is time for.
        kept = _kept(kept, fresh, _some(patience, SHARE))
        try:
            further = [q for p in probes() if p.more is not no_more for q in _more(p, answers)]
        except Late:
            kept = replace(kept, otherwise=NOT_IN_TIME)
            break
        questions = dict.fromkeys(q for q in further if q not in answers.given)
        if not questions:
            break
    if wanted.stop.is_set():
        raise HostUnreachable("nobody waits for it any more", context=clean(host.name))
    return kept


def _kept(before: Answers, fresh: Answers, patience: Patience) -> Answers:
    """Return the answers of all rounds so far, fit to be kept."""
    cleaned = clean_answers(replace(fresh, patience=patience))
    otherwise = LATE if cleaned.otherwise == LATE else before.otherwise
    return replace(before | cleaned, otherwise=otherwise)


def _patience(host: Host) -> Patience:
    """Return how long ``host`` may take, if it may not take as long as it likes."""
    if not isinstance(host, Timed) or host.deadline == inf:
        return ENDLESS
    end = host.deadline
    return Patience(lambda: end - monotonic())


def _some(patience: Patience, part: float) -> Patience:
    """Return a part of what is left, or the little that most nodes need."""
    share = patience.share(part)
    if share.left() > LEAST:
        return share
    end = monotonic() + LEAST
    return Patience(lambda: end - monotonic())


def _option(question: Option, options: Mapping[str, str]) -> Found[str] | Absent:
    value = options.get(question.name)
    return Absent() if value is None else Found(value)


def _more(probe: Probe, answers: Answers) -> Iterable[Question]:
    try:
        return tuple(answers.each(probe.more(answers)))
    except Late:
        raise
    except Exception:  # noqa: BLE001 - what it did not understand, it will say when it reads
        return ()


def look(host: Host, *, now: datetime, wanted: Wanted = USUAL) -> Snapshot:
    """Return what ``host`` says; a recording says it as of its own time, not ``now``."""
    return _understand(host, ask(host, wanted), now)


def _understand(host: Host, answers: Answers, now: datetime) -> Snapshot:
    taken_at = host.taken_at if isinstance(host, Dated) else now
    node = clean(host.name)
    answers = replace(answers, patience=_some(_patience(host), SHARE))
    return snapshot(probes(), answers, node=node, view=host.view, taken_at=taken_at)


def probe(address: str = LOCAL, *, now: datetime, wanted: Wanted = USUAL) -> Snapshot:
    """Return what the node at ``address`` says."""
    with open_host(address, wanted) as host:
        return _there(look(host, now=now, wanted=wanted), address)


def _there(learned: Snapshot, address: str) -> Snapshot:
    """Return what was learned, if all that was named of this machine is on it."""
    missing = [f for f in learned.facts if f.wanted and isinstance(f.reading, Absent)]
    if missing and parts(address)[0] == parts(LOCAL)[0]:
        first = missing[0]
        hint = f"{first.source} takes an interpreter, or the folder that holds its bin"
        raise UsageError("no Python environment is there", context=first.instance, hint=hint)
    return learned


def record(
    address: str, out: Path, *, now: datetime, provenance: str = "", wanted: Wanted = USUAL
) -> Snapshot:
    """Write all that the node at ``address`` answers to ``out``, and return what it means.

    ``out`` is a folder, or a file if it ends in ``.tar.gz`` or ``.tgz``. An older recording there
    is replaced; anything else is not.
    """
    from mxenv import recorder  # noqa: PLC0415 - imported late: only here is one written
    from mxenv.api import _recordings  # noqa: PLC0415 - the same

    _recordings.refuse(out)
    with open_host(address, wanted) as host:
        answers = ask(host, wanted)
        learned = _there(_understand(host, answers, now), address)
        content = recorder.render(
            answers,
            node=learned.node,
            view=host.view,
            taken_at=learned.taken_at,
            provenance=provenance or f"recorded by mxenv from {clean(address)}",
        )
    _recordings.write(content, out)
    return learned


def read_snapshot(path: Path) -> Snapshot:
    """Return the snapshot in the file at ``path``."""
    try:
        content = _files.read(path, limit=LARGEST)
        return files.from_json(content.decode(), context=str(path))
    except UnicodeDecodeError as error:
        raise SnapshotError(f"not UTF-8 (byte {error.start})", context=str(path)) from None
    except FileNotFoundError:
        hint = "name a snapshot file, or an address as local: or recording:DIR"
        raise UsageError("there is no such file", context=str(path), hint=hint) from None
    except (OSError, ValueError) as error:
        hint = f"an image in a folder is oci:{path}" if _exists(path / "oci-layout") else ""
        said = f"cannot be read: {_files.why(error)}"
        raise SnapshotError(said, context=str(path), hint=hint) from None


def snapshot_of(target: str, *, now: datetime, wanted: Wanted = USUAL) -> Snapshot:
    """Return the snapshot that ``target`` names: a file of one, a recording, or an address."""
    from pathlib import Path  # noqa: PLC0415 - imported late: an address needs none

    path = Path(target)
    if _exists(path):
        packed = target.endswith((".tar.gz", ".tgz"))
        if packed or (path / "recording.toml").is_file():
            return probe(f"recording:{target}", now=now, wanted=wanted)
        return read_snapshot(path)
    if ADDRESS.fullmatch(target) or target in _plugins.names("transports"):
        return probe(target, now=now, wanted=wanted)
    return read_snapshot(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # too long for a path, or not one


def write_snapshot(snapshot: Snapshot, path: Path) -> None:
    """Write ``snapshot`` to the file at ``path``."""
    _files.write_atomically(path, files.to_json(snapshot, keys()))


def fingerprint_of(snapshot: Snapshot) -> Fingerprint:
    """Return the digests of ``snapshot``."""
    return fingerprint.fingerprint(snapshot, keys())


def compare(before: Snapshot, after: Snapshot) -> Comparison:
    """Return how two snapshots compare, side by side where their vendors differ."""
    from mxenv import comparison  # noqa: PLC0415 - imported late: only here are two compared

    prefixes = {key.name.partition(".")[0] for one in vendors() for key in one.probe.keys}
    return comparison.compare(before, after, keys(), prefixes)


def diff(before: Snapshot, after: Snapshot) -> tuple[Difference, ...]:
    """Return every fact in which two snapshots differ."""
    return fingerprint.diff(before, after, keys())
