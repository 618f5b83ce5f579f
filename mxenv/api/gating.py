"""What a gate lets through: fresh locks of sets, and nodes, that are known to work."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import declared, judgement
from mxenv.api import (
    _asked_torch,
    _grounds,
    _hosts,
    _inventories,
    _scan,
    _sources,
    _subjects,
    locking,
    matrices,
    nodes,
    project,
)
from mxenv.api._subjects import Pair, Sources
from mxenv.errors import UsageError
from mxenv.grounds import grounded
from mxenv.replacement import published
from mxenv.scene import Surroundings
from mxenv.verdict import Finding, Outcome, Place, Verdict
from mxenv.version import tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date, datetime

    from mxenv.api._grounds import Lines
    from mxenv.facts import Snapshot
    from mxenv.lock import Lock
    from mxenv.matrix import Matrix
    from mxenv.scene import Ground
    from mxenv.verdict import Waiver

NO_ACCELERATOR = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What whoever runs the gate allows; nothing of it comes from what is judged."""

    matrix: Matrix
    today: date
    now: datetime
    waivers: bool = False
    """True if the waivers in the judged locks count; else they are shown as proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Locked:
    """A lock, and in which lines it says what."""

    lock: Lock
    path: Path
    lines: Lines


def gate(paths: Sequence[Path], trust: Trust) -> tuple[Verdict, ...]:
    """Judge all files, snapshots and recordings that ``paths`` name or hold, and them together.

    Finding nothing to judge is an error: a gate that looked at nothing must not be green.
    """
    found = dict.fromkeys(subject for path in paths for subject in _subjects.subjects(path))
    pairs = [subject for subject in found if isinstance(subject, Pair)]
    locked = {pair: _locked(pair.lock) for pair in pairs if pair.lock.exists()}
    seen = {
        path: nodes.snapshot_of(str(path), now=trust.now)
        for path in found
        if isinstance(path, Path)
    }
    verdicts: list[Verdict] = []
    for subject in found:
        if isinstance(subject, Pair):
            verdicts.append(_pair(subject, locked.get(subject), tuple(seen.values()), trust))
        elif isinstance(subject, Path):
            verdicts.append(_node(subject, seen[subject], tuple(locked.values()), trust))
    verdicts += _declared([one for one in found if isinstance(one, Sources)], pairs, trust)
    if not verdicts:
        raise UsageError(
            f"nothing to judge in {', '.join(map(str, paths))}",
            hint=f"name a lock, an image.toml, a snapshot or a recording, or a directory that "
            f"holds {_subjects.IMAGES}, {_subjects.LOCKS}, {_subjects.FILES}",
        )
    verdicts += _rows_proposed([path for path in paths if path.is_dir()])
    return tuple(replace(one, findings=tuple(grounded(one.findings))) for one in verdicts)


def _rows_proposed(folders: Sequence[Path]) -> Iterator[Verdict]:
    """Yield the files of rows that what is judged brings with it: they are shown, and not read."""
    for folder in folders:
        for file in matrices.proposed(folder):
            finding = Finding(
                code="MX408",
                outcome=Outcome.COMPATIBLE,
                subject=file.name,
                found="a file of rows that what is judged brings with it; it was not asked",
                expected="rows that whoever runs the gate names",
                remedy=f"--matrix {shlex.quote(str(file))} lets them count, if that is for you",
            )
            yield Verdict(subject=_scan.shown(file), findings=(finding,))


def _locked(path: Path) -> _Locked:
    return _Locked(lock=project.read_lock(path), path=path, lines=_grounds.lines(path))


def _node(path: Path, snapshot: Snapshot, locked: Sequence[_Locked], trust: Trust) -> Verdict:
    """Judge a node by the matrix, and by what the locks beside it ask of their host."""
    verdict = judgement.judge(snapshot, trust.matrix, today=trust.today)
    findings = list(verdict.findings)
    for one in locked:
        host = [one.lines.of(*_grounds.TOOL, "host", index) for index in range(len(one.lock.host))]
        findings += _hosts.findings(one.lock, snapshot, str(one.path), host)
    return Verdict(subject=str(path), findings=tuple(findings), matrix=verdict.matrix)


def _declared(given: Sequence[Sources], pairs: Sequence[Pair], trust: Trust) -> Iterator[Verdict]:
    """Yield a verdict on each file that asks for something, project by project."""
    for tree in dict.fromkeys(one.tree for one in given):
        reading = _sources.Reading(tree)
        reading.read(path for one in given if one.tree == tree for path in one.files)
        if not any(source.statements for source in reading.sources):
            continue
        near = dict.fromkeys((*_subjects.pairs(tree), *pairs))
        around = Surroundings(
            grounds=tuple(_ground(pair) for pair in near),
            published=published(trust.matrix),
            matrix=trust.matrix,
        )
        judged = declared.judge(reading.sources, reading.links, around)
        for source in reading.sources:
            if source.statements:
                yield Verdict(subject=source.file, findings=judged[source.file])


def _ground(pair: Pair) -> Ground:
    if not pair.lock.exists():
        return _grounds.of_image(project.read_image(pair.image)[0], pair.image)
    one = _locked(pair.lock)
    return _grounds.of_lock(one.lock, one.lines)


def _pair(pair: Pair, locked: _Locked | None, given: Sequence[Snapshot], trust: Trust) -> Verdict:
    if locked is None:
        return Verdict(subject=str(pair.image), findings=(_not_locked(pair),))
    lock = locked.lock
    waivers = lock.waivers if trust.waivers else ()
    of_models = [one for one in waivers if one.code.startswith(_inventories.OWN)]
    snapshot = locking.snapshot_of(lock, taken_at=trust.now)
    if lock.accelerator == NO_ACCELERATOR:
        verdict = Verdict(subject="", findings=tuple(_plain(lock)))
    else:
        rest = [one for one in waivers if one not in of_models]
        verdict = judgement.judge(
            snapshot, trust.matrix, env=lock.target.prefix, waivers=rest, today=trust.today
        )
    models = _inventories.findings(
        lock,
        trust.matrix,
        inside=_asked_torch.asked(lock, pair.lock, snapshot, given),
        waivers=of_models,
        today=trust.today,
        places=_models(locked),
    )
    fresh = replace(_freshness(pair, lock), place=locked.lines.of(*_grounds.TOOL, "inputs"))
    own = (fresh, *(() if trust.waivers else _proposed(lock.waivers, trust.today)))
    placed = _grounds.placed((*own, *verdict.findings, *models), lock, locked.lines)
    return Verdict(subject=str(pair.lock), findings=tuple(placed), matrix=verdict.matrix)


def _models(locked: _Locked) -> Mapping[str, Place]:
    """Return the line of each model that a lock names."""
    names = enumerate(locked.lock.models)
    return {file: locked.lines.of(*_grounds.TOOL, "models", index) for index, file in names}


def _not_locked(pair: Pair) -> Finding:
    return Finding(
        code="MX401",
        outcome=Outcome.INCOMPATIBLE,
        subject=pair.image.parent.name,
        found=f"no {pair.lock}",
        expected="a lock made from this image description",
        remedy=f"mxenv lock {pair.image}",
        place=Place(file=_scan.shown(pair.image)),
    )


def _freshness(pair: Pair, lock: Lock) -> Finding:
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
        expected=f"the lock that {pair.image} gives",
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
            expected='no vendor\'s build: the image says accelerator = "none"',
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
                expected="waivers that whoever runs the gate allows",
                remedy="--allow-waivers lets it count, if that is for you to decide",
            )
