"""What a gate lets through: fresh locks of sets, and nodes, that are known to work."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from mxenv import judgement
from mxenv.api import locking, nodes, project
from mxenv.errors import UsageError
from mxenv.verdict import Finding, Outcome, Verdict
from mxenv.version import tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date, datetime
    from pathlib import Path

    from mxenv.lock import Lock
    from mxenv.matrix import Matrix
    from mxenv.verdict import Waiver

NO_ACCELERATOR = "none"
IMAGES = "images/*/image.toml"
LOCKS = "lockfiles/pylock.*.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A lock and the image description that it should be made from; one may be missing."""

    lock: Path
    image: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What whoever runs the gate allows; nothing of it comes from what is judged."""

    matrix: Matrix
    today: date
    now: datetime
    waivers: bool = False
    """True if the waivers in the judged locks count; else they are shown as proposed."""


def gate(paths: Sequence[Path], trust: Trust) -> tuple[Verdict, ...]:
    """Judge every lock, image description, snapshot and recording that ``paths`` name or hold.

    Finding nothing to judge is an error: a gate that looked at nothing must not be green.
    """
    found = dict.fromkeys(subject for path in paths for subject in _subjects(path))
    if not found:
        raise UsageError(
            f"nothing to judge in {', '.join(map(str, paths))}",
            hint=f"name a lock, an image.toml, a snapshot or a recording, or a directory that "
            f"holds {IMAGES} or {LOCKS}",
        )
    return tuple(
        _pair(subject, trust) if isinstance(subject, _Pair) else _node(subject, trust)
        for subject in found
    )


def _subjects(path: Path) -> Iterator[_Pair | Path]:
    """Yield what ``path`` stands for: pairs of files, or a node's snapshot or recording."""
    if not path.exists():
        raise UsageError(
            "there is no such file or directory",
            context=str(path),
            hint="name a lock, an image.toml, a snapshot, a recording or a directory",
        )
    if (path / "recording.toml").exists() or path.name.endswith(".tar.gz"):
        yield path
    elif path.is_dir():
        yield from _inside(path)
    elif path.suffix == ".json":
        yield path
    elif path.name.startswith("pylock.") and path.suffix == ".toml":
        yield _of_lock(path)
    elif path.suffix == ".toml":
        yield _of_image(path)
    else:
        raise UsageError(
            f"{path} is nothing that a gate judges",
            hint="locks are called pylock.NAME.toml, snapshots NAME.json",
        )


def _inside(folder: Path) -> Iterator[_Pair]:
    # Not `Path.glob`, which passes by a folder that it may not look into, and a link that leads
    # nowhere: what is not seen would be green.
    for path in _listed(folder / IMAGES.partition("/")[0]):
        if path.is_dir():
            yield from (_of_image(file) for file in _listed(path) if file.name == "image.toml")
    for path in _listed(folder / project.LOCKFILES):
        if fnmatch(path.name, LOCKS.rpartition("/")[2]):
            yield _of_lock(path)


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _of_image(path: Path) -> _Pair:
    return _Pair(lock=project.lock_path(path), image=path)


def _of_lock(path: Path) -> _Pair:
    name = path.name.removeprefix("pylock.").removesuffix(".toml")
    return _Pair(lock=path, image=path.parent.parent / "images" / name / "image.toml")


def _node(path: Path, trust: Trust) -> Verdict:
    snapshot = nodes.snapshot_of(str(path), now=trust.now)
    verdict = judgement.judge(snapshot, trust.matrix, today=trust.today)
    return Verdict(subject=str(path), findings=verdict.findings, matrix=verdict.matrix)


