from __future__ import annotations

from datetime import UTC, datetime

from mxenv.comparison import Comparison, Counterpart, Item, Side, compare, vendor
from mxenv.facts import Absent, Fact, FactKey, Observed, Snapshot, Unreadable, View
from mxenv.fingerprint import diff

VENDORS = ("acme", "zeta")
KEYS = {
    key.name: key
    for key in (
        FactKey(name="acme.kmd", meaning=""),
        FactKey(name="acme.accl", meaning="", alike="collectives"),
        FactKey(name="acme.heat", meaning="", volatile=True),
        FactKey(name="acme.bridge", meaning=""),
        FactKey(name="acme.device.model", meaning="", instance="@bdf"),
        FactKey(name="acme.device.count", meaning=""),
        FactKey(name="acme.device.memory_mib", meaning="", instance="@bdf", unit="MiB"),
        FactKey(name="acme.module.parameter", meaning="", instance="name"),
        FactKey(name="acme.umd", meaning=""),
        FactKey(name="zeta.umd", meaning=""),
        FactKey(name="zeta.kmd", meaning=""),
        FactKey(name="zeta.zccl", meaning="", alike="collectives"),
        FactKey(name="zeta.device.model", meaning="", instance="@bdf"),
        FactKey(name="zeta.device.firmware", meaning="", instance="@bdf/unit"),
        FactKey(name="zeta.device.count", meaning=""),
        FactKey(name="zeta.module.parameter", meaning="", instance="name"),
        FactKey(name="pci.numa_node", meaning="", instance="@bdf"),
        FactKey(name="os.id", meaning=""),
    )
}


def fact(label: str, value: object, source: str = "a file", *, volatile: bool = False) -> Fact:
    key, _, instance = label.rstrip("]").partition("[")
    reading = value if isinstance(value, Absent | Unreadable) else Observed(value)  # type: ignore[arg-type] # the values of tests
    return Fact(key=key, instance=instance, reading=reading, source=source, volatile=volatile)


def snapshot(*facts: Fact) -> Snapshot:
    return Snapshot(
        node="n", view=View.HOST, taken_at=datetime(2026, 3, 2, tzinfo=UTC), facts=facts
    )


ACME = snapshot(
    fact("acme.kmd", "3.8"),
    fact("acme.kmd", "3.8", "another file"),
    fact("acme.kmd", Unreadable("no tool"), "a tool"),
    fact("acme.accl", "2.16"),
    fact("acme.umd", Absent()),
    fact("acme.heat", 50),
    fact("acme.bridge", "11.6"),
    fact("acme.device.count", 3),
    *(fact(f"acme.device.model[0:{n}]", "A1") for n in range(3)),
    fact("acme.device.memory_mib[0:0]", Unreadable("gone", passing=True)),
    fact("acme.module.parameter[one]", "1"),
    fact("zeta.kmd", Absent()),
    fact("zeta.device.count", 0),
    fact("pci.numa_node[0:0]", 0),
    fact("pci.numa_node[0:1]", 0),
    fact("os.id", "debian"),
)
ZETA = snapshot(
    fact("acme.kmd", Absent()),
    fact("acme.device.model", Absent()),
    fact("zeta.kmd", "550.1"),
    fact("zeta.zccl", Absent()),
    fact("zeta.device.count", 2),
    fact("zeta.device.model[1:0]", "Z9"),
    fact("zeta.device.model[1:1]", "Z8"),
    fact("zeta.device.firmware[1:0/boot]", "7"),
    fact("zeta.device.firmware[1:1/boot]", "7"),
    fact("zeta.device.firmware[1:1/heat]", "9", volatile=True),
    fact("zeta.module.parameter[two]", "2"),
    fact("pci.numa_node[1:0]", 1),
    fact("os.id", "ubuntu"),
)
SIDES: Comparison = compare(ACME, ZETA, KEYS, VENDORS)


def counterpart(name: str) -> Counterpart:
    return next(one for one in SIDES.counterparts if one.name == name)


def test_a_node_is_whose_cards_it_has() -> None:
    assert vendor(ACME, VENDORS) == "acme"
    assert vendor(ZETA, VENDORS) == "zeta"


def test_an_image_is_whose_software_it_has() -> None:
    assert vendor(snapshot(fact("zeta.zccl", "2"), fact("acme.kmd", Absent())), VENDORS) == "zeta"


def test_a_node_of_both_or_of_none_is_nobodys() -> None:
    both = snapshot(fact("acme.device.model[0:0]", "A1"), fact("zeta.device.model[1:0]", "Z9"))
    assert vendor(both, VENDORS) == ""
    assert vendor(snapshot(fact("acme.device.count", 0)), VENDORS) == ""
    assert vendor(snapshot(), VENDORS) == ""


