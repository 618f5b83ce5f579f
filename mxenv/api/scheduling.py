"""Whether an image will run on a node, asked of neither: before it is scheduled there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv import injection
from mxenv import lock as locks
from mxenv.api import _carried, _hosts, nodes, project, verifying
from mxenv.configuration import digest
from mxenv.errors import UsageError
from mxenv.lock import MACHINES
from mxenv.stores import places
from mxenv.verdict import Finding, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from mxenv.api.verifying import Opened
    from mxenv.facts import Snapshot
    from mxenv.lock import Lock

LIBC = "libc.version"


def before(
    lock_path: Path | None,
    address: str,
    on: Sequence[str],
    *,
    now: datetime,
    keys: Sequence[Path] = (),
) -> tuple[Verdict, ...]:
    """Return whether the image at ``address`` fits each node in ``on``, by their snapshots.

    No layer is read; and nothing is asked of a registry at all where the address names the very
    manifest that the lock records, and no key has to be looked for.
    """
    if not verifying.is_image(address):
        raise UsageError(f"{address!r} is no image", hint="name it with --on image:REF or oci:DIR")
    lock = project.read_lock(lock_path) if lock_path is not None else None
    own: tuple[Finding, ...]
    if lock is not None and not keys and _is_recorded(lock, address):
        place, own = (
            str(lock_path),
            (_named(lock, "its manifest is the one that the lock records"),),
        )
    else:
        this = verifying.opened(lock_path, address, keys)
        lock, place, own = this.lock, this.place, tuple(_whole(this))
    return tuple(_verdict(lock, address, place, own, nodes.snapshot_of(one, now=now)) for one in on)


def _verdict(
    lock: Lock, address: str, place: str, own: tuple[Finding, ...], snapshot: Snapshot
) -> Verdict:
    found = (*own, *_on(lock, snapshot, place))
    return Verdict(
        subject=f"{address} on {snapshot.node}", findings=tuple(map(verifying.shown, found))
    )


def _is_recorded(lock: Lock, address: str) -> bool:
    return lock.built is not None and places.parts(address)[1].endswith(f"@{lock.built.manifest}")


def _whole(this: Opened) -> Iterator[Finding]:
    """Yield whether the image is the lock's, as far as that is told without its layers."""
    from mxenv.api import _image_checks  # noqa: PLC0415 - imported late: not of recorded images

    if this.lock.built is not None:
        stands = _image_checks.standing(this.lock, this.image)
        yield from _image_checks.recorded(this.lock.built, this.image, stands)
    yield _of_label(this)
    yield from this.vouched()
    if this.keys:
        yield from this.attested()


def _of_label(this: Opened) -> Finding:
    said = _carried.labels(this.image).get(_carried.DIGEST, "")
    text = locks.render(locks.without_image(this.lock)).encode()
    if this.lock_path is None or said == digest(text):
        return _named(this.lock, f"it names the lock {said}")
    return replace(
        _named(this.lock, f"it names the lock {said or 'nowhere'}"),
        outcome=Outcome.INCOMPATIBLE,
        expected=digest(text),
        remedy="name the lock that the image was built from",
    )


def _named(lock: Lock, found: str) -> Finding:
    return Finding(code="MX335", outcome=Outcome.COMPATIBLE, subject=lock.name, found=found)


def _on(lock: Lock, snapshot: Snapshot, place: str) -> Iterator[Finding]:
    """Yield what is found of one node."""
    yield injection.machine(snapshot, MACHINES[lock.target.platform])
    yield from _hosts.findings(lock, snapshot, place)
    if lock.accelerator != project.NO_ACCELERATOR:
        provided = lock.target.libc or dict(lock.facts).get(LIBC, "")
        yield injection.finding(snapshot, provided)
