"""From what an image wants to exact wheels: make a lock, and say whether one is stale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mxenv import _plugins, staleness
from mxenv import image as images
from mxenv import lock as locks
from mxenv._files import write_atomically
from mxenv.api import _asked_torch, _inventories, _resolving, bases, project
from mxenv.api.project import NO_ACCELERATOR, lock_path, read_image, read_lock
from mxenv.errors import Incompatible
from mxenv.facts import Absent, Fact, Observed, Snapshot, Unreadable, View, observed
from mxenv.lock import WHEELHOUSE, Lock, Relied
from mxenv.provided import unmet
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date
    from pathlib import Path

    from mxenv.api.bases import Ground
    from mxenv.facts import Reading
    from mxenv.image import Image
    from mxenv.lock import Package
    from mxenv.matrix import Matrix
    from mxenv.verdict import Finding, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to lock, beside what the image description says."""

    find_links: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    no_index: bool = False
    offline: bool = False
    upgrade: bool = False
    """True: take the newest versions; else stay with those of the lock that is there."""
    upgrade_packages: tuple[str, ...] = ()
    """Take the newest versions of these; all others stay where that is possible."""
    only_binary: bool = False
    """True: refuse what has no wheel that fits; else build it from source."""
    with_urls: bool = False
    """True: write down where wheels were found; else a lock names no index."""
    seconds: float = 600.0
    resolver: str = "uv"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockResult:
    """A lock that was made."""

    path: Path
    lock: Lock
    changed: bool
    """False if the file was like that already."""
    verdict: Verdict | None
    """What the matrix says of the whole set; `None` for an image without an accelerator."""
    notes: tuple[str, ...] = ()


def lock(  # noqa: PLR0913 - what a lock depends on, each of it a choice of the user
    image_toml: Path,
    *,
    out: Path | None = None,
    snapshot: Path | None = None,
    matrix: Matrix,
    today: date,
    options: Options | None = None,
) -> LockResult:
    """Resolve ``image_toml`` and write its lock; what cannot go together is not written."""
    options = options or Options()
    image, hashes = read_image(image_toml)
    inventories = _inventories.kept(image, image_toml)
    path = lock_path(image_toml, out)
    before = project.existing_lock(path)
    lost = (f"{path} was damaged, and counts for nothing",) if path.exists() and not before else ()
    ground = _ground(
        image, hashes, image_toml, beside=path.parent, before=before, snapshot=snapshot
    )
    settled = _resolving.settle(
        image,
        ground,
        before,
        image_toml=image_toml,
        house=path.parent / WHEELHOUSE,
        root=project.root_of(image_toml),
        options=options,
    )
    made = replace(_lock(image, hashes, ground, settled.packages), inventories=inventories)
    made = _asked_torch.kept(image, image_toml, made)
    if not options.with_urls:
        made = locks.without_urls(made)
    made, verdict = _judged(made, image_toml, matrix, today)
    if before is not None and locks.without_image(made) == locks.without_image(before):
        made = replace(made, built=before.built, recipe=before.recipe)
    bases.keep(ground, path.parent)
    changed = _write(path, locks.render(made))
    return LockResult(
        path=path,
        lock=made,
        changed=changed,
        verdict=verdict,
        notes=(*lost, *ground.notes, *settled.notes, *_unknown(verdict), *_not_asked(made)),
    )


def _not_asked(made: Lock) -> tuple[str, ...]:
    """Say what a gate will not know of the models."""
    if made.torch is not None or not any(one.uses for one in made.inventories):
        return ()
    asked = "name what the torch of the image was asked, as operators"
    return (f"nothing says whether the image can run the operators of its models: {asked}",)


def _judged(
    made: Lock, image_toml: Path, matrix: Matrix, today: date
) -> tuple[Lock, Verdict | None]:
    """Return the lock with the rows that it relies on, and the verdict; refuse a wrong set."""
    if made.accelerator == NO_ACCELERATOR:
        return made, None
    verdict = _judge(made, matrix, datetime.now(tz=UTC), today)
    _refuse(verdict, image_toml)
    return replace(made, relied=_relied(verdict)), verdict


def _ground(  # noqa: PLR0913 - what a base is known from
    image: Image,
    hashes: Mapping[str, str],
    image_toml: Path,
    *,
    beside: Path,
    before: Lock | None,
    snapshot: Path | None,
) -> Ground:
    """Return what the image stands on, which must have what is asked of it."""
    try:
        ground = bases.stand(
            image,
            snapshot=snapshot,
            root=project.root_of(image_toml),
            now=datetime.now(tz=UTC),
            beside=beside,
            before=before,
            hashes=hashes,
        )
    except Incompatible as error:
        raise Incompatible(error.message, context=str(image_toml), hint=error.hint) from None
    _check_vendor(image, ground, image_toml)
    for index, message, hint in unmet(image.requires, ground.provided, ground.target):
        raise Incompatible(message, context=f"{image_toml}: python.requires[{index}]", hint=hint)
    return ground


