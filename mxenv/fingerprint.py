"""When two nodes are the same: a canonical form of what is known, its digest, the differences.

The form is one JSON list, written by hand so that no library's habits enter it::

    [["libc.version",[""],"observed","2.36"],["metax.device.model",[],"observed","C500"],...]

sorted, without doubles; strings as ASCII JSON, whole numbers without a point. Sources, views,
times and the wording of reasons stay out. Every key that a version of mxenv asks for is in it,
so a version that asks for more gives another digest for the same node: compare snapshots (with
`diff`) across versions, and digests within one.
"""

from __future__ import annotations

import hashlib
from itertools import chain
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, assert_never

from mxenv.facts import Absent, FactKey, Observed, Unreadable
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mxenv.facts import Fact, Reading, Snapshot, Value

PREFIX = "mxenv1:"
"""The version of the canonical form; a digest of another one is no digest of this one."""

At = tuple[str, str]
"""A key and an instance."""
Forms = dict[str, "Reading"]
"""What was read of one fact, by its canonical form."""
VALUE, NOTHING, UNKNOWN, NO_VALUE = range(4)
"""What one side of a difference has; of both, that neither has a value."""


@frozen
class Fingerprint:
    """Two digests of what does not change by itself."""

    stack: str | None
    """Equal on equal nodes; `None` if something could not be read this time."""
    node: str
    """Tells nodes apart: counts and bus addresses too."""


@frozen
class Difference:
    """One fact that is not the same on two sides."""

    key: str
    instance: str
    before: tuple[Reading, ...]
    """What the first side knows, a reading a source at most; empty if it has nothing there.

    Why nobody knows whether it has, if its list may not be whole.
    """
    after: tuple[Reading, ...]

    @property
    def label(self) -> str:
        """Return ``key`` or ``key[instance]``."""
        return f"{self.key}[{self.instance}]" if self.instance else self.key

    @property
    def kind(self) -> str:
        """Return ``added``, ``removed`` or ``changed``."""
        if not self.before:
            return "added"
        return "changed" if self.after else "removed"

    @property
    def rank(self) -> int:
        """Return how little it tells.

        Least of two values, then of one that is there or is not, then of one whose other side
        nobody knows; most where neither side has a value.
        """
        kinds = (_kind(self.before), _kind(self.after))
        return max(kinds) if min(kinds) == VALUE else NO_VALUE


def _kind(readings: tuple[Reading, ...]) -> int:
    kinds = {Observed: VALUE, Absent: NOTHING, Unreadable: UNKNOWN}
    return min((kinds[type(reading)] for reading in readings), default=NOTHING)


def fingerprint(snapshot: Snapshot, keys: Mapping[str, FactKey]) -> Fingerprint:
    """Return both digests of ``snapshot``; a key not in ``keys`` counts as it stands."""
    known = _known(snapshot, keys)
    stack = {at: readings for at, readings in known.items() if not _key(at[0], keys).node_only}
    every = {at: _entries(at, forms, keys, addresses=True) for at, forms in known.items()}
    shared = {
        # What has no address says the same in both.
        at: _entries(at, forms, keys, addresses=False)
        if "@" in _key(at[0], keys).instance
        else every[at]
        for at, forms in stack.items()
    }
    failed = any(
        isinstance(fact.reading, Unreadable) and fact.reading.passing
        for fact in snapshot.facts
        if (fact.key, fact.instance) in stack
    )
    return Fingerprint(
        stack=None if failed else _digest(chain.from_iterable(shared.values())),
        node=_digest(chain.from_iterable(every.values())),
    )


def diff(before: Snapshot, after: Snapshot, keys: Mapping[str, FactKey]) -> tuple[Difference, ...]:
    """Return every fact that differs: none exactly if the node digests are equal."""
    return _differences(_known(before, keys), _known(after, keys), keys)


def stack_diff(
    before: Snapshot, after: Snapshot, keys: Mapping[str, FactKey]
) -> tuple[Difference, ...]:
    """Return what two stacks differ in, wherever it is plugged in.

    None exactly if the stack digests are equal; an instance is named without its addresses.
    """
    return stack_apart(before, keys)(after)


def stack_apart(
    before: Snapshot, keys: Mapping[str, FactKey]
) -> Callable[[Snapshot], tuple[Difference, ...]]:
    """Return what tells of one stack after the other what it differs in from that of ``before``."""
    own = _stack(before, keys)
    return lambda after: _differences(own, _stack(after, keys), keys)


def _stack(snapshot: Snapshot, keys: Mapping[str, FactKey]) -> dict[At, Forms]:
    stack: dict[At, Forms] = {}
    for (name, instance), forms in _known(snapshot, keys).items():
        key = _key(name, keys)
        if not key.node_only:
            parts = "/".join(_parts(key, instance, addresses=False))
            stack.setdefault((name, parts), {}).update(forms)
    return stack


