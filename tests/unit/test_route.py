"""The shortest way to a known set changes what has to be changed, and a driver last of all."""

from __future__ import annotations

from _stacks import DARK, ENV, matrix, node

from mxenv.facts import Snapshot, View
from mxenv.route import Change, Way, ways
from mxenv.stack import stack

ROWS = """
[[release]]
id = "a"
sdk = "3.5.3.*"
components = { torch = "2.8.0+metax3.5.3.9", flash-attn = "2.6.3+metax3.5.3.9torch2.8" }
EVIDENCE
[[release]]
id = "b"
sdk = "3.7.0.*"
components = { torch = "2.8.*", vllm = "0.20.0", apex = "0.1+metax3.7.0.7" }
EVIDENCE
[[release]]
id = "c"
sdk = "3.8.0.7"
components = { torch = "2.10.*" }
EVIDENCE
[[release]]
id = "short"
sdk = "3.9"
components = { torch = "2.11.*" }
EVIDENCE
[[tested]]
id = "t"
card = "C500"
kmd = "3.8.30"
sdk = "3.5.3.20"
works = true
EVIDENCE
[[tested]]
id = "u"
card = "C500"
kmd = "3.4.3"
sdk = "3.7.0.38"
packages = { torch = "2.8.0+metax3.7.0.7" }
works = true
EVIDENCE
[[tested]]
id = "elsewhere"
card = "X201"
kmd = "3.8.30"
sdk = "3.7.0.37"
works = true
EVIDENCE
""".replace('sdk = "3.9"', 'sdk = "3.9.*"')
MIXED = {
    "torch": "2.8.0+metax3.5.3.9",
    "flash-attn": "2.6.3+metax3.7.0.7torch2.8",
    "apex": "0.1+metax3.7.0.7",
}


def found(given: Snapshot, rows: str = ROWS) -> dict[str, list[Way]]:
    ordered: dict[str, list[Way]] = {}
    for way in ways(stack(given, ENV), matrix(rows)):
        ordered.setdefault(way.row.id, []).append(way)
    return ordered


def said(way: Way) -> list[tuple[str, str, str]]:
    return [(change.component, change.before, change.after) for change in way.changes]


def test_a_node_that_is_there_has_no_way_to_go() -> None:
    way = ways(stack(node({"torch": "2.8.0+metax3.5.3.9"}), ENV), matrix(ROWS))[0]
    assert (way.row.id, way.changes, way.cost) == ("a", (), 0)


def test_the_odd_wheel_is_changed_and_what_was_built_for_another_sdk_goes() -> None:
    way = found(node(MIXED))["a"][0]
    assert said(way) == [
        ("flash-attn", "2.6.3+metax3.7.0.7torch2.8", "2.6.3+metax3.5.3.9torch2.8"),
        ("apex", "0.1+metax3.7.0.7", ""),
    ]
    assert way.cost == 2


def test_what_was_built_for_another_sdk_is_replaced_where_a_build_is_published() -> None:
    rows = ROWS + (
        '[[release]]\nid = "d"\nsdk = "3.5.3.*"\n'
        'components = { apex = "0.1+metax3.5.3.9", vllm = "1" }\nEVIDENCE\n'
    )
    apex = found(node(MIXED), rows)["a"][0].changes[-1]
    assert apex == Change(
        component="apex", before="0.1+metax3.7.0.7", after="0.1+metax3.5.3.9", exact=False
    )


def test_an_sdk_is_more_work_than_wheels_and_a_driver_more_than_an_sdk() -> None:
    order = [(way.row.id, way.cost) for way in ways(stack(node(MIXED), ENV), matrix(ROWS))]
    assert order == [("a", 2), ("t", 2), ("b", 51), ("c", 53), ("u", 1051), ("b", 1051)]


