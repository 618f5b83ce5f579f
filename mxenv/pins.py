"""Lines of a project that pin one distribution in ways that no version meets."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from mxenv.marker import together
from mxenv.redaction import clean
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mxenv.asked import Asked
    from mxenv.verdict import Place

REMEDY = "Say it once, or the same in both: whichever is installed last counts."


def pin(one: Asked) -> str:
    """Return the one version that is asked for, or nothing."""
    wanted = one.specifier
    if not wanted.startswith("==") or "," in wanted or "*" in wanted:
        return ""
    return wanted.lstrip("=")


def findings(asked: Iterable[Asked], related: Callable[[Asked, Asked], bool]) -> Iterator[Finding]:
    """Yield every pair of requirements that no version meets, if they are ``related``.

    What is compared is a pin with whatever else is said: two ranges may have nothing in common as
    well, but whoever writes a range leaves it to a resolver to say so.
    """
    by_name: dict[str, list[Asked]] = {}
    for one in asked:
        if one.name and one.specifier and not one.unclear:
            by_name.setdefault(one.name, []).append(one)
    for _, group in sorted(by_name.items()):
        distinct = {(one.specifier, one.marker, one.alternative, one.place): one for one in group}
        # Each line is held against the first that it contradicts: the pairs of many are many.
        told: set[Place] = set()
        for one, other in combinations(distinct.values(), 2):
            if other.place not in told and related(one, other) and _contradict(one, other):
                told.add(other.place)
                yield _told(other, f"{clean(one.text)} ({one.place})")


def of_lock(one: Asked, version: str, place: Place) -> Iterator[Finding]:
    """Yield that a line pins a distribution otherwise than a lock does."""
    wanted = "" if one.unclear else pin(one)
    if wanted and _excluded(version, one.specifier) and together(one.marker):
        yield _told(one, f"{one.name} {version} ({place})")


def _contradict(one: Asked, other: Asked) -> bool:
    if one.alternative and other.alternative and one.alternative != other.alternative:
        return False
    pins = [text for text in (pin(one), pin(other)) if text]
    both = f"{one.specifier},{other.specifier}"
    # ``==2.8.0`` is met by 2.8.0+metax3.5.3.9, so that one of two pins may do for both.
    fits = any(not _excluded(text, both) for text in pins)
    return bool(pins) and not fits and together(one.marker, other.marker)


def _excluded(version: str, specifier: str) -> bool:
    try:
        known = Version(version)
    except InvalidVersion:
        return True  # ``===`` takes any text, and only that
    return not SpecifierSet(specifier).contains(known, prereleases=True)


def _told(one: Asked, other: str) -> Finding:
    return Finding(
        code="MX416",
        outcome=Outcome.INCOMPATIBLE,
        subject=one.name,
        found=f"{clean(one.text)} here",
        expected=f"what goes together with {other}",
        remedy=REMEDY,
        place=one.place,
    )
