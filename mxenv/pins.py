"""Lines of a project that pin one distribution in ways that no version meets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from mxenv.marker import together
from mxenv.redaction import clean
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from mxenv.asked import Asked
    from mxenv.verdict import Place

MOST = 1000
"""Ways in which one distribution can be asked for, beyond which nobody compares them."""
REMEDY = "Say it once, or the same in both: whichever is installed last counts."


def pin(one: Asked) -> str:
    """Return the one version that is asked for, or nothing."""
    wanted = one.specifier
    if not wanted.startswith("==") or "," in wanted or "*" in wanted:
        return ""
    return wanted.lstrip("=")


def findings(asked: Iterable[Asked], linked: Collection[frozenset[str]] = ()) -> Iterator[Finding]:
    """Yield every line that no version meets together with one before it.

    ``asked`` are the lines about one distribution that meet in one environment. What is compared is
    a pin with whatever else is said: two ranges may have nothing in common as well, but whoever
    writes a range leaves it to a resolver to say so. A pin and a range in two files of which
    none names the other (``linked``) may be two environments: that is unknown.
    """
    before: dict[tuple[str, str, str, bool], Asked] = {}
    for one in asked:
        key = (one.specifier, one.marker, one.alternative, bool(one.base))
        if not one.specifier or one.unclear or one.overrides or key in before:
            continue
        if len(before) >= MOST:
            yield _too_many(one)
            return
        other = next((other for other in before.values() if _contradict(other, one)), None)
        if other is not None:
            files = frozenset({one.place.file, other.place.file})
            sure = len(files) == 1 or files in linked or bool(pin(one) and pin(other))
            yield _told(one, f"{clean(other.text)} ({other.place})", sure=sure)
        before[key] = one


def of_lock(one: Asked, version: str, place: Place) -> Iterator[Finding]:
    """Yield that a line pins a distribution otherwise than a lock does."""
    wanted = "" if one.unclear else pin(one)
    if wanted and _excluded(version, one.specifier) and together(one.marker):
        yield _told(one, f"{one.name} {version} ({place})")


def _contradict(one: Asked, other: Asked) -> bool:
    if one.base and other.base:
        return False  # two stages, or one in which the later command is meant to count
    if one.alternative and other.alternative and one.alternative != other.alternative:
        return False
    pins = [text for text in (pin(one), pin(other)) if text]
    if not pins:
        return False
    both = f"{one.specifier},{other.specifier}"
    # ``==2.8.0`` is met by 2.8.0+metax3.5.3.9, so that one of two pins may do for both.
    fits = any(not _excluded(text, both) for text in pins)
    return not fits and together(one.marker, other.marker)


def _excluded(version: str, specifier: str) -> bool:
    try:
        known = Version(version)
    except InvalidVersion:
        return True  # ``===`` takes any text, and only that
    return not SpecifierSet(specifier).contains(known, prereleases=True)


def _told(one: Asked, other: str, *, sure: bool = True) -> Finding:
    return Finding(
        code="MX416",
        outcome=Outcome.INCOMPATIBLE if sure else Outcome.UNKNOWN,
        subject=one.name,
        found=f"{clean(one.text)} here",
        expected=f"what goes together with {other}",
        remedy=REMEDY,
        place=one.place,
    )


def _too_many(one: Asked) -> Finding:
    return Finding(
        code="MX417",
        outcome=Outcome.UNKNOWN,
        subject=one.name,
        found=f"asked for in more than {MOST} ways",
        expected="few enough to be compared with one another",
        remedy=REMEDY,
        place=one.place,
    )
