"""Whether what a base provides is what is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.distribution import normalised
from mxenv.lock import MACHINES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packaging.requirements import Requirement

    from mxenv.lock import Provided, Target

KEPT = "what the base provides is never replaced: ask for that version, or take another base"


def unmet(
    requires: Iterable[str], provided: Iterable[Provided], target: Target
) -> Iterator[tuple[int, str, str]]:
    """Yield each requirement that ``provided`` does not meet: its index, what is wrong, a hint."""
    versions = {entry.name: entry.version for entry in provided}
    for index, text, requirement in counting(requires, target):
        name = normalised(requirement.name)
        if name not in versions:
            continue
        there = f"{name} {versions[name]}, which the base provides"
        if not requirement.specifier.contains(versions[name], prereleases=True):
            yield index, f"{text!r} is not met by {there}", KEPT
        elif requirement.extras:
            # Stubs have no extras, so that what they need would be left out without a word.
            hint = "name what the extra needs as requirements of their own"
            yield index, f"{text!r} asks for extras of {there}", hint


def counting(requires: Iterable[str], target: Target) -> Iterator[tuple[int, str, Requirement]]:
    """Yield the requirements whose markers hold on ``target``: index, text, and what it says."""
    from packaging.requirements import Requirement  # noqa: PLC0415 - imported late: only a lock

    environment = dict(marker_environment(target))
    for index, text in enumerate(requires):
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(environment):
            yield index, text, requirement


def marker_environment(target: Target) -> Mapping[str, str]:
    """Return what PEP 508 markers are evaluated against on ``target``."""
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{target.python}.0",
        "os_name": "posix",
        "platform_machine": MACHINES[target.platform],
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{target.python}.0",
        "python_version": target.python,
        "sys_platform": "linux",
        "extra": "",
    }
