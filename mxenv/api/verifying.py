"""Compare an image, a node, or what was recorded of one, with the lock it should be made from."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import lock as locks
from mxenv.api import (
    _attached,
    _attested,
    _carried,
    _hosts,
    _packages,
    nodes,
    project,
    signing,
)
from mxenv.configuration import digest
from mxenv.errors import EngineError, InvalidFile, UsageError
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.frozen import frozen
from mxenv.image import SCRATCH
from mxenv.lock import WHEELHOUSE
from mxenv.redaction import UNPRINTABLE
from mxenv.stores import places
from mxenv.stores.description import describe
from mxenv.verdict import Finding, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mxenv.api._attached import Attachments
    from mxenv.api._attested import Signed
    from mxenv.api._image_checks import Standing
    from mxenv.api._inside import Inside
    from mxenv.api.signing import Verifier
    from mxenv.facts import Snapshot
    from mxenv.lock import Lock
    from mxenv.probe import Host
    from mxenv.stores import ImageDescription, Source


def verify(  # noqa: PLR0913 - each says something else of what is compared
    lock_path: Path | None,
    address: str,
    *,
    now: datetime | None = None,
    wheelhouse: Path | None = None,
    env: str | None = None,
    wanted: nodes.Wanted = nodes.USUAL,
    keys: Sequence[Path] = (),
) -> Verdict:
    """Return what differs between a lock and what lies at ``address``.

    An image is compared file by file with the wheels in ``wheelhouse``, which is that of the lock
    if none is named; a node, a recording or a snapshot by versions and by what the lock asks of a
    host. ``env`` is the prefix of the environment to look at, if it is not the lock's. An image may
    bring its lock itself, and has to be signed by one of ``keys`` if there are any.
    """
    now = now or datetime.now(UTC)
    if is_image(address):
        look = partial(nodes.look, now=now, wanted=wanted)
        findings = _image(opened(lock_path, address, keys), wheelhouse, look)
    elif keys:
        raise UsageError("only images are signed", hint="leave --key out, or name an image")
    elif lock_path is None:
        raise UsageError("no lock is named", hint="only an image may carry its own")
    else:
        snapshot = nodes.snapshot_of(address, now=now, wanted=wanted)
        lock = project.read_lock(lock_path)
        findings = _node(lock, snapshot, env or lock.target.prefix, str(lock_path))
    against = lock_path or "the lock that it carries"
    return Verdict(subject=f"{address} against {against}", findings=tuple(map(shown, findings)))


def is_image(address: str) -> bool:
    """Return whether an image lies there, whose layers can be read: no node."""
    return address.partition(":")[0] in {*places.FILES, places.IMAGE}


@frozen
class Opened:
    """An image, the lock that it is held against, and what goes with it; no layer was read."""

    source: Source
    image: ImageDescription
    lock: Lock
    lock_path: Path | None
    """Nothing if the image brought the lock."""
    attached: Attachments
    keys: tuple[Verifier, ...]
    signed: Signed

    @property
    def place(self) -> str:
        """Return where the lock is, for people."""
        return str(self.lock_path or f"{self.source.name}: lock")

    def vouched(self) -> Iterator[Finding]:
        """Say so if nobody but the image itself says what should be in it."""
        if self.lock_path is None and not self.keys:
            yield Finding(
                code="MX354",
                outcome=Outcome.UNKNOWN,
                subject=self.lock.name,
                found="the lock is the image's own, and no key was named",
                expected="a lock, or a key, that you know",
                remedy="name LOCK, or --key PUB",
                advice=True,
            )

    def attested(self) -> Iterator[Finding]:
        """Yield what is found of all that goes with the image."""
        text = locks.render(locks.without_image(self.lock)).encode()
        image = _attested.Image(
            source=self.source,
            digest=self.image.manifest.digest,
            lock=self.lock,
            lock_digest=_carried.labels(self.image).get(_carried.DIGEST) or digest(text),
        )
        return _attested.findings(image, self.attached, self.keys, self.signed)


def opened(lock_path: Path | None, address: str, keys: Sequence[Path]) -> Opened:
    """Open an image, and its lock if none is named; read what goes with it, and who signed it."""
    known = tuple(map(signing.verifier, keys))
    lock = project.read_lock(lock_path) if lock_path is not None else None
    source = places.source_of(address)
    image = describe(source, lock.target.platform if lock is not None else "")
    manifest = image.manifest.digest
    attached = _attached.read(source, manifest, [key.key for key in known])
    return Opened(
        source=source,
        image=image,
        lock=lock or _carried.lock(source, image, attached),
        lock_path=lock_path,
        attached=attached,
        keys=known,
        signed=_attested.signatures(manifest, attached, known),
    )


def shown(finding: Finding) -> Finding:
    """Return a finding whose foreign words, names of files above all, move no terminal."""
    return replace(
        finding,
        subject=UNPRINTABLE.sub("?", finding.subject),
        found=UNPRINTABLE.sub("?", finding.found),
    )


def _image(
    this: Opened, wheelhouse: Path | None, look: Callable[[Host], Snapshot]
) -> Iterator[Finding]:
    """Yield what is found in an image, read once from the base upwards."""
    from mxenv.api import (  # noqa: PLC0415 - imported late: images only
        _image_checks,
        _inside,
        _wheel_files,
    )
    from mxenv.stores.unpacked import read  # noqa: PLC0415 - the same
    from mxenv.transports._layers import LayerHost, wanted  # noqa: PLC0415 - the same

    lock, image, source = this.lock, this.image, this.source
    brought = _wheel_files.expected(lock, _wheelhouse(this, wheelhouse))
    wheels = _wheel_files.wanted(lock, brought)
    asked = wanted(question for probe in nodes.probes() for question in probe.questions)
    files = read(source, image, lambda path: wheels(path) | asked(path))
    stands = _image_checks.standing(lock, image, signed=bool(this.signed.by))
    inside = _inside.Inside(files=files, lock=lock, ours=stands.ours)
    whole = tuple(_whole(this, stands))
    yield from whole
    exact = stands.exact or (bool(whole) and all(f.outcome is Outcome.COMPATIBLE for f in whole))
    yield _image_checks.lock_copy(lock, inside)
    host = LayerHost(source=source, description=image, files=files)
    with closing(files.spool):
        yield from _distributions(lock, inside, look(host), exact=exact)
    yield from _wheel_files.check(inside, brought)
    yield from _image_checks.host(lock, image, inside)
    yield from this.attested()
    yield from this.vouched()


def _whole(this: Opened, stands: Standing) -> Iterator[Finding]:
    """Yield whether the image as a whole is the lock's: by its digests, or by who signed it."""
    from mxenv.api import _image_checks  # noqa: PLC0415 - imported late: images only

    if this.lock.needs_engine:
        if not this.signed.by:
            yield _image_checks.by_engine(this.lock, this.image)
    elif this.lock.built is not None:
        yield from _image_checks.recorded(this.lock.built, this.image, stands)
    elif this.lock_path is None and this.lock.base.reference != SCRATCH and not this.signed.by:
        # Whoever made the image chose what its lock names: no host, no path is asked for that.
        reason = "the lock is the image's own, and nobody you know signed it: it was not asked for"
        yield _image_checks.no_base(this.lock, reason)
    elif not this.signed.by:
        path = this.lock_path or Path(f"pylock.{this.lock.name}.toml")
        yield from _made_again(this.lock, path, this.image)


