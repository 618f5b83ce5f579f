from __future__ import annotations

from dataclasses import replace

from mxenv.inventory import Inventory, Phase, Use
from mxenv.operator_difference import of_all, of_model, settled
from mxenv.operator_place import Basis, Known, Platform
from mxenv.operator_table import Entry, Grade, How, Table

ENTRIES = {
    "aten::mm.default": Entry(how=How.NATIVE),
    "aten::neg.default": Entry(how=How.NATIVE),
    "aten::no.default": Entry(how=How.MISSING),
}
TABLE = Table(torch="2.8.0+metax3.5.3.9", key="CUDA", entries=ENTRIES)
HERE = Platform(name="here", table=TABLE, basis=Basis.TARGET)
MORE = {
    **ENTRIES,
    "aten::no.default": Entry(how=How.NATIVE, by="flag_gems"),
    "aten::neg.default": Entry(how=How.NATIVE, grade=Grade.VERIFIED),
}
THERE = replace(HERE, name="there", table=replace(TABLE, torch="2.8.0+metax3.7.0.7", entries=MORE))


def told(before: Platform, after: Platform) -> list[tuple[str, str, str | None, str | None]]:
    return [(one.part, one.name, one.before, one.after) for one in of_all(before, after)]


def test_two_builds_differ_in_what_becomes_of_operators() -> None:
    assert told(HERE, HERE) == []
    assert told(HERE, THERE) == [
        ("build", "torch", "2.8.0+metax3.5.3.9", "2.8.0+metax3.7.0.7"),
        ("operators", "aten::neg.default", "supported", "supported, verified"),
        ("operators", "aten::no.default", "unsupported", "supported, by flag_gems"),
    ]
    assert settled(HERE, THERE)


def test_of_a_build_that_nobody_asked_that_alone_is_told() -> None:
    nobody = Platform(name="C500")
    assert told(HERE, nobody) == [
        ("build", "torch", "2.8.0+metax3.5.3.9", None),
        ("build", "key", "CUDA", None),
        ("build", "asked", "target build", None),
    ]
    assert told(nobody, replace(HERE, basis=Basis.OTHER))[-1][-1] == "other build"
    assert told(nobody, nobody) == []
    assert not settled(nobody, HERE)
    assert not settled(HERE, nobody)


def test_of_a_model_only_what_it_calls_is_compared() -> None:
    uses = (Use(operator="aten::no.default", phase=Phase.FORWARD),)
    model = Inventory(name="m", reader="torch", source="s", uses=uses)
    (change,) = of_model(model, HERE, replace(THERE, table=replace(TABLE, entries=MORE)))
    assert (change.name, change.before) == ("aten::no.default", "unsupported")
    row = Known(operators=frozenset({"aten::no"}), kind="works", row="r", by="flag_gems")
    known = replace(THERE, known=(row,), table=replace(TABLE, entries=MORE))
    (change,) = of_model(model, HERE, known)
    assert change.after == "supported, by flag_gems, ran, row r"