def test_a_family_becomes_the_sdk_that_was_tested() -> None:
    plain, tested = found(node(MIXED))["b"]
    assert said(plain)[0] == ("metax.sdk", "3.5.3.20", "3.7.0.38")
    assert said(tested)[:2] == [
        ("metax.kmd", "3.8.30", "3.4.3"),
        ("metax.sdk", "3.5.3.20", "3.7.0.38"),
    ]
    assert [change.exact for change in plain.changes if change.component == "torch"] == [False]
    own = found(node(MIXED, kmd="3.4.3"))["b"]
    assert [said(way)[0] for way in own] == [("metax.sdk", "3.5.3.20", "3.7.0.38")]


def test_a_line_becomes_a_build_that_some_row_has_or_one_for_the_family() -> None:
    builds = {change.component: change.after for change in found(node(MIXED))["c"][0].changes}
    assert builds["torch"] == "2.10.0+metax3.8.0.0"
    assert ("torch", "2.8.0+metax3.5.3.9", "2.8.0+metax3.7.0.7") in said(found(node(MIXED))["b"][0])


def test_a_framework_without_a_build_tag_becomes_the_vendors() -> None:
    rows = (
        '[[release]]\nid = "p"\nsdk = "3.5.3.*"\n'
        'components = { torch = "2.6.0", vllm = "0.9" }\nEVIDENCE\n'
    )
    way = found(node({"torch": "2.6.0+cu124", "vllm": "0.8"}), rows)["p"][0]
    assert [(c.component, c.after, c.exact) for c in way.changes] == [
        ("torch", "2.6.0+metax3.5.3.0", False),
        ("vllm", "0.9", True),
    ]


def test_a_family_that_nobody_tested_begins_at_nought() -> None:
    rows = '[[release]]\nid = "p"\nsdk = "3.9.1.*"\ncomponents = { vllm = "0.9" }\nEVIDENCE\n'
    assert said(found(node({"vllm": "0.9"}), rows)["p"][0]) == [
        ("metax.sdk", "3.5.3.20", "3.9.1.0")
    ]


def test_what_a_set_brings_beyond_the_node_is_installed_only_if_nothing_of_it_is_there() -> None:
    names = [change.component for change in found(node(MIXED))["b"][0].changes]
    assert "vllm" not in names
    bare = [change.component for change in found(node())["b"][0].changes]
    assert {"vllm", "torch", "apex"} <= set(bare)


def test_what_was_tested_on_other_cards_is_no_way() -> None:
    assert "elsewhere" not in found(node(MIXED))
    assert "elsewhere" in found(node(MIXED, model="X201"))


def test_a_node_without_a_card_is_near_to_nothing() -> None:
    assert found(node(MIXED, model=None, count=0)) == {}
    assert found(node(MIXED, model=None, count=0, view=View.IMAGE)) != {}


def test_a_release_for_no_whole_family_is_no_way() -> None:
    rows = '[[release]]\nid = "p"\nsdk = "3.9.*"\ncomponents = { vllm = "0.9" }\nEVIDENCE\n'
    assert found(node(MIXED), rows) == {}


def test_an_image_has_no_driver_to_change() -> None:
    image = node(MIXED, view=View.IMAGE)
    changed = {c.component for many in found(image).values() for way in many for c in way.changes}
    assert "metax.sdk" in changed
    assert "metax.kmd" not in changed


def test_a_driver_that_could_not_be_read_is_one_to_be_put_there() -> None:
    ways_ = found(node(MIXED, kmd=DARK))["t"]
    assert said(ways_[0])[0] == ("metax.kmd", "", "3.8.30")


def test_two_ways_of_one_kind_are_one() -> None:
    rows = ROWS.replace('id = "short"', 'id = "twin"').replace(
        'sdk = "3.9.*"\ncomponents = { torch = "2.11.*" }',
        'sdk = "3.8.0.7"\ncomponents = { torch = "2.10.*" }',
    )
    assert "twin" not in found(node(MIXED), rows)
