"""One requirement on a node's facts, held against a snapshot; and agreement between two facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from mxenv import version
from mxenv.errors import UsageError
from mxenv.facts import Absent, FactKey, Observed, Reading, Unreadable
from mxenv.frozen import frozen
from mxenv.selector import PATTERN, SHAPE, Selector
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mxenv.facts import Snapshot, Value
    from mxenv.selector import Seen

_CONSTRAINT = re.compile(rf"\s*(?P<selector>{PATTERN})\s*(?P<test>.*?)\s*", re.DOTALL)
_CLAUSE = re.compile(r"(?P<operator>==|!=|>=|<=|>|<|in\b|[a-z]+)\s*(?P<value>\([^()]*\)|[^,()]*)")


@frozen
class Clause:
    """One operator with its values: ``>= 1.13``, ``in (C500, C550)``, ``present``."""

    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text that parses to this clause."""
        if self.operator == "in":
            return f"in ({', '.join(self.values)})"
        return " ".join((self.operator, *self.values))

    def hold(self, value: Value) -> Outcome:
        """Compare one value; a list must hold in each element, and an empty one holds nothing."""
        if isinstance(value, tuple):
            return min((self.hold(element) for element in value), default=Outcome.UNKNOWN)
        if self.operator in _PLAIN:
            return _outcome(_PLAIN[self.operator](str(value)))
        if self.operator in _ORDERS:
            return _ordered(self.operator, value, self.values[0])
        best = max(equal(value, wanted) for wanted in self.values)
        return Outcome(2 - best) if self.operator == "!=" else best


@frozen
class Check:
    """One constraint, or relation, held against one instance."""

    outcome: Outcome
    subject: str
    """What was looked at."""
    about: frozenset[str] = frozenset()
    """The subjects of everything that was looked at."""
    found: str
    expected: str


@frozen
class Constraint:
    """What must be true of every instance of a fact."""

    selector: Selector
    clauses: tuple[Clause, ...]

    @classmethod
    def parse(cls, text: str, *, keys: Mapping[str, FactKey]) -> Constraint:
        """Return the constraint that ``text`` spells, or say what in it is wrong."""
        match = _CONSTRAINT.fullmatch(text)
        if match is None:
            raise UsageError(f"{text!r} is no constraint", hint=SHAPE)
        selector = Selector.parse(match["selector"], keys=keys)
        return cls(selector=selector, clauses=tuple(_clauses(match["test"], text)))

    def __str__(self) -> str:
        """Return the text that parses to this constraint."""
        return f"{self.selector} {', '.join(map(str, self.clauses))}"

    def check(self, snapshot: Snapshot) -> Iterator[Check]:
        """Yield one check an instance; a value without the accessor's part is not meant."""
        checked = False
        for seen in self.selector.seen(snapshot):
            outcome = self._judge(seen.reading)
            if outcome is not None:
                checked = True
                yield self._check(seen.subject, outcome, seen.found)
        if not checked:
            missing = f"no version there has a {self.selector.accessor} part"
            yield self._check(str(self.selector), Outcome.UNKNOWN, missing)

    def best(self, snapshot: Snapshot) -> Outcome:
        """Return the best outcome of any instance, without saying what was found."""
        best = None
        for seen in self.selector.seen(snapshot):
            outcome = self._judge(seen.reading)
            if outcome is Outcome.COMPATIBLE:
                return outcome
            if outcome is not None:
                best = outcome if best is None else max(best, outcome)
        return Outcome.UNKNOWN if best is None else best

    def _judge(self, reading: Reading) -> Outcome | None:
        match reading:
            case Absent():
                return _outcome(self.clauses == (Clause(operator="absent"),))
            case Unreadable():
                return Outcome.UNKNOWN
            case Observed(value):
                part = self.selector.accessor.of(value)
                return None if part is None else min(c.hold(part) for c in self.clauses)
            case _:
                assert_never(reading)

    def _check(self, subject: str, outcome: Outcome, found: str) -> Check:
        return Check(
            outcome=outcome,
            subject=subject,
            about=frozenset({subject}),
            found=found,
            expected=str(self),
        )