def test_nodes_of_one_vendor_with_cards_in_the_same_places_have_no_counterparts() -> None:
    other = snapshot(*ACME.facts, fact("acme.device.model[0:2]", "A2"))
    compared = compare(ACME, other, KEYS, VENDORS)
    assert compared.counterparts == ()
    assert compared.others == compared.differences == diff(ACME, other, KEYS)
    assert compare(ACME, snapshot(), KEYS, VENDORS).counterparts == ()


def test_cards_of_one_vendor_in_other_places_are_counted() -> None:
    moved = snapshot(
        fact("acme.kmd", "3.9"),
        fact("acme.device.model[9:1]", "A1"),
        fact("acme.device.model[9:2]", "A2"),
        fact("pci.numa_node[9:1]", 0),
    )
    compared = compare(ACME, moved, KEYS, VENDORS)
    counted = {one.name: one for one in compared.counterparts}
    assert counted.keys() == {"acme.device.model", "acme.device.memory_mib", "pci.numa_node"}
    assert counted["acme.device.model"].before.items == (Item("", Observed("A1"), 3),)
    assert counted["acme.device.model"].after.items == (
        Item("", Observed("A1"), 1),
        Item("", Observed("A2"), 1),
    )
    assert "acme.kmd" in {one.key for one in compared.others}
    assert not {one.key for one in compared.others} & counted.keys()
    assert compared.differences == diff(ACME, moved, KEYS)


def test_all_differences_are_there_whatever_stands_beside() -> None:
    assert SIDES.differences == diff(ACME, ZETA, KEYS)


def test_facts_of_one_name_stand_side_by_side_without_their_sources() -> None:
    assert counterpart("kmd") == Counterpart(
        name="kmd",
        before=Side(vendor="acme", key="acme.kmd", items=(Item("", Observed("3.8"), 0),)),
        after=Side(vendor="zeta", key="zeta.kmd", items=(Item("", Observed("550.1"), 0),)),
    )


def test_what_a_key_is_like_counts_before_its_name() -> None:
    both = counterpart("collectives")
    assert (both.before.key, both.after.key) == ("acme.accl", "zeta.zccl")
    assert both.after.items == (Item("", Absent(), 0),)


def test_cards_that_read_the_same_are_counted() -> None:
    models = counterpart("device.model")
    assert models.before.items == (Item("", Observed("A1"), 3),)
    assert models.after.items == (Item("", Observed("Z9"), 1), Item("", Observed("Z8"), 1))


def test_a_unit_of_a_card_keeps_its_name_and_loses_the_address() -> None:
    firmware = counterpart("device.firmware")
    assert firmware.before == Side(vendor="acme", key="")
    assert firmware.after.items == (Item("boot", Observed("7"), 2),)


def test_what_could_not_be_read_is_shown_with_its_unit() -> None:
    memory = counterpart("device.memory_mib").before
    assert memory.items == (Item("", Unreadable("gone", passing=True), 1),)
    assert memory.unit == "MiB"


def test_instances_that_are_no_addresses_keep_their_names() -> None:
    both = counterpart("module.parameter")
    assert both.before.items == (Item("one", Observed("1"), 0),)
    assert both.after.items == (Item("two", Observed("2"), 0),)


def test_a_place_on_the_bus_stands_beside_another() -> None:
    both = counterpart("pci.numa_node")
    assert both.before == Side(vendor="", key="pci.numa_node", items=(Item("", Observed(0), 2),))
    assert both.after.items == (Item("", Observed(1), 1),)


def test_what_changes_by_itself_or_is_on_neither_side_is_left_out() -> None:
    names = {one.name for one in SIDES.counterparts}
    assert names.isdisjoint({"heat", "umd"})
    assert "bridge" in names
    assert names.isdisjoint({"os.id", ""})


def test_what_the_counterparts_say_is_not_said_again() -> None:
    assert [one.key for one in SIDES.others] == ["os.id"]


def test_what_a_node_has_of_the_other_vendor_as_well_is_said() -> None:
    also = snapshot(*ACME.facts, fact("zeta.zccl", "2.0"), fact("zeta.module.parameter[x]", "1"))
    others = compare(also, ZETA, KEYS, VENDORS).others
    assert [one.label for one in others] == ["os.id", "zeta.module.parameter[x]", "zeta.zccl"]


def test_what_both_nodes_lack_of_a_third_vendor_is_not_said() -> None:
    keys = {**KEYS, "third.kmd": FactKey(name="third.kmd", meaning="")}
    one = snapshot(*ACME.facts, fact("third.kmd", Absent()))
    compared = compare(one, ZETA, keys, (*VENDORS, "third"))
    assert [difference.key for difference in compared.others] == ["os.id"]


def test_a_key_that_nobody_declared_is_still_a_difference() -> None:
    odd = snapshot(*ACME.facts, fact("odd.thing", "1"))
    assert "odd.thing" in {one.key for one in compare(odd, ZETA, KEYS, VENDORS).others}
