"""What a project's locks and image descriptions say of its images, and in which lines."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mxenv import _files, toml_strings
from mxenv.api import _scan, project
from mxenv.scene import Ground
from mxenv.verdict import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mxenv.image import Image
    from mxenv.lock import Lock
    from mxenv.toml_strings import Path as Within
    from mxenv.verdict import Finding

TOOL = ("tool", "mxenv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """In which lines a lock says what."""

    file: str
    strings: Mapping[Within, int]
    order: tuple[str, ...]
    """The names of the packages, as the file has them."""

    def of(self, *path: str | int) -> Place:
        """Return the place of one string; the file's first line if it is not there."""
        return Place(file=self.file, line=self.strings.get(path, 1))

    def held(self, lock: Lock) -> dict[str, tuple[str, Place]]:
        """Return every distribution that is in the image, with its version and its line."""
        numbers = {name: index for index, name in enumerate(self.order)}
        added = {
            package.name: (package.version, self.of("packages", numbers[package.name], "version"))
            for package in lock.packages
        }
        return added | {
            entry.name: (entry.version, self.of(*TOOL, "provided", entry.name))
            for entry in lock.provided
        }


def lines(path: Path) -> Lines:
    """Return where the lock at ``path``, which is known to be one, says what."""
    text = _files.read(path, limit=project.LARGEST).decode()
    order = tuple(package["name"] for package in tomllib.loads(text)["packages"])
    return Lines(file=_scan.shown(path), strings=toml_strings.lines(text), order=order)


def of_lock(lock: Lock, where: Lines) -> Ground:
    """Return what a lock says of the image that it stands for."""
    name = lock.base.reference.partition("@")[0]
    return Ground(
        reference=f"{name}@{lock.base.digest}" if lock.base.digest else name,
        accelerator=lock.accelerator,
        place=where.of(*TOOL, "base", "reference"),
        held=where.held(lock),
    )


def of_image(image: Image, path: Path) -> Ground:
    """Return what an image description says that has no lock."""
    return Ground(
        reference=image.base,
        accelerator=image.accelerator,
        place=Place(file=_scan.shown(path)),
        held={},
        known=False,
    )


def placed(findings: Iterable[Finding], lock: Lock, where: Lines) -> Iterator[Finding]:
    """Yield findings about a lock, each with the line that it is about, if one is."""
    held = where.held(lock)
    waivers = {
        f"{waiver.code} {waiver.subject}".rstrip(): where.of(*TOOL, "waivers", index, "code")
        for index, waiver in enumerate(lock.waivers)
    }
    facts = {key: where.of(*TOOL, "facts", key) for key, _ in lock.facts}
    for finding in findings:
        first = finding.subject.partition(", ")[0]
        place = waivers.get(finding.subject) or facts.get(finding.subject)
        if first in held:
            place = held[first][1]
        yield replace(finding, place=finding.place or place)
