from __future__ import annotations

import pytest
from _stacks import DARK, ENV, GONE, fact, node, snapshot

from mxenv.facts import View
from mxenv.stack import listed, pins, sdk_family, stack


@pytest.mark.parametrize(
    ("pin", "installed", "expected"),
    [
        ("2.8.0+metax3.5.3.9", "2.8.0+metax3.5.3.9", True),
        ("2.8.0+metax3.5.3.9", "2.8.0+metax3.5.3.10", False),
        ("2.8.0+metax3.5.3.9", "2.8.0", False),
        ("0.4.4", "0.4.4+maca3.5.3.20.torch2.8", True),
        ("0.4.4", "0.4.4+maca3.7.0.37.torch2.8", False),
        ("0.4.4", "0.4.4", True),
        ("0.4.4", "0.4.4+gcce172.d20260529", True),
        ("0.4.4", "0.4.4+cu124", False),
        ("0.4.4", "0.4.4+maca", False),
        ("0.4.4", "0.4.5", False),
        ("2.8.*", "2.8.0+metax3.5.3.9", True),
        ("2.8.*", "2.10.0+metax3.5.3.9", False),
        ("2.8.*", "2.8.0+metax3.7.0.7", False),
        ("2.8.*", "2.8.0", False),
        ("2.8.*", "2.8.0+cu124", False),
    ],
)
def test_a_row_means_one_build_a_version_or_a_line(
    pin: str, installed: str, *, expected: bool
) -> None:
    assert pins(pin, installed, "3.5.3.*") is expected


def test_a_stack_has_a_driver_an_sdk_and_distributions() -> None:
    found = stack(node({"torch": "2.8.0+metax3.5.3.9", "numpy": "1.26.4"}), ENV)
    assert (found.kmd.version, found.sdk.version, found.cards) == ("3.8.30", "3.5.3.20", ("C500",))
    assert found.versions == {"torch": "2.8.0+metax3.5.3.9", "numpy": "1.26.4"}
    assert [package.name for package in found.tagged] == ["torch"]
    assert (found.no_cards, found.nothing, found.image, found.unread) == (False, False, False, ())


def test_one_distribution_in_two_places_is_one() -> None:
    twice = fact(f"python.package[{ENV}/torch]", "2.8.0", "elsewhere")
    assert len(stack(node({"torch": "2.8.0"}, twice), ENV).packages) == 1


def test_an_ambiguous_stack_has_no_distributions() -> None:
    found = stack(node({"torch": "2.8.0"}), None, ambiguous=True)
    assert (found.packages, found.unread) == ((), ())


def test_what_could_not_be_read_is_kept() -> None:
    found = stack(node({"torch": DARK, "apex": "0.1"}), ENV)
    assert [seen.found for seen in found.unread] == [
        "python.package[/opt/conda/torch]: unreadable, permission denied (test, host)"
    ]
    assert stack(snapshot(), None).unread[0].found == "python.package: unreadable, not asked"


def test_what_another_source_could_read_is_not_hidden() -> None:
    again = fact(f"python.package[{ENV}/torch]", "2.8.0", "elsewhere")
    assert stack(node({"torch": DARK}, again), ENV).unread == ()


def test_a_node_without_cards_is_known_to_have_none() -> None:
    bare = node(kmd=GONE, sdk=GONE, count=0, model=None)
    assert stack(bare, None).no_cards
    assert stack(bare, None).nothing
    assert not stack(node(sdk=GONE, count=DARK, model=None), None).no_cards
    assert not stack(node(kmd=GONE, sdk=GONE), None).no_cards
    assert not stack(node({"apex": "0.1+metax3.5.3.9"}, sdk=GONE, count=0, model=None), ENV).nothing


def test_an_image_without_an_sdk_is_known_to_have_nothing() -> None:
    assert stack(node(sdk=GONE, kmd=DARK, count=None, model=None, view=View.IMAGE), None).nothing


def test_long_lists_are_cut() -> None:
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d", "e"], "; ") == "a; b; c and 2 more"


def test_a_family_of_fewer_fields_is_none() -> None:
    assert sdk_family("3.5.3.20") == "3.5.3"
    assert sdk_family("3.6") == ""