def _pair(pair: _Pair, trust: Trust) -> Verdict:
    if not pair.lock.exists():
        return Verdict(subject=str(pair.image), findings=(_not_locked(pair),))
    lock = project.read_lock(pair.lock)
    if lock.accelerator == NO_ACCELERATOR:
        verdict = Verdict(subject="", findings=tuple(_plain(lock)))
    else:
        waivers = lock.waivers if trust.waivers else ()
        snapshot = locking.snapshot_of(lock, taken_at=trust.now)
        verdict = judgement.judge(
            snapshot, trust.matrix, env=lock.target.prefix, waivers=waivers, today=trust.today
        )
    own = (_freshness(pair, lock), *(() if trust.waivers else _proposed(lock.waivers, trust.today)))
    return Verdict(
        subject=str(pair.lock), findings=(*own, *verdict.findings), matrix=verdict.matrix
    )


def _not_locked(pair: _Pair) -> Finding:
    return Finding(
        code="MX401",
        outcome=Outcome.INCOMPATIBLE,
        subject=pair.image.parent.name,
        found=f"no {pair.lock}",
        expected="a lock made from this image description",
        remedy=f"mxenv lock {pair.image}",
    )


def _freshness(pair: _Pair, lock: Lock) -> Finding:
    if not pair.image.exists():
        return Finding(
            code="MX404",
            outcome=Outcome.UNKNOWN,
            subject=pair.lock.name,
            found=f"no {pair.image}",
            expected="the image description that the lock was made from",
            remedy="Keep images/NAME/image.toml and lockfiles/pylock.NAME.toml in one project.",
        )
    reasons = locking.stale(pair.image, pair.lock)
    wanted = project.read_image(pair.image)[0].accelerator
    if not reasons and wanted != lock.accelerator:
        # Edited by hand, so that no matrix would be asked.
        reasons = (f"accelerator is {wanted!r} there and {lock.accelerator!r} in the lock",)
    if reasons:
        return Finding(
            code="MX402",
            outcome=Outcome.INCOMPATIBLE,
            subject=pair.lock.name,
            found="; ".join(reasons),
            expected=f"the lock that {pair.image} gives",
            remedy=f"mxenv lock {pair.image}",
        )
    return Finding(
        code="MX403",
        outcome=Outcome.COMPATIBLE,
        subject=pair.lock.name,
        found=f"made from {pair.image} as it is",
    )


def _plain(lock: Lock) -> Iterator[Finding]:
    """Yield what is wrong with an image that should hold nothing for an accelerator."""
    held = [(package.name, package.version) for package in lock.packages]
    held += [(provided.name, provided.version) for provided in lock.provided]
    built = [(name, version) for name, version in held if tag(version)]
    for name, version in built:
        yield Finding(
            code="MX405",
            outcome=Outcome.INCOMPATIBLE,
            subject=name,
            found=f"{name} {version}, a vendor's build",
            expected='no vendor\'s build: the image says accelerator = "none"',
            remedy="Name the accelerator in image.toml, or take the public build.",
        )
    generic = {key.name for probe in nodes.own_probes() for key in probe.keys}
    facts = [(key, value) for key, value in lock.facts if key not in generic]
    for key, value in facts:
        yield Finding(
            code="MX405",
            outcome=Outcome.INCOMPATIBLE,
            subject=key,
            found=f"the base has {key} {value}",
            expected='a base without a vendor\'s stack: the image says accelerator = "none"',
            remedy="Name the accelerator in image.toml, or take another base.",
        )
    if not built and not facts:
        yield Finding(
            code="MX406",
            outcome=Outcome.COMPATIBLE,
            subject=lock.name,
            found=f"{len(held)} packages, none of them a vendor's build",
        )


def _proposed(waivers: Sequence[Waiver], today: date) -> Iterator[Finding]:
    """Yield the waivers that what is judged brings with it; one that expired fails all the same."""
    alone = judgement.waive((), waivers, today)
    yield from (finding for finding in alone if finding.outcome is Outcome.INCOMPATIBLE)
    for waiver in waivers:
        if waiver.holds(today):
            yield Finding(
                code="MX407",
                outcome=Outcome.COMPATIBLE,
                subject=f"{waiver.code} {waiver.subject}".rstrip(),
                found=f"{waiver.owner} until {waiver.expires.isoformat()}: {waiver.reason}",
                remedy="--allow-waivers lets it count, if that is for you to decide",
            )
