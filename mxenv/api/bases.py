"""What everything is added to: a base image, its Python, and what it provides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv._files import write_atomically
from mxenv.api import _base_records, _places, nodes
from mxenv.api._listed import ListedHost
from mxenv.environment import select_env
from mxenv.errors import Incompatible, LockError
from mxenv.facts import Absent, Fact, Observed, Snapshot, Unreadable, View, observed
from mxenv.fingerprint import fingerprint
from mxenv.frozen import frozen
from mxenv.image import SCRATCH, pinned
from mxenv.lock import Base, Provided, Target
from mxenv.stores import places
from mxenv.wheel_tags import minor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from mxenv.base_record import Record
    from mxenv.image import Image
    from mxenv.lock import Lock

KEPT = (
    *("os.id", "os.version", "libc.version", "python.version"),
    *("metax.sdk", "metax.compiler", "metax.mccl", "metax.smi"),
)
"""The facts of a base that stand in the lock; of Python, those of the one that is used."""
UNSEEN = (
    "which files the base holds is not known: whether a wheel brings one of them, too, "
    "is not looked at"
)
SCRATCH_PREFIX = "/opt/mxenv"
SCRATCH_INTERPRETER = "/usr/bin/python3"


@frozen
class Ground:
    """A base, understood: where wheels go, and what is there already."""

    base: Base
    target: Target
    python: str
    """With all three numbers, if they are known."""
    snapshot: Snapshot
    """Facts of an image only, whatever was asked."""
    provided: tuple[Provided, ...] = ()
    unclear: tuple[tuple[str, str], ...] = ()
    """Distributions that are there in a version that is not known, each with the reason."""
    facts: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    """The record of the base, if it was made anew; `keep` writes it."""
    notes: tuple[str, ...] = ()


def stand(  # noqa: PLR0913 - what a base is found by, and what is known of it already
    image: Image,
    *,
    snapshot: Path | None,
    root: Path,
    now: datetime,
    beside: Path | None = None,
    before: Lock | None = None,
    hashes: Mapping[str, str] | None = None,
) -> Ground:
    """Return what ``image`` stands on; ``snapshot`` spares looking inside the base.

    So does a record of it in ``beside``, the folder of the lock, if a lock there vouches for it;
    ``before`` is the lock that is there, and ``hashes`` are those of the files that are added.
    """
    if image.base == SCRATCH:
        return _scratch(image, now)
    if snapshot is not None:
        digest = pinned(image.base) or _locate(image, root)[1]
        _places.unseen(image.files)
        ground = _ground(image, digest, _of_image(nodes.read_snapshot(snapshot)))
        return replace(ground, notes=(UNSEEN,))
    known = _known(image, before)
    record, note = _recorded(beside, known, image.platform)
    if record is None:
        address, digest = _locate(image, root)
        if digest != known:
            record, note = _recorded(beside, digest, image.platform)
    if record is not None:
        return _of_record(image, record, hashes or {})
    notes = (note,) if note else ()
    with _base_records.looking(places.source_of(address), image.platform) as (looked, host):
        if looked.record is not None:
            return replace(
                _of_record(image, looked.record, hashes or {}), content=looked.content, notes=notes
            )
        ground = _ground(image, digest, _of_image(looked.snapshot))
        _places.check(image.files, host)
        target = _places.resolved(ground.target, host)
        return replace(ground, target=target, notes=(*notes, UNSEEN))


def keep(ground: Ground, beside: Path) -> None:
    """Write what was learned of a base beside the lock, unless it is there already."""
    if ground.content is not None:
        path = _base_records.path_of(beside, ground.base.digest)
        if not (path.is_file() and path.read_bytes() == ground.content):
            write_atomically(path, ground.content)


def lacking(lock: Lock, path: Path) -> Iterator[str]:
    """Say why what the lock at ``path`` names of its base cannot be used; nothing if it can."""
    if lock.base.listing:
        try:
            _base_records.locked(lock, path)
        except LockError as error:
            yield str(error)


def _known(image: Image, before: Lock | None) -> str:
    """Return the digest of the base for the platform, if it can be told without asking for it."""
    digest = pinned(image.base)
    if not digest or before is None:
        return digest
    asked, was = (image.base, image.platform), (before.base.reference, before.target.platform)
    # What is pinned may be an index, which leads to the same manifest always.
    return before.base.digest if asked == was else digest


def _recorded(beside: Path | None, digest: str, platform: str) -> tuple[Record | None, str]:
    if beside is None or not digest:
        return None, ""
    return _base_records.kept(beside, digest, platform)


def _of_record(image: Image, record: Record, hashes: Mapping[str, str]) -> Ground:
    digest = record.told.base
    host = ListedHost(listing=record.listing, name=digest)
    ground = _ground(image, digest, _of_image(_base_records.facts_of(record, digest)))
    _places.check(image.files, host)
    _places.unowned(image.files, hashes, record.listing)
    target = _places.resolved(ground.target, host)
    base = replace(ground.base, listing=record.digest)
    return replace(ground, base=base, target=target)


def _scratch(image: Image, now: datetime) -> Ground:
    target = _target(image.platform, image.python, SCRATCH_PREFIX, SCRATCH_INTERPRETER)
    version = Fact(
        key="python.series",
        instance=SCRATCH_PREFIX,
        reading=Observed(image.python),
        source="image.toml",
        view=View.IMAGE,
    )
    return Ground(
        base=Base(reference=SCRATCH),
        target=target,
        python=image.python,
        snapshot=Snapshot(node=image.name, view=View.IMAGE, taken_at=now, facts=(version,)),
    )


def _locate(image: Image, root: Path) -> tuple[str, str]:
    """Return the address of the base, and the digest of its manifest for the platform."""
    address = places.below(image.base, root)
    digest = places.source_of(address).manifest(image.platform)[0].digest
    return places.pinned(address, digest), digest


def _of_image(snapshot: Snapshot) -> Snapshot:
    """Return what an image holds of ``snapshot``: a driver that was seen is the node's."""
    keys = nodes.keys()
    facts = []
    for fact in snapshot.facts:
        key = keys.get(fact.key)
        if key is not None and key.view is not None:
            facts.append(replace(fact, reading=Unreadable("an image does not hold it; ask a node")))
        else:
            facts.append(replace(fact, view=View.IMAGE))
    return replace(snapshot, view=View.IMAGE, facts=tuple(facts))


