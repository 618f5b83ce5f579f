"""Values are what ``dataclass(frozen=True, slots=True)`` makes, which is held beside them."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace

import pytest

from mxenv.frozen import frozen, slotted


@frozen
class Point:
    """A value."""

    x: int
    y: int = 0
    tags: tuple[str, ...] = field(default_factory=tuple)
    note: str = field(default="", compare=False, repr=False)


@frozen(kw_only=False)
class Pair:
    """Another one."""

    x: int
    y: int = 0


@frozen
class Nothing:
    """One without fields."""


@dataclass(frozen=True, slots=True)
class Usual:
    """What `Pair` stands for."""

    x: int
    y: int = 0


def test_values_with_equal_fields_are_equal_and_hash_alike() -> None:
    assert Point(x=1) == Point(x=1, y=0, tags=(), note="seen")
    assert hash(Point(x=1)) == hash(Point(x=1, note="seen"))
    assert Point(x=1) != Point(x=2)
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing(), Pair(1), Pair(1, 0), Pair(1, 2)}) == 3


def test_values_of_two_classes_are_never_equal() -> None:
    assert Pair(1) != Usual(1)
    assert Pair(1) != (1, 0)
    assert Nothing() != ()


def test_a_field_cannot_be_assigned_or_deleted() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        Pair(1).x = 2  # type: ignore[misc] # it is frozen
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del Pair(1).x  # type: ignore[misc] # the same
    with pytest.raises(FrozenInstanceError):
        Pair(1).z = 2  # type: ignore[attr-defined] # the same


def test_there_is_no_room_for_more_than_the_fields() -> None:
    assert Pair.__slots__ == Usual.__slots__ == ("x", "y")  # type: ignore[attr-defined] # both have slots
    assert not hasattr(Pair(1), "__dict__")


def test_fields_are_given_by_name_unless_told_otherwise() -> None:
    with pytest.raises(TypeError, match="positional"):
        Point(1)  # type: ignore[call-arg, misc] # they are
    with pytest.raises(TypeError, match="missing"):
        Point()  # type: ignore[call-arg] # they are
    assert Pair(1, 2) == Pair(x=1, y=2)


def test_what_knows_dataclasses_knows_values() -> None:
    assert is_dataclass(Pair)
    assert [each.name for each in fields(Point)] == ["x", "y", "tags", "note"]
    assert replace(Point(x=1, y=2), y=3) == Point(x=1, y=3)
    match Pair(1, 2):
        case Pair(x, y):
            assert (x, y) == (1, 2)
    assert Pair.__match_args__ == Usual.__match_args__  # type: ignore[attr-defined] # as dataclasses have


def test_a_value_shows_its_fields() -> None:
    assert repr(Pair(1)) == repr(Usual(1)).replace("Usual", "Pair") == "Pair(x=1, y=0)"
    assert repr(Point(x=1, note="n")) == "Point(x=1, y=0, tags=())"
    assert repr(Nothing()) == "Nothing()"


def test_a_value_can_be_told_to_another_process_and_be_copied() -> None:
    for value in (Point(x=1, y=2, tags=("a",), note="n"), Pair(1, 2)):
        told = pickle.loads(pickle.dumps(value))  # noqa: S301 - what was made here
        assert told == value
        assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(Point(x=1, note="n"))).note == "n"  # noqa: S301 - the same


def test_what_follows_a_value_s_making_is_done() -> None:
    @frozen
    class Sorted:
        names: tuple[str, ...]

        def __post_init__(self) -> None:
            object.__setattr__(self, "names", tuple(sorted(self.names)))

    assert Sorted(names=("b", "a")).names == ("a", "b")
    assert replace(Sorted(names=("b",)), names=("d", "c")).names == ("c", "d")


def test_what_a_value_says_of_itself_stands() -> None:
    @frozen
    class Secret:
        text: str

        def __repr__(self) -> str:
            return "Secret"

    @slotted
    class Doubled:
        number: int

        def __init__(self, half: int) -> None:
            self.number = 2 * half

    assert repr(Secret(text="x")) == "Secret"
    assert Secret(text="x") == Secret(text="x")
    assert Doubled(half=2).number == 4


@frozen(order=True)
class Place:
    """One that has an order."""

    file: str
    line: int = 1
    note: str = field(default="", compare=False)


@slotted
class Counter:
    """One that changes."""

    name: str
    count: int = 0
    seen: list[int] = field(default_factory=list)


def test_values_with_an_order_compare_as_their_fields_do() -> None:
    first, second = Place(file="a", line=2), Place(file="b")
    assert first < second
    assert second > first
    assert first <= Place(file="a", line=2, note="n") >= first
    assert not first < Place(file="a", line=2, note="n")
    with pytest.raises(TypeError, match="not supported"):
        assert first < ("b", 1)  # type: ignore[operator] # no value of its class
    with pytest.raises(TypeError, match="not supported"):
        assert Pair(1) < Pair(2)  # type: ignore[operator] # they have none


def test_what_is_slotted_alone_may_change_and_is_no_key() -> None:
    counter = Counter("a")
    counter.count += 1
    counter.seen.append(3)
    assert counter == Counter("a", 1, [3])
    assert Counter("b").seen == []
    assert repr(counter) == "Counter(name='a', count=1, seen=[3])"
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)
    with pytest.raises(AttributeError):
        counter.other = 1  # type: ignore[attr-defined] # there is no room for it


def test_a_field_that_is_filled_afterwards_is_not_given() -> None:
    @slotted(kw_only=True)
    class Squared:
        side: int
        area: int = field(init=False, compare=False, repr=False)

        def __post_init__(self) -> None:
            self.area = self.side**2

    assert Squared(side=3).area == 9
    assert replace(Squared(side=3), side=4).area == 16
    with pytest.raises(TypeError, match="area"):
        Squared(side=3, area=9)  # type: ignore[call-arg] # it is made
