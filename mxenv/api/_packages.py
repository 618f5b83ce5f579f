"""Which distributions an environment has, held against those that a lock gives it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv.distribution import same_version
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.facts import Fact, Snapshot
    from mxenv.lock import Lock

KEY = "python.package"


@dataclass(slots=True)
class Present:
    """The distributions that were found in one environment."""

    versions: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """By name: each place, and the version there."""
    unread: dict[str, str] = field(default_factory=dict)
    """By name: why nothing is known of it."""
    gap: str = ""
    """Why there may be others, if there may."""

    def add(self, name: str, place: str, version: str) -> None:
        """Add one that was found."""
        self.versions[name][place] = version

    def also(self, other: Present) -> None:
        """Add what another look found; the same version seen by both is the same distribution."""
        for name, places in other.versions.items():
            for place, version in places.items():
                if version not in self.versions[name].values():
                    self.add(name, place, version)
        self.unread |= {n: why for n, why in other.unread.items() if not self.versions[n]}
        self.gap = self.gap or other.gap


def of_snapshot(snapshot: Snapshot, environment: str) -> Present:
    """Return what a snapshot knows of one environment, by its prefix."""
    present = Present()
    none = False
    for fact in snapshot.of(KEY):
        prefix, _, name = fact.instance.rpartition("/")
        if fact.instance in {"", environment}:
            none = isinstance(fact.reading, Absent)
            present.gap = _gap(fact) or present.gap
        elif prefix == environment:
            match fact.reading:
                case Observed(value):
                    present.add(name, fact.source, str(value))
                case Unreadable(reason):
                    present.unread[name] = reason
                case Absent():
                    pass
    if not present.versions and not present.gap and not none:
        present.gap = f"no Python environment {environment} was read there"
    return present


def _gap(fact: Fact) -> str:
    return fact.reading.reason if isinstance(fact.reading, Unreadable) else ""


def compare(lock: Lock, present: Present) -> Iterator[Finding]:
    """Yield what is missing, other than locked, there twice, or there and in no lock."""
    locked = {package.name: package.version for package in lock.packages}
    provided = {one.name: one.version for one in lock.provided}
    worst = Outcome.COMPATIBLE
    for name in sorted(locked | provided):
        kind = "locked" if name in locked else "provided by the base"
        for finding in _one(name, (locked | provided)[name], kind, present):
            worst = min(worst, finding.outcome)
            yield finding
    for name in sorted(present.versions.keys() - locked.keys() - provided.keys()):
        worst = Outcome.INCOMPATIBLE
        yield Finding(
            code="MX314",
            outcome=Outcome.INCOMPATIBLE,
            subject=name,
            found=_found(present.versions[name]),
            expected="not there: the lock has no such package",
            remedy="remove it, or add it to image.toml and run `mxenv lock`",
        )
    if present.gap:
        yield unread("distributions", present.gap)
    elif worst is Outcome.COMPATIBLE:
        yield Finding(
            code="MX310",
            outcome=Outcome.COMPATIBLE,
            subject=f"{len(locked)} locked and {len(provided)} provided distributions",
            found="each there once, in the version of the lock, and no other",
        )


def _one(name: str, version: str, kind: str, present: Present) -> Iterator[Finding]:
    places = present.versions.get(name, {})
    if name in present.unread:
        yield unread(name, present.unread[name])
    elif not places and present.gap:
        yield unread(name, present.gap)
    elif not places:
        yield _wrong("MX311", name, "not there", f"{version}, {kind}")
    elif len(places) > 1:
        yield _wrong("MX313", name, _found(places), f"{version} once, {kind}")
    elif not same_version(next(iter(places.values())), version):
        code = "MX312" if kind == "locked" else "MX315"
        yield _wrong(code, name, _found(places), f"{version}, {kind}")


def _wrong(code: str, name: str, found: str, expected: str) -> Finding:
    return Finding(
        code=code,
        outcome=Outcome.INCOMPATIBLE,
        subject=name,
        found=found,
        expected=expected,
        remedy="take the image that was built from this lock, or run `mxenv build` again",
    )


def unread(subject: str, reason: str) -> Finding:
    """Return that something could not be compared."""
    return Finding(
        code="MX316",
        outcome=Outcome.UNKNOWN,
        subject=subject,
        found=reason,
        expected="to be read",
        remedy="verify it where it can be read: an image with all its layers, or the node itself",
    )


def _found(places: dict[str, str]) -> str:
    return "; ".join(f"{version} ({place})" for place, version in sorted(places.items()))
