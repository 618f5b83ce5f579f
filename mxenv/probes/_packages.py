"""What is said of each installed distribution, and of how they get in one another's way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv import version
from mxenv.facts import Absent, Fact, FactKey, Observed, Unreadable
from mxenv.probes import _importing, _origins
from mxenv.probes._importing import Path, path_of
from mxenv.question import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from mxenv.facts import Reading
    from mxenv.probes._distributions import Distribution
    from mxenv.probes._environment import Environment
    from mxenv.probes._found import Disk
    from mxenv.question import Question

    _Look = Callable[[Path, Disk], Mapping[str, tuple[str, ...] | Unreadable]]

DIGEST = re.compile(r"[0-9a-f]{64}")
ALTERED = "python.package.altered"
SITES = "PREFIX/lib/python3*/*-packages"


def _key(name: str, meaning: str, sources: str, *, node_only: bool = False) -> FactKey:
    return FactKey(
        name=f"python.package{name}",
        meaning=meaning,
        instance="env/name",
        sources=f"{SITES}: {sources}",
        node_only=node_only,
    )


KEYS = (
    _key("", "the version of an installed distribution, as its metadata has it", "METADATA"),
    _key(".vendor", "whose build of it this is, by the build tag of its version", "METADATA"),
    _key(".sdk", "the SDK that it was built with, by the build tag of its version", "METADATA"),
    _key(".torch", "the line of torch that it was built for, by the same tag", "METADATA"),
    _key(
        ".origin",
        "where it came from: index, url, archive, directory, editable, vcs, conda, system, mxenv",
        "direct_url.json, INSTALLER, conda-meta, /var/lib/dpkg/info",
    ),
    _key(
        ".record",
        "the SHA-256 of the list of its files, which has a digest of each",
        "RECORD",
        node_only=True,
    ),
    _key(
        ".altered",
        "its files that are missing or no longer what was installed; asked for by --deep only",
        "RECORD, and each file in it",
    ),
    _key(".copies", "the metadata of all its copies on one path, the first one first", "METADATA"),
    _key(
        ".shadowed",
        "what would be imported from elsewhere instead of it",
        "RECORD, top_level.txt, *.pth, pyvenv.cfg, PYTHONPATH, ~/.local",
    ),
)


def further(disk: Disk, *, deep: bool) -> Iterator[Question]:
    """Yield what to ask now that it is known where distributions lie."""
    for directory in disk.names:
        if disk.unsigned(directory):
            for distribution in disk.answers.each(disk.at(directory)):
                yield from _origins.questions(distribution, disk.answers)
    for environment in disk.environments.values():
        path = path_of(environment, disk)
        if len(path.entries) > 1:
            yield from _importing.questions(path, disk)
    if deep:
        yield from _deep(disk)


def _deep(disk: Disk) -> Iterator[Question]:
    from mxenv.probes import _altered  # noqa: PLC0415 - imported late: seldom asked for

    everything = [d for env in disk.environments.values() for d in disk.visible(env)]
    yield from map(_altered.record, everything)
    for lines in _altered.chosen(everything, disk.answers).values():
        yield from (line.question for line in lines)


def facts(disk: Disk, met: Collection[str], *, deep: bool) -> Iterator[Fact]:
    """Yield what is known of the distributions of every environment.

    Those of ``met`` were met only through what passes.
    """
    for prefix in sorted(disk.environments):
        environment = disk.environments[prefix]
        volatile = prefix in met
        visible = disk.visible(environment)
        for distribution in disk.answers.each(visible):
            instance = f"{prefix}/{distribution.name}"
            for key, reading, source in _one(distribution, disk):
                yield Fact(
                    key=key, instance=instance, reading=reading, source=source, volatile=volatile
                )
        if visible:
            yield from _path(environment, disk, volatile=volatile)
    if deep:
        yield from _altered_files(disk, met)


def _altered_files(disk: Disk, met: Collection[str]) -> Iterator[Fact]:
    from mxenv.probes import _altered  # noqa: PLC0415 - imported late: seldom asked for

    everything = [d for env in disk.environments.values() for d in disk.visible(env)]
    chosen = _altered.chosen(everything, disk.answers)
    for distribution in disk.answers.each(everything):
        for reading in _altered.altered(distribution, chosen, disk.answers):
            yield Fact(
                key=ALTERED,
                instance=f"{distribution.prefix}/{distribution.name}",
                reading=reading,
                source=f"{distribution.folder}/RECORD",
                volatile=distribution.prefix in met,
            )


def _one(distribution: Distribution, disk: Disk) -> Iterator[tuple[str, Reading, str]]:
    reading, path, folder = distribution.version, distribution.path, distribution.folder
    yield "python.package", reading, path
    if isinstance(reading, Unreadable):
        for part in ("vendor", "sdk", "torch"):
            yield f"python.package.{part}", reading, path
    tag = version.tag(str(reading.value)) if isinstance(reading, Observed) else None
    if tag is not None:
        yield "python.package.vendor", Observed(tag.vendor), path
        if tag.sdk:
            yield "python.package.sdk", Observed(tag.sdk), path
        if tag.torch:
            yield "python.package.torch", Observed(tag.torch), path
    yield "python.package.origin", _origins.origin(distribution, disk), folder
    yield "python.package.record", _record(distribution), f"{folder}/RECORD"


def _record(distribution: Distribution) -> Reading:
    answer = distribution.record
    if not isinstance(answer, Found):
        return answer
    digest = answer.value.partition("\n")[0]
    known = DIGEST.fullmatch(digest)
    return Observed(digest) if known else Unreadable("no digest of it was given")


def _path(environment: Environment, disk: Disk, *, volatile: bool) -> Iterator[Fact]:
    """Yield which distributions are there twice, and which are hidden by something else."""
    path = path_of(environment, disk)
    kept = path.lasting()
    looks: tuple[tuple[str, _Look], ...]
    looks = (("copies", _importing.copies), ("shadowed", _shadowed))
    for key, look in looks:
        usual = look(kept, disk)
        yield from _found(key, environment, usual, kept, volatile=volatile)
        if len(path.entries) != len(kept.entries):
            asked = {
                name: value for name, value in look(path, disk).items() if value != usual.get(name)
            }
            yield from _found(key, environment, asked, None, volatile=True)


def _found(
    key: str,
    environment: Environment,
    values: Mapping[str, tuple[str, ...] | Unreadable],
    path: Path | None,
    *,
    volatile: bool,
) -> Iterator[Fact]:
    env, name = environment.prefix, f"python.package.{key}"
    source = "sys.path" if path else "PYTHONPATH, ~/.local"

    def fact(instance: str, reading: Reading) -> Fact:
        return Fact(key=name, instance=instance, reading=reading, source=source, volatile=volatile)

    for package, value in values.items():
        reading = value if isinstance(value, Unreadable) else Observed(value)
        yield fact(f"{env}/{package}", reading)
    if path is not None:
        if path.reasons:
            reasons = "; ".join(dict.fromkeys(reason.reason for reason in path.reasons))
            passing = any(reason.passing for reason in path.reasons)
            yield fact(env, Unreadable(reasons, passing=passing))
        elif not values:
            yield fact(env, Absent())


def _shadowed(path: Path, disk: Disk) -> dict[str, tuple[str, ...] | Unreadable]:
    seen: dict[str, dict[str, str]] = {}
    unknown: dict[str, Unreadable] = {}
    for found in _importing.hidden(path, disk):
        name = found.distribution.name
        counts = _importing.counts(found, disk.answers)
        if isinstance(counts, Unreadable):
            unknown.setdefault(name, counts)
        elif counts:
            seen.setdefault(name, {}).setdefault(found.name, found.instead)
    values: dict[str, tuple[str, ...] | Unreadable] = {
        name: tuple(f"{module} from {place}" for module, place in sorted(modules.items()))
        for name, modules in seen.items()
    }
    return {**unknown, **values}
