"""What an image description says otherwise than the lock that was made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv import image as images
from mxenv.distribution import normalised
from mxenv.lock import UNRESOLVED
from mxenv.provided import counting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.image import AddedFile, Image
    from mxenv.lock import Lock
    from mxenv.verdict import Waiver


def reasons(image: Image, hashes: Mapping[str, str], lock: Lock) -> tuple[str, ...]:
    """Return why ``lock`` is not what ``image`` asks for, with the SHA-256 of its files.

    The digest of the inputs alone would not do: whoever edits a lock by hand leaves it as it is.
    """
    found = (*_values(image, lock), *_lists(image, hashes, lock), *_unmet(image, lock))
    if lock.inputs == UNRESOLVED:
        return (*found, "two locks were merged into it, and the whole was not resolved since")
    if found or lock.inputs == images.digest(image, hashes):
        return found
    return ("the lock was made from another image description",)


def _values(image: Image, lock: Lock) -> Iterator[str]:
    for name, now, then in (
        ("name", image.name, lock.name),
        ("base", image.base, lock.base.reference),
        ("accelerator", image.accelerator, lock.accelerator),
        ("platform", image.platform, lock.target.platform),
        ("python.version", image.python or lock.target.python, lock.target.python),
        ("python.bytecode", image.bytecode, lock.bytecode),
        ("operators", image.operators, lock.torch.file if lock.torch else ""),
        ("python.environment", image.environment or lock.target.prefix, lock.target.prefix),
    ):
        if now != then:
            yield f"{name} is {now!r}, and was {then!r} when the lock was made"


def _lists(image: Image, hashes: Mapping[str, str], lock: Lock) -> Iterator[str]:
    for name, now, then in (
        ("python.requires", image.requires, lock.requires),
        ("system.packages", image.system, lock.system),
        ("run", image.run, lock.run),
        ("models", image.models, lock.models),
        ("host.requires", image.host, lock.host),
        ("variables", _pairs(image.variables), _pairs(lock.variables)),
        ("files", tuple(_file(f, hashes[f.source]) for f in image.files), _files(lock)),
        ("waivers", _waivers(image.waivers), _waivers(lock.waivers)),
    ):
        if now == then:
            continue
        more = ", ".join(entry for entry in now if entry not in then)
        less = ", ".join(entry for entry in then if entry not in now)
        parts = (more and f"now has {more}", less and f"no longer has {less}")
        yield f"{name} {' and '.join(filter(None, parts)) or 'has another order'}"


def _unmet(image: Image, lock: Lock) -> Iterator[str]:
    """Yield the requirements that nothing in the lock meets: somebody took it out."""
    versions = {entry.name: entry.version for entry in lock.provided}
    versions |= {package.name: package.version for package in lock.packages}
    kept = (text for text in image.requires if text in lock.requires)
    for _, text, requirement in counting(kept, lock.target):
        version = versions.get(normalised(requirement.name), "")
        if not version or not requirement.specifier.contains(version, prereleases=True):
            yield f"python.requires has {text!r}, and the lock {version or 'nothing'} for it"


def _pairs(pairs: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in pairs)


def _files(lock: Lock) -> tuple[str, ...]:
    return tuple(_file(file, sha256) for file, sha256 in lock.files)


def _file(file: AddedFile, sha256: str) -> str:
    return f"{file.source} as {file.target} (mode {file.mode:o}, sha256 {sha256[:12]})"


def _waivers(waivers: tuple[Waiver, ...]) -> tuple[str, ...]:
    return tuple(
        f"{w.code} {w.subject} (until {w.expires}, {w.owner}: {w.reason})" for w in waivers
    )