def stale(image_toml: Path, lock: Path) -> tuple[str, ...]:
    """Say why ``lock`` is not what ``image_toml`` asks for; nothing if it is."""
    image, hashes = read_image(image_toml)
    if not lock.exists():
        return (f"{lock} is missing",)
    there = read_lock(lock)
    return (
        *staleness.reasons(image, hashes, there),
        *_inventories.changed(image, image_toml, there),
        *_asked_torch.changed(image, image_toml, there),
        *bases.lacking(there, lock),
    )


def snapshot_of(lock: Lock, *, taken_at: datetime) -> Snapshot:
    """Return what an image made from ``lock`` will hold, as far as the lock says."""
    prefix = lock.target.prefix
    known = [
        ("python.series", prefix, lock.target.python),
        *((k, prefix if k.startswith("python.") else "", value) for k, value in lock.facts),
        *(("python.package", f"{prefix}/{p.name}", p.version) for p in lock.provided),
        *(("python.package", f"{prefix}/{p.name}", p.version) for p in lock.packages),
    ]
    facts = [_fact(lock, key, instance, Observed(value)) for key, instance, value in known]
    if "python.version" not in dict(lock.facts):
        unsaid = Unreadable("the lock names the first two fields only")
        facts.append(_fact(lock, "python.version", prefix, unsaid))
    return Snapshot(node=lock.name, view=View.IMAGE, taken_at=taken_at, facts=tuple(facts))


def _fact(lock: Lock, key: str, instance: str, reading: Reading) -> Fact:
    source = f"pylock.{lock.name}.toml"
    return Fact(key=key, instance=instance, reading=reading, source=source, view=View.IMAGE)


def _lock(
    image: Image, hashes: Mapping[str, str], ground: Ground, packages: tuple[Package, ...]
) -> Lock:
    return Lock(
        name=image.name,
        inputs=images.digest(image, hashes),
        accelerator=image.accelerator,
        base=ground.base,
        target=ground.target,
        packages=packages,
        requires=image.requires,
        bytecode=image.bytecode,
        provided=ground.provided,
        facts=ground.facts,
        variables=image.variables,
        files=tuple((file, hashes[file.source]) for file in image.files),
        models=image.models,
        system=image.system,
        run=image.run,
        host=image.host,
        waivers=image.waivers,
    )


def _check_vendor(image: Image, ground: Ground, image_toml: Path) -> None:
    """Refuse a base that is made for the cards of another vendor, of which no row would tell."""
    vendors = _plugins.names("vendors")
    own = ground.snapshot.of(f"{image.accelerator}.sdk")
    if image.accelerator not in vendors or not all(isinstance(f.reading, Absent) for f in own):
        return
    for name in vendors:
        for fact, version in observed(ground.snapshot.of(f"{name}.sdk")):
            raise Incompatible(
                f"{image.accelerator!r}, and the base has {fact.key} {version} and no "
                f"{image.accelerator}.sdk",
                context=f"{image_toml}: accelerator",
                hint=f"write {name!r} there, or take another base",
            )


def _judge(lock: Lock, matrix: Matrix, now: datetime, today: date) -> Verdict:
    from mxenv import judgement  # noqa: PLC0415 - imported late: not every image needs a judge

    snapshot = snapshot_of(lock, taken_at=now)
    env = lock.target.prefix
    return judgement.judge(snapshot, matrix, env=env, waivers=lock.waivers, today=today)


def _relied(verdict: Verdict) -> Relied:
    rows = {f.row for f in verdict.findings if f.row and f.outcome is Outcome.COMPATIBLE}
    return Relied(matrix=verdict.matrix, rows=tuple(sorted(rows)), outcome=verdict.outcome.word)


def _refuse(verdict: Verdict, image_toml: Path) -> None:
    """Refuse a set that is known not to work: a lock says what does."""
    if verdict.outcome is not Outcome.INCOMPATIBLE:
        return
    bad = [f for f in verdict.findings if f.outcome is Outcome.INCOMPATIBLE and f.waiver is None]
    remedies = dict.fromkeys(finding.remedy for finding in bad if finding.remedy)
    raise Incompatible(
        "; ".join(map(_told, bad)),
        context=str(image_toml),
        hint=" ".join((*remedies, "Or answer for it with [[waivers]] in image.toml.")),
    )


def _unknown(verdict: Verdict | None) -> Iterator[str]:
    """Yield what keeps a set that is written from being known to work."""
    if verdict is None or verdict.outcome is not Outcome.UNKNOWN:
        return
    open_ones = [f for f in verdict.findings if f.counts and f.outcome is Outcome.UNKNOWN]
    for finding in open_ones:
        yield f"not known to work: {_told(finding)}; `mxenv explain {finding.code}` says more"
    if not open_ones:
        yield "not known to work: no row of the matrix is about any of it"


def _told(finding: Finding) -> str:
    return f"{finding.code} {finding.subject}: {finding.found}, expected {finding.expected}"


def _write(path: Path, text: str) -> bool:
    """Write ``text`` unless it is there already; return whether it was not."""
    if path.is_file() and path.read_bytes() == text.encode():
        return False
    write_atomically(path, text)
    return True