def _wheelhouse(this: Opened, named: Path | None) -> Path:
    if named is not None:
        return named
    return (this.lock_path or Path()).parent / WHEELHOUSE


def _made_again(lock: Lock, lock_path: Path, image: ImageDescription) -> Iterator[Finding]:
    """Yield whether the image is what lock and base make, if the base can be read."""
    from mxenv.api import _image_checks  # noqa: PLC0415 - imported late: images only

    if lock.base.reference == SCRATCH:
        yield from _image_checks.made_again(lock, image, None)
        return
    try:
        base = _base(lock, lock_path)
    except (EngineError, InvalidFile) as error:
        yield _image_checks.no_base(lock, str(error))
        return
    yield from _image_checks.made_again(lock, image, base)


def _base(lock: Lock, lock_path: Path) -> ImageDescription:
    """Return what the base says of itself: by its record beside the lock, or else it is asked."""
    if lock.base.listing:
        from mxenv.api import _base_records, _listed  # noqa: PLC0415 - imported late: images only

        record = _base_records.locked(lock, lock_path)
        return _listed.description_of(record, lock.base.reference)
    from mxenv.stores.description import describe  # noqa: PLC0415 - the same

    place = places.pinned(project.base_of(lock, lock_path), lock.base.digest)
    return describe(places.source_of(place), lock.target.platform)


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
