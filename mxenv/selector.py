"""Which facts of a node are meant, and what is known of each."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from mxenv import version
from mxenv.errors import UsageError
from mxenv.facts import EVERY, Absent, Fact, FactKey, Observed, Reading, Unreadable
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.facts import Snapshot, Value

PATTERN = r"[a-z0-9_.]+(?:\[[^\]]+\])?(?:\.\w+)?"
"""The shape of a selector, for whoever looks for one in a longer text."""
SHAPE = "a constraint reads 'KEY[INSTANCE].ACCESSOR OPERATOR VALUE', as 'metax.sdk == 3.5.3.*'"
PACKAGE = "python.package"
"""The key of distributions, which people know by their names alone."""
_SELECTOR = re.compile(r"([a-z0-9_.]+)(?:\[([^\]]+)\])?(?:\.(\w+))?")


class Accessor(StrEnum):
    """The part of a version that is looked at."""

    WHOLE = ""
    PUBLIC = "public"
    SDK = "sdk"
    TORCH = "torch"
    VENDOR = "vendor"

    def of(self, value: Value) -> Value | None:
        """Return the part of ``value``, `None` if it has no such part."""
        match self:
            case Accessor.WHOLE:
                return value
            case Accessor.PUBLIC:
                return version.public(str(value))
            case Accessor.SDK | Accessor.TORCH | Accessor.VENDOR:
                tag = version.tag(str(value))
                return (getattr(tag, self.value) or None) if tag else None
            case _:
                assert_never(self)


@frozen
class Seen:
    """What is known of one instance: its best reading, and the fact that brought it."""

    label: str
    name: str = ""
    """The last part of the instance: the distribution, the device."""
    reading: Reading
    fact: Fact | None = None
    """The fact that brought the reading, if one did."""

    @property
    def subject(self) -> str:
        """Return what people call it: a distribution by its name, anything else by its label."""
        named = self.label.startswith(f"{PACKAGE}[") and self.name != EVERY
        return self.name if named else self.label

    @property
    def found(self) -> str:
        """Return what is there, with its source and view, for a person to read."""
        match self.reading:
            case Observed(value):
                said = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            case Absent():
                said = "absent"
            case Unreadable(reason):
                said = f"unreadable, {reason}"
            case _:
                assert_never(self.reading)
        where = f" ({self.fact.source}, {self.fact.view.value})" if self.fact else ""
        return f"{self.label}: {said}{where}"


@frozen
class Selector:
    """Which facts are meant: ``python.package[torch].sdk``."""

    key: FactKey
    instance: str = "*"
    """The last part of the instance (a distribution's name), or ``*``: each."""
    accessor: Accessor = Accessor.WHOLE

    @classmethod
    def parse(cls, text: str, *, keys: Mapping[str, FactKey]) -> Selector:
        """Return the selector that ``text`` spells; the key must be one that a probe declares."""
        match = _SELECTOR.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"{text!r} names no fact", hint=SHAPE)
        name, instance, accessor = match[1], match[2] or "", match[3] or ""
        if not instance and name not in keys and name.rpartition(".")[0] in keys:
            name, _, accessor = name.rpartition(".")
        if name not in keys:
            raise UsageError(f"no probe declares the fact {name!r}", hint=nearest(name, keys))
        if accessor not in list(Accessor):
            known = nearest(accessor, (a.value for a in Accessor if a))
            raise UsageError(f"a version has no part {accessor!r}", hint=known)
        if instance and not keys[name].instance:
            raise UsageError(f"a node has one {name!r}: it takes no [{instance}]")
        return cls(key=keys[name], instance=instance or "*", accessor=Accessor(accessor))

    def __str__(self) -> str:
        """Return the text that parses to this selector."""
        instance = "" if self.instance == "*" and not self.key.instance else f"[{self.instance}]"
        return f"{self.key.name}{instance}{'.' if self.accessor else ''}{self.accessor}"

    def seen(self, snapshot: Snapshot) -> tuple[Seen, ...]:
        """Return what is known of every instance that is meant, at least one.

        What lists a thing's parts is complete unless it says otherwise: where distributions were
        read and none is called ``torch``, torch is absent; where nothing was read, it is unknown.
        """
        known = snapshot.seen.get((self.key.name, self.instance))
        if known is None:
            known = snapshot.seen[self.key.name, self.instance] = self._look(snapshot)
        return known

    def _look(self, snapshot: Snapshot) -> tuple[Seen, ...]:
        facts = snapshot.of(self.key.name)
        meant = [i for i in snapshot.instances(self.key.name) if self._means(i)]
        blind = [f for f in facts if isinstance(f.reading, Unreadable)]
        if meant:
            # A list that is not whole may hold others of which nothing is known.
            more = [f for f in blind if self.key.instance and not f.instance]
            rest = [Seen(label=f.label, name=EVERY, reading=f.reading, fact=f) for f in more[:1]]
            return (*(self._best(snapshot, instance) for instance in meant), *rest)
        unread = [fact for fact in blind if not self._one_of_a_list(fact, facts)]
        reading: Reading = Unreadable("not asked")
        fact = None
        if unread:
            reading, fact = unread[0].reading, unread[0]
        elif facts and not self._asked_by_name(facts):
            reading, fact = Absent(), next((f for f in facts if not f.instance), None)
        whole = replace(self, accessor=Accessor.WHOLE)
        return (Seen(label=str(whole), name=self.instance, reading=reading, fact=fact),)

    def _means(self, instance: str) -> bool:
        if not instance:
            return not self.key.instance
        return self.instance == "*" or (
            # Most of a long list are told apart by their ends, which is quick.
            instance.endswith(self.instance) and self._parts(instance)[-1] == self.instance
        )

    def _best(self, snapshot: Snapshot, instance: str) -> Seen:
        key, name = self.key.name, self._parts(instance)[-1]
        reading = snapshot.reading(key, instance)
        fact = next(f for f in snapshot.instances(key)[instance] if f.reading == reading)
        return Seen(label=fact.label, name=name, reading=reading, fact=fact)

    def _parts(self, instance: str) -> tuple[str, ...]:
        return self.key.parts(instance) or ("",)

    def _asked_by_name(self, facts: tuple[Fact, ...]) -> bool:
        """Tell whether facts are of names that were asked for (variables), and of no others.

        Where one name was found to be absent, each that was asked for has a fact.
        """
        by_name = (fact.instance and isinstance(fact.reading, Absent) for fact in facts)
        return self.key.name != PACKAGE and any(by_name)

    def _one_of_a_list(self, fact: Fact, facts: tuple[Fact, ...]) -> bool:
        """Tell whether an unreadable fact is one part of a list that was read, not the list."""
        *group, last = self._parts(fact.instance)
        return last not in ("", EVERY) and any(
            isinstance(f.reading, Observed) and [*self._parts(f.instance)[:-1]] == group
            for f in facts
        )


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the known word most like ``word``, or all if none is near."""
    import difflib  # noqa: PLC0415 - imported late: needed for a misspelling only

    ordered = sorted(known)
    close = difflib.get_close_matches(word, ordered, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(ordered)}"