@frozen
class Agreement:
    """Two facts whose versions agree in their first fields, whatever they are."""

    left: Selector
    right: Selector
    fields: int
    """How many leading fields must be equal."""
    but: tuple[str, ...] = ()
    """Instances of ``left`` that another row speaks of."""

    def check(self, snapshot: Snapshot) -> Iterator[Check]:
        """Yield one check a pair; where there is nothing on the left, there is none."""
        rights = self.right.seen(snapshot)
        for left in self.left.seen(snapshot):
            if left.name in self.but:
                continue
            match left.reading:
                case Absent():
                    continue
                case Unreadable():
                    part: Value | None = ""
                case Observed(value):
                    part = self.left.accessor.of(value)
                case _:
                    assert_never(left.reading)
            if part is not None:
                yield from (self._pair(left, str(part), right) for right in rights)

    def _pair(self, left: Seen, part: str, right: Seen) -> Check:
        other = ""
        match right.reading:
            case Absent():
                outcome = Outcome.INCOMPATIBLE if part else Outcome.UNKNOWN
            case Unreadable():
                outcome = Outcome.UNKNOWN
            case Observed(value):
                other = str(self.right.accessor.of(value) or "")
                outcome = alike(part, other, self.fields)
            case _:
                assert_never(right.reading)
        wanted = version.family(other, self.fields) or "unknown"
        return Check(
            outcome=outcome,
            subject=left.subject,
            about=frozenset({left.subject, right.subject}),
            found=f"{left.found}; {right.found}",
            expected=f"the first {self.fields} fields of {self.right}, which are {wanted}",
        )


def alike(left: str, right: str, count: int) -> Outcome:
    """Compare the first ``count`` fields; agreeing as far as both go is not agreement."""
    a, b = version.fields(left)[:count], version.fields(right)[:count]
    if not a or not b:
        return Outcome.UNKNOWN
    common = min(len(a), len(b))
    if a[:common] != b[:common]:
        return Outcome.INCOMPATIBLE
    return Outcome.COMPATIBLE if common == count else Outcome.UNKNOWN


def equal(value: Value, wanted: str) -> Outcome:
    """Tell whether a value is ``wanted``: a version, a number, a name, or one of a family.

    ``3.5.3.*`` are all with these first fields, ``5.15.0-58-*`` all builds of that kernel.
    """
    if wanted.endswith(".*"):
        return alike(str(value), wanted[:-2], wanted.count("."))
    if wanted.endswith("-*"):
        return _outcome(re.match(rf"{re.escape(wanted[:-2])}(?![^-.+_])", str(value)) is not None)
    if isinstance(value, int | float) and (number := _number(wanted)) is not None:
        return _outcome(value == number)
    return _outcome(version.parse(str(value)) == version.parse(wanted))


def _ordered(operator: str, value: Value, wanted: str) -> Outcome:
    if isinstance(value, int | float) and (number := _number(wanted)) is not None:
        order = (value > number) - (value < number)
    elif not version.fields(str(value)):
        return Outcome.UNKNOWN  # ``unknown`` is neither older nor newer than 3.0
    else:
        left, right = version.parse(str(value)), version.parse(wanted)
        order = (left > right) - (left < right)
    return _outcome(_ORDERS[operator](order))


_ORDERS: Mapping[str, Callable[[int], bool]] = {
    ">=": lambda order: order >= 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    "<": lambda order: order < 0,
}
_PLAIN: Mapping[str, Callable[[str], bool]] = {
    "present": lambda _: True,
    "absent": lambda _: False,
    "tagged": lambda value: version.tag(value) is not None,
    "untagged": lambda value: version.tag(value) is None,
}
_COMPARING = ("==", "!=", *_ORDERS)


def _clauses(text: str, whole: str) -> Iterator[Clause]:
    position = 0
    while match := _CLAUSE.match(text, position):
        yield _clause(match["operator"], match["value"].strip(), whole)
        position = match.end()
        if position == len(text):
            return
        if text[position] != ",":
            break
        position += 1
        position += len(text) - position - len(text[position:].lstrip())
    raise UsageError(f"{whole!r} is no constraint", hint=SHAPE)


def _clause(operator: str, value: str, whole: str) -> Clause:
    if operator in _PLAIN and not value:
        return Clause(operator=operator)
    if operator == "in" and value.startswith("("):
        values = tuple(part.strip() for part in value[1:-1].split(",") if part.strip())
        if values:
            return Clause(operator="in", values=values)
    elif operator in _COMPARING and value and not value.startswith("("):
        ordered, family = operator in _ORDERS, value.endswith((".*", "-*"))
        if version.fields(value) if family != ordered else not ordered:
            return Clause(operator=operator, values=(value,))
    raise UsageError(f"{whole!r}: {operator!r} and {value!r} do not go together", hint=SHAPE)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _outcome(holds: bool) -> Outcome:  # noqa: FBT001 - it turns a truth into an outcome
    return Outcome.COMPATIBLE if holds else Outcome.INCOMPATIBLE
