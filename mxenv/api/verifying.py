"""Compare an image, a node, or what was recorded of one, with the lock it should be made from."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from mxenv.api import _hosts, _packages, nodes, project
from mxenv.errors import EngineError, InvalidFile
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.image import SCRATCH
from mxenv.lock import WHEELHOUSE
from mxenv.redaction import UNPRINTABLE
from mxenv.stores import places
from mxenv.verdict import Finding, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mxenv.api._inside import Inside
    from mxenv.facts import Snapshot
    from mxenv.lock import Lock
    from mxenv.probe import Host
    from mxenv.stores import ImageDescription, Source

IMAGES = ("image", "oci")
"""The schemes whose images are read layer by layer, every file of every wheel included."""


def verify(  # noqa: PLR0913 - each says something else of what is compared
    lock_path: Path,
    address: str,
    *,
    now: datetime | None = None,
    wheelhouse: Path | None = None,
    env: str | None = None,
    wanted: nodes.Wanted = nodes.USUAL,
) -> Verdict:
    """Return what differs between a lock and what lies at ``address``.

    An image is compared file by file with the wheels in ``wheelhouse``, which is that of the lock
    if none is named; a node, a recording or a snapshot by versions and by what the lock asks of a
    host. ``env`` is the prefix of the environment to look at, if it is not the lock's.
    """
    lock = project.read_lock(lock_path)
    now = now or datetime.now(UTC)
    if address.partition(":")[0] in IMAGES:
        source = places.source_of(address)
        look = partial(nodes.look, now=now, wanted=wanted)
        beside = lock_path.parent / WHEELHOUSE
        findings = _image(lock, lock_path, source, wheelhouse or beside, look)
    else:
        snapshot = nodes.snapshot_of(address, now=now, wanted=wanted)
        findings = _node(lock, snapshot, env or lock.target.prefix, str(lock_path))
    return Verdict(subject=f"{address} against {lock_path}", findings=tuple(map(_shown, findings)))


def _shown(finding: Finding) -> Finding:
    """Return a finding whose foreign words, names of files above all, move no terminal."""
    return replace(
        finding,
        subject=UNPRINTABLE.sub("?", finding.subject),
        found=UNPRINTABLE.sub("?", finding.found),
    )


def _image(
    lock: Lock, lock_path: Path, source: Source, wheelhouse: Path, look: Callable[[Host], Snapshot]
) -> Iterator[Finding]:
    """Yield what is found in an image, read once from the base upwards."""
    from mxenv.api import (  # noqa: PLC0415 - imported late: images only
        _image_checks,
        _inside,
        _wheel_files,
    )
    from mxenv.stores.description import describe  # noqa: PLC0415 - the same
    from mxenv.stores.unpacked import read  # noqa: PLC0415 - the same
    from mxenv.transports._layers import LayerHost, wanted  # noqa: PLC0415 - the same

    image = describe(source, lock.target.platform)
    brought = _wheel_files.expected(lock, wheelhouse)
    wheels = _wheel_files.wanted(lock, brought)
    asked = wanted(question for probe in nodes.probes() for question in probe.questions)
    files = read(source, image, lambda path: wheels(path) | asked(path))
    stands = _image_checks.standing(lock, image)
    inside = _inside.Inside(files=files, lock=lock, ours=stands.ours)
    whole = tuple(
        _made_again(lock, lock_path, image)
        if lock.built is None
        else _image_checks.recorded(lock.built, image, stands)
    )
    yield from whole
    exact = bool(whole) and all(f.outcome is Outcome.COMPATIBLE for f in whole)
    yield _image_checks.lock_copy(lock, inside)
    host = LayerHost(source=source, description=image, files=files)
    with closing(files.spool):
        yield from _distributions(lock, inside, look(host), exact=exact)
    yield from _wheel_files.check(inside, brought)
    yield from _image_checks.host(lock, image, inside)


def _made_again(lock: Lock, lock_path: Path, image: ImageDescription) -> Iterator[Finding]:
    """Yield whether the image is what lock and base make, if the base can be read."""
    from mxenv.api import _image_checks  # noqa: PLC0415 - imported late: images only
    from mxenv.stores.description import describe  # noqa: PLC0415 - the same

    if lock.base.reference == SCRATCH:
        yield from _image_checks.made_again(lock, image, None)
        return
    place = places.pinned(project.base_of(lock, lock_path), lock.base.digest)
    try:
        base = describe(places.source_of(place), lock.target.platform)
    except (EngineError, InvalidFile) as error:
        yield _image_checks.no_base(lock, str(error))
        return
    yield from _image_checks.made_again(lock, image, base)


def _distributions(
    lock: Lock, inside: Inside, snapshot: Snapshot, *, exact: bool
) -> Iterator[Finding]:
    """Yield what is found of the distributions of an image, the base's among them.

    Where the base's layers cannot be read, its digest speaks for them: it is part of the
    configuration's.
    """
    present = inside.distributions()
    if exact and inside.files.missing:
        yield from _packages.compare(replace(lock, provided=()), replace(present, gap=""))
        return
    if lock.base.reference != SCRATCH:
        present.also(_packages.of_snapshot(snapshot, lock.target.prefix))
    yield from _packages.compare(lock, present)
    for finding in _facts(lock, snapshot, lock.target.prefix):
        # What only a running container tells was true of this very base when it was locked.
        if not exact or finding.outcome is not Outcome.UNKNOWN:
            yield finding


def _node(lock: Lock, snapshot: Snapshot, environment: str, context: str) -> Iterator[Finding]:
    """Yield what is found on a node: versions, and what the lock asks of a host."""
    yield from _packages.compare(lock, _packages.of_snapshot(snapshot, environment))
    yield from _facts(lock, snapshot, environment)
    yield from _hosts.findings(lock, snapshot, context)


def _facts(lock: Lock, snapshot: Snapshot, environment: str) -> Iterator[Finding]:
    """Yield what else of the base the lock relied upon, and is not so."""
    for key, value in lock.facts:
        match snapshot.reading(key, environment if key.startswith("python.") else ""):
            case Observed(found) if str(found) == value:
                outcome, said = Outcome.COMPATIBLE, value
            case Observed(found):
                outcome, said = Outcome.INCOMPATIBLE, str(found)
            case Absent():
                outcome, said = Outcome.INCOMPATIBLE, "absent"
            case Unreadable(reason):
                outcome, said = Outcome.UNKNOWN, reason
        yield Finding(
            code="MX317" if outcome is Outcome.COMPATIBLE else "MX318",
            outcome=outcome,
            subject=key,
            found=said,
            expected=value,
            remedy="" if outcome is Outcome.COMPATIBLE else "take the base that was locked",
        )
