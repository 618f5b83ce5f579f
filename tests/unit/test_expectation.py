"""Another node is not judged in the place of the one that was meant."""

from __future__ import annotations

import pytest
from _stacks import DARK, GONE, KEYS, fact, node, snapshot

from mxenv.errors import UsageError
from mxenv.expectation import Expectation, findings
from mxenv.facts import FactKey, Snapshot
from mxenv.verdict import Outcome

BOTH = {**KEYS, "nvidia.device.count": FactKey(name="nvidia.device.count", meaning="")}
NONE = (fact("metax.device.count", GONE), fact("nvidia.device.count", GONE))
EIGHT = snapshot(fact("metax.device.count", 8), fact("nvidia.device.count", GONE))


def outcome(text: str, given: Snapshot) -> Outcome:
    return Expectation(text, keys=BOTH).found(given)[0]


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("accelerators>=1", EIGHT, Outcome.COMPATIBLE),
        ("accelerators == 8", EIGHT, Outcome.COMPATIBLE),
        (" accelerators >= 9", EIGHT, Outcome.INCOMPATIBLE),
        (
            "accelerators>=1",
            snapshot(fact("metax.device.count", 0), fact("nvidia.device.count", 0)),
            Outcome.INCOMPATIBLE,
        ),
        ("accelerators>=1", snapshot(*NONE), Outcome.INCOMPATIBLE),
        ("accelerators == 0", snapshot(*NONE), Outcome.COMPATIBLE),
        ("accelerators>=1", snapshot(), Outcome.UNKNOWN),
        ("accelerators == 0", snapshot(), Outcome.UNKNOWN),
        ("accelerators>=1", snapshot(fact("nvidia.device.count", GONE)), Outcome.UNKNOWN),
        ("accelerators>=1", snapshot(fact("metax.device.count", 1)), Outcome.COMPATIBLE),
        ("accelerators == 1", snapshot(fact("metax.device.count", 1)), Outcome.UNKNOWN),
        ("accelerators>=1", snapshot(fact("metax.device.count", "many")), Outcome.UNKNOWN),
        ("accelerators>=1", snapshot(fact("metax.device.count", DARK)), Outcome.UNKNOWN),
        ("metax.sdk == 3.5.3.*", node(), Outcome.COMPATIBLE),
        ("metax.sdk < 3", node(), Outcome.INCOMPATIBLE),
        ("metax.sdk < 3", node(sdk=DARK), Outcome.UNKNOWN),
    ],
)
def test_what_is_expected_is_held_against_the_node(
    text: str, given: Snapshot, expected: Outcome
) -> None:
    assert outcome(text, given) is expected


def test_a_count_that_is_not_known_may_be_any() -> None:
    some = snapshot(fact("metax.device.count", 8), fact("nvidia.device.count", DARK))
    assert outcome("accelerators>=1", some) is Outcome.COMPATIBLE
    assert outcome("accelerators>=9", some) is Outcome.UNKNOWN
    assert outcome("accelerators==8", some) is Outcome.UNKNOWN
    assert outcome("accelerators<=8", some) is Outcome.UNKNOWN


def test_a_finding_says_what_is_there() -> None:
    wanted = [Expectation(text, keys=BOTH) for text in ("accelerators>=9", "metax.sdk present")]
    cards, sdk = findings(wanted, node(count=1))
    assert (cards.code, cards.subject, cards.expected) == (
        *("MX192", "accelerators"),
        "accelerators>=9",
    )
    assert cards.outcome is Outcome.UNKNOWN
    assert cards.found == (
        "accelerators: 1 (metax.device.count: 1, nvidia.device.count: unreadable, not asked)"
    )
    assert (sdk.code, sdk.subject, sdk.remedy) == ("MX191", "metax.sdk", "")
    assert sdk.found == "metax.sdk: 3.5.3.20 (test, host)"
    (dark,) = findings(wanted[:1], snapshot(fact("metax.device.count", DARK)))
    assert "unreadable, permission denied" in dark.found
    (none,) = findings(wanted[:1], snapshot(*NONE))
    assert "no vendor's tool or driver tells of any" in none.found


def test_it_says_which_facts_it_looks_at() -> None:
    assert Expectation("accelerators>=1", keys=BOTH).keys == {
        "metax.device.count",
        "nvidia.device.count",
    }
    assert Expectation("metax.sdk present", keys=BOTH).keys == {"metax.sdk"}


@pytest.mark.parametrize("text", ["accelerators", "accelerators>=", "accelerator>=1", "x"])
def test_what_cannot_be_expected_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Expectation(text, keys=BOTH)
    with pytest.raises(UsageError):
        Expectation(text, keys={})


@pytest.mark.parametrize("word", ["acelerators", "accelerator", "Accelerators", "accelerators_"])
@pytest.mark.parametrize("test", ["", ">=1", " == 8", " in (1, 2)"])
def test_a_misspelt_word_for_cards_is_named_with_the_right_one(word: str, test: str) -> None:
    with pytest.raises(UsageError) as refused:
        Expectation(f" {word}{test}", keys=BOTH)
    assert refused.value.hint == "did you mean 'accelerators'?"


def test_what_is_near_to_nothing_is_told_all_that_is_known() -> None:
    with pytest.raises(UsageError) as refused:
        Expectation("zzz>=1", keys=BOTH)
    assert refused.value.hint.startswith("known: accelerators, ")