def _ground(image: Image, digest: str, snapshot: Snapshot) -> Ground:
    prefix = _environment(image, snapshot)
    series = _text(snapshot, "python.series", prefix)
    if image.python not in {"", series}:
        raise Incompatible(
            f"Python {image.python} is asked for, and {prefix} of the base has {series}",
            hint="leave python.version out, or name another environment",
        )
    interpreter = snapshot.reading("python.interpreter", prefix)
    path = interpreter.value if isinstance(interpreter, Observed) else f"{prefix}/bin/python3"
    debian = _is_debian(snapshot, prefix)
    target = replace(
        _target(image.platform, series, prefix, str(path), debian=debian),
        libc=".".join(map(str, minor(_text(snapshot, "libc.version")))),
    )
    version = snapshot.reading("python.version", prefix)
    provided, unclear = _distributions(snapshot, prefix)
    stack = fingerprint(snapshot, nodes.keys()).stack
    return Ground(
        base=Base(reference=image.base, digest=digest, snapshot=stack or ""),
        target=target,
        python=str(version.value) if isinstance(version, Observed) else series,
        snapshot=snapshot,
        provided=provided,
        unclear=unclear,
        facts=tuple(_kept(snapshot, prefix)),
    )


def _environment(image: Image, snapshot: Snapshot) -> str:
    """Return the prefix of the environment that wheels are added to."""
    found = sorted(fact.instance for fact, _ in observed(snapshot.of("python.series")))
    if image.environment:
        if image.environment not in found:
            raise Incompatible(
                f"the base has no Python environment {image.environment}",
                hint=f"it has: {', '.join(found) or 'none that could be read'}",
            )
        return image.environment
    chosen = select_env(snapshot, None) or (found[0] if len(found) == 1 else "")
    if chosen not in found:
        names = ", ".join(found) or "none was read"
        raise Incompatible(
            f"which Python of the base to use cannot be told: {names}",
            hint="name its prefix as python.environment in image.toml",
        )
    return chosen


def _text(snapshot: Snapshot, key: str, instance: str = "") -> str:
    """Return a fact without which nothing can be locked."""
    label = f"{key}[{instance}]" if instance else key
    match snapshot.reading(key, instance):
        case Observed(value):
            return str(value)
        case Absent():
            raise Incompatible(f"{label} is absent from the base")
        case Unreadable(reason):
            raise Incompatible(
                f"{label} of the base could not be read: {reason}",
                hint="lock from a snapshot that was taken inside it: --snapshot FILE",
            )


def _target(
    platform: str, python: str, prefix: str, interpreter: str, *, debian: bool = False
) -> Target:
    # Debian's Python leaves /usr to dpkg: what others install goes below /usr/local.
    place = "/usr/local" if debian else prefix
    library = f"{place}/lib/python{python}/{'dist' if debian else 'site'}-packages"
    return Target(
        platform=platform,
        python=python,
        prefix=prefix,
        interpreter=interpreter,
        purelib=library,
        platlib=library,
        scripts=f"{place}/bin",
        data=place,
    )


def _is_debian(snapshot: Snapshot, prefix: str) -> bool:
    """Tell whether ``prefix`` is the system's Python of Debian or of what is made from it."""
    sites = snapshot.reading("python.site", prefix)
    text = str(sites.value) if isinstance(sites, Observed) else ""
    distribution = snapshot.reading("os.id")
    named = isinstance(distribution, Observed) and distribution.value in {"debian", "ubuntu"}
    return prefix == "/usr" and (named or "dist-packages" in text)


def _distributions(
    snapshot: Snapshot, prefix: str
) -> tuple[tuple[Provided, ...], tuple[tuple[str, str], ...]]:
    """Return the distributions of one environment, and those whose version is not known."""
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - imported late

    provided, unclear = [], []
    instances = sorted({fact.instance for fact in snapshot.of("python.package")})
    for instance in instances:
        environment, _, name = instance.rpartition("/")
        if environment != prefix:
            absent = isinstance(snapshot.reading("python.package", instance), Absent)
            if not absent and (not instance or instance == prefix):
                # A Python with nothing installed is a base; one that could not be read is none.
                _text(snapshot, "python.package", instance)
            continue
        match snapshot.reading("python.package", instance):
            case Observed(value):
                try:
                    Version(str(value))
                except InvalidVersion:
                    unclear.append((name, f"{value!r} is no version"))
                else:
                    provided.append(Provided(name=name, version=str(value)))
            case Unreadable(reason):
                unclear.append((name, reason))
            case Absent():
                continue
    return tuple(provided), tuple(unclear)


def _kept(snapshot: Snapshot, prefix: str) -> Iterator[tuple[str, str]]:
    for key in KEPT:
        reading = snapshot.reading(key, prefix if key.startswith("python.") else "")
        if isinstance(reading, Observed):
            yield key, str(reading.value)
