"""A node as it would be if something of it were otherwise, and what becomes of a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mxenv import version
from mxenv.errors import UsageError
from mxenv.facts import Absent, Fact, Observed, Unreadable
from mxenv.selector import PACKAGE, Accessor, Selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mxenv.facts import FactKey, Reading, Snapshot
    from mxenv.verdict import Finding, Verdict

SOURCE = "supposed"
GONE = "absent"
"""What to set a fact to so that it is not there."""
SHAPE = "--set KEY=VALUE, as metax.sdk=3.7.0.38 or python.package[torch]=absent"
_FOLLOWS = {"metax.kmd": ("metax.module.on_disk",), "nvidia.kmd": ("nvidia.module.on_disk",)}
"""What an upgrade of one brings along: the module that lies there is the one that is loaded."""
KERNEL = "kernel.release"
_OF_A_KERNEL = ("kernel.build", "kernel.flavour")
_LOADED, _BUILT = ".module.loaded", ".module.built"
_TAGGED = ("vendor", "sdk", "torch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Supposed:
    """One fact that is taken to be otherwise."""

    selector: Selector
    value: str
    """`GONE` stands for nothing."""

    @classmethod
    def parse(cls, text: str, *, keys: Mapping[str, FactKey]) -> Supposed:
        """Return what ``KEY[INSTANCE]=VALUE`` says."""
        name, equals, value = text.partition("=")
        if not equals or not value.strip():
            raise UsageError(f"{text!r} sets nothing", hint=SHAPE)
        selector = Selector.parse(name, keys=keys)
        if selector.accessor is not Accessor.WHOLE:
            raise UsageError(f"{text!r} sets a part of a version", hint="set the whole version")
        return cls(selector=selector, value=value.strip())

    def __str__(self) -> str:
        """Return the text that parses to it."""
        return f"{self.selector}={self.value}"


def suppose(
    snapshot: Snapshot,
    changes: Iterable[Supposed],
    keys: Mapping[str, FactKey],
    env: str | None = None,
) -> Snapshot:
    """Return ``snapshot`` with all ``changes``; those of Python's environments are of ``env``.

    What was read of a distribution's files is forgotten with the version that it was read of.
    """
    for change in changes:
        snapshot = _changed(snapshot, change, keys, env)
    return snapshot


def _changed(
    snapshot: Snapshot, change: Supposed, keys: Mapping[str, FactKey], env: str | None
) -> Snapshot:
    key = change.selector.key
    instances = _instances(snapshot, change, env)
    reading = _reading(snapshot, key, instances[0], change.value)
    if all(snapshot.reading(key.name, instance) == reading for instance in instances):
        return snapshot
    if key.name == KERNEL:
        snapshot = _rebooted(snapshot, change.value)
    facts = [fact for fact in snapshot.facts if not _replaced(fact, key, instances, snapshot)]
    facts += (_fact(key, instance, reading, snapshot) for instance in instances)
    facts += _further(snapshot, key, instances, reading, keys)
    return replace(snapshot, facts=tuple(facts))


def _rebooted(snapshot: Snapshot, kernel: str) -> Snapshot:
    """Return the node without knowing that a driver's module is there for another kernel.

    A module is built for one kernel; only one that was seen built for that one will be loaded.
    """
    reason = f"supposed: nobody has seen the module built for {kernel}"
    facts = []
    for fact in snapshot.facts:
        vendor = fact.key.removesuffix(_LOADED)
        built = snapshot.reading(f"{vendor}{_BUILT}", kernel)
        lost = fact.key.endswith(_LOADED) and not isinstance(built, Observed)
        if lost and isinstance(fact.reading, Observed):
            facts.append(replace(fact, reading=Unreadable(reason), source=SOURCE))
        else:
            facts.append(fact)
    for key in dict.fromkeys(fact.key for fact in snapshot.facts if fact.key.endswith(_BUILT)):
        if not any(fact.instance == kernel for fact in snapshot.of(key)):
            unseen = Unreadable(reason)
            facts.append(Fact(key=key, instance=kernel, reading=unseen, source=SOURCE))
    return replace(snapshot, facts=tuple(facts))


def _fact(key: FactKey, instance: str, reading: Reading, snapshot: Snapshot) -> Fact:
    view = key.view or snapshot.view
    return Fact(key=key.name, instance=instance, reading=reading, source=SOURCE, view=view)


def _instances(snapshot: Snapshot, change: Supposed, env: str | None) -> Sequence[str]:
    """Return the instances that are meant: those that are there, or else the one that is named."""
    key, named = change.selector.key, change.selector.instance
    if not key.instance:
        return [""]
    parts = key.instance.split("/")
    own = parts[0] == "env" and env is not None
    there = [
        fact.instance
        for fact in snapshot.of(key.name)
        if fact.instance
        and named in ("*", fact.instance, key.parts(fact.instance)[-1])
        and (not own or key.parts(fact.instance)[0] == env)
    ]
    if there:
        return list(dict.fromkeys(there))
    if named == "*":
        raise UsageError(
            f"no {key.name} is known of {snapshot.node}, so that none can be otherwise",
            hint=f"name one: {key.name}[{key.instance}]",
        )
    if own and len(parts) > 1:
        return [f"{env}/{named}"]
    if len(parts) > 1 and named.count("/") < len(parts) - 1:
        hint = f"name the whole of it: {key.name}[{key.instance}]"
        raise UsageError(f"which {key.name} is meant by {named!r} is not clear", hint=hint)
    return [named]


def _reading(snapshot: Snapshot, key: FactKey, instance: str, value: str) -> Reading:
    """Return ``value`` as what was read before: a number where that was one."""
    if value == GONE:
        return Absent()
    before = snapshot.reading(key.name, instance)
    if isinstance(before, Observed) and isinstance(before.value, tuple):
        return Observed(tuple(part.strip() for part in value.split(",")))
    number = isinstance(before, Observed) and isinstance(before.value, int | float)
    if number and not (value.isascii() and value.isdecimal()):
        raise UsageError(f"{value!r} is no number, and {key.name} is one", hint=SHAPE)
    text = isinstance(before, Observed) and isinstance(before.value, str)
    if text or key.name == PACKAGE or not value.isascii() or not value.isdecimal():
        return Observed(value)
    return Observed(int(value))


def _replaced(fact: Fact, key: FactKey, instances: Sequence[str], snapshot: Snapshot) -> bool:
    """Tell whether a fact goes with what is changed."""
    if fact.key == key.name:
        return not fact.instance or fact.instance in instances
    if key.name == KERNEL:
        return fact.key in _OF_A_KERNEL
    if key.name != PACKAGE:
        return fact.key in _FOLLOWS.get(key.name, ()) or (
            key.name == "python.version"
            and fact.key == "python.series"
            and fact.instance in instances
        )
    if fact.key.startswith((f"{PACKAGE}.", "elf.")) and fact.instance in instances:
        return True
    return fact.key.startswith("elf.") and fact.instance.startswith(
        tuple(_folders(snapshot, instances))
    )


def _folders(snapshot: Snapshot, instances: Iterable[str]) -> Iterator[str]:
    """Yield where the modules of distributions lie, as far as their names tell."""
    for instance in instances:
        env, _, name = instance.rpartition("/")
        sites = snapshot.reading("python.site", env)
        if isinstance(sites, Observed) and isinstance(sites.value, tuple):
            yield from (f"{site}/{name.replace('-', '_')}" for site in sites.value)


def _further(
    snapshot: Snapshot,
    key: FactKey,
    instances: Sequence[str],
    reading: Reading,
    keys: Mapping[str, FactKey],
) -> Iterator[Fact]:
    """Yield what follows from a change."""
    if not isinstance(reading, Observed):
        return
    text = str(reading.value)
    for name in _FOLLOWS.get(key.name, ()):
        if name in keys:
            yield _fact(keys[name], "", reading, snapshot)
    if key.name == "python.version" and "python.series" in keys:
        series = Observed(version.family(text, 2))
        yield from (_fact(keys["python.series"], i, series, snapshot) for i in instances)
    tag = version.tag(text) if key.name == PACKAGE else None
    for part in _TAGGED:
        name = f"{PACKAGE}.{part}"
        if tag and getattr(tag, part) and name in keys:
            value = Observed(getattr(tag, part))
            yield from (_fact(keys[name], instance, value, snapshot) for instance in instances)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """What became of a verdict."""

    before: Verdict
    after: Verdict

    @property
    def appeared(self) -> tuple[Finding, ...]:
        """Return what was not said before."""
        return _only(self.after, self.before)

    @property
    def gone(self) -> tuple[Finding, ...]:
        """Return what is not said any more."""
        return _only(self.before, self.after)


def _only(one: Verdict, other: Verdict) -> tuple[Finding, ...]:
    said = {_identity(finding) for finding in other.findings}
    return tuple(finding for finding in one.findings if _identity(finding) not in said)


def _identity(finding: Finding) -> tuple[str, int, str, str, bool]:
    """Return what makes two findings the same news; their words may differ in a version."""
    waived = finding.waiver is not None
    return (finding.code, finding.outcome, finding.subject, finding.row, waived)