def _differences(
    one: Mapping[At, Forms], other: Mapping[At, Forms], keys: Mapping[str, FactKey]
) -> tuple[Difference, ...]:
    return tuple(
        Difference(
            key=at[0],
            instance=at[1],
            before=_readings(one, at, keys),
            after=_readings(other, at, keys),
        )
        for at in sorted(one.keys() | other.keys())
        if one.get(at, {}).keys() != other.get(at, {}).keys()
    )


def _readings(
    known: Mapping[At, Forms], at: At, keys: Mapping[str, FactKey]
) -> tuple[Reading, ...]:
    """Return what one side knows; of what it does not list, why its list may not be whole."""
    if at in known:
        return tuple(known[at].values())
    name, instance = at
    group = "/".join(_key(name, keys).parts(instance)[:-1])
    marks = (known.get((name, whole), {}) for whole in (f"{group}/*", group, "*", ""))
    unknown = (r for forms in marks for r in forms.values() if isinstance(r, Unreadable))
    return tuple(unknown)[:1]


def _known(snapshot: Snapshot, keys: Mapping[str, FactKey]) -> dict[At, Forms]:
    """Return what counts of every fact that may enter a digest."""
    known: dict[At, Forms] = {}
    for fact in snapshot.facts:
        if not (fact.volatile or _key(fact.key, keys).volatile):
            forms = known.setdefault((fact.key, fact.instance), {})
            forms.setdefault(_form(fact.reading), fact.reading)
    return {at: _counting(forms) for at, forms in known.items()}


def _counting(forms: Forms) -> Forms:
    """Keep what was read, or else what could not be, or else what is absent; in canonical order.

    More than one value is left only if sources disagree, and then each is part of the digest.
    """
    if len(forms) == 1:
        return forms
    best = min(_rank(reading) for reading in forms.values())
    return {form: forms[form] for form in sorted(forms) if _rank(forms[form]) == best}


def _rank(reading: Reading) -> int:
    match reading:
        case Observed():
            return 0
        case Unreadable():
            return 1
        case Absent():
            return 2
        case _:
            assert_never(reading)


def entry(fact: Fact, keys: Mapping[str, FactKey], *, addresses: bool) -> str:
    """Return what a lasting fact of one source adds to a digest; the node's has addresses."""
    key = _key(fact.key, keys)
    parts = ",".join(map(_string, _parts(key, fact.instance, addresses=addresses)))
    return f"[{_string(fact.key)},[{parts}],{_form(fact.reading)}]"


def digest(entries: Iterable[str]) -> str:
    """Return the digest that all entries make together; empty ones add nothing."""
    return _digest(filter(None, entries))


def _entries(
    at: At, forms: Forms, keys: Mapping[str, FactKey], *, addresses: bool
) -> tuple[str, ...]:
    name, instance = at
    parts = ",".join(map(_string, _parts(_key(name, keys), instance, addresses=addresses)))
    return tuple([f"[{_string(name)},[{parts}],{form}]" for form in forms])


def _parts(key: FactKey, instance: str, *, addresses: bool) -> tuple[str, ...]:
    if not key.instance:
        return (instance,)
    parts = key.parts(instance)
    if addresses or "@" not in key.instance:
        return parts
    names = key.instance.split("/")
    # An instance may have fewer parts than its key (none was found): those are the first ones.
    return tuple(
        part
        for name, part in zip(names, parts, strict=False)
        if not part or not name.startswith("@")
    )


def _digest(entries: Iterable[str]) -> str:
    # Not a set: entries come nearly in order, and sorting them is cheap if they stay so.
    text = f"[{','.join(dict.fromkeys(sorted(entries)))}]"
    return PREFIX + hashlib.sha256(text.encode("ascii")).hexdigest()


def _key(name: str, keys: Mapping[str, FactKey]) -> FactKey:
    return keys.get(name) or FactKey(name=name, meaning="")


def _form(reading: Reading) -> str:
    match reading:
        case Observed(value):
            return f'"observed",{_value(value)}'
        case Unreadable():
            return '"unreadable"'
        case Absent():
            return '"absent"'
        case _:
            assert_never(reading)


def _value(value: Value) -> str:
    match value:
        case str():
            return _string(value)
        case tuple():
            return f"[{','.join(map(_value, value))}]"
        case float():
            # The shortest decimal that reads back as the same number, in every Python.
            return str(int(value)) if value.is_integer() else repr(value)
        case int():
            return str(int(value))
        case _:
            assert_never(value)


def _string(text: str) -> str:
    return encode_basestring_ascii(text)
