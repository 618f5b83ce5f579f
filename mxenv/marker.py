"""Whether requirements with PEP 508 markers can count at once, on Linux."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.version import InvalidVersion

from mxenv.lock import MACHINES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
"""The interpreters that are asked for."""


@lru_cache(maxsize=1024)
def together(*markers: str) -> bool:
    """Tell whether some environment meets all ``markers``; an empty one is always met."""
    return any(all(_holds(marker, env) for marker in markers) for env in _environments())


def systems(markers: Iterable[str]) -> Iterator[frozenset[str]]:
    """Yield which of ``markers`` hold at once, for each kind of system on which others do."""
    given = tuple(dict.fromkeys(markers))
    seen = (frozenset(one for one in given if _holds(one, env)) for env in _environments())
    yield from dict.fromkeys(seen)


def sound(marker: str) -> bool:
    """Tell whether ``marker`` is one."""
    try:
        Marker(marker)
    except InvalidMarker:
        return False
    return True


def _holds(marker: str, environment: dict[str, str]) -> bool:
    try:
        return not marker or Marker(marker).evaluate(environment)
    except (InvalidVersion, UndefinedComparison, UndefinedEnvironmentName):
        return True  # what cannot be told may be so


def _environments() -> Iterator[dict[str, str]]:
    for python in PYTHONS:
        for machine in MACHINES.values():
            yield {
                "python_version": python,
                "python_full_version": f"{python}.0",
                "platform_machine": machine,
                "platform_system": "Linux",
                "sys_platform": "linux",
                "os_name": "posix",
                "implementation_name": "cpython",
                "platform_python_implementation": "CPython",
                "extra": "",
            }
