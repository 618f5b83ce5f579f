from __future__ import annotations

import pytest
from _stacks import matrix

from mxenv.format_fit import Cards, counted, fit, memory
from mxenv.inventory import Inventory, Stored
from mxenv.verdict import Finding, Outcome

ROW = '[[format]]\nid = "{}"\ncards = [{}]\nformats = [{}]\nsupport = "{}"\nEVIDENCE\n'
MATRIX = matrix(
    "".join(
        ROW.format(*values)
        for values in (
            ("plain", '"C500", "C588"', '"fp32", "bf16", "int8"', "native"),
            ("no8", '"C500"', '"fp8"', "no"),
            ("some8", '"C500", "C550"', '"fp8"', "software"),
            ("packed", '"C500"', '"int4"', "software"),
            ("open", '"C588"', '"fp8"', "unknown"),
            ("none", '"C588", "C600"', '"int4"', "no"),
        )
    )
)
C500 = Cards(name="C500", models=("C500",))
GIB = 1 << 30


def stored(weights: str, activations: str = "", *, scheme: str = "plain", size: int = 0) -> Stored:
    return Stored(
        scheme=scheme, weights=weights, activations=activations, tensors=size and 2, bytes=size
    )


def found(*formats: Stored, dtype: str = "", cards: Cards = C500, code: str = "") -> list[Finding]:
    inventory = Inventory(
        name="demo", reader="checkpoint", source="sha256:0", dtype=dtype, formats=formats
    )
    return [one for one in fit(inventory, cards, MATRIX) if code in one.code]


def test_what_a_card_computes_in_is_fine_with_the_evidence_of_the_row() -> None:
    (weights, computing) = found(stored("bf16", "bf16"))
    assert (weights.code, weights.outcome) == ("MX601", Outcome.COMPATIBLE)
    assert (computing.code, computing.outcome) == ("MX602", Outcome.COMPATIBLE)
    assert weights.subject == "weights in bf16 on C500"
    assert weights.found == "by its configuration; C500 computes in it"
    assert weights.row == "test.toml:format:plain"
    assert weights.because
    assert weights.remedy == ""


def test_where_sources_contradict_each_other_the_worst_counts_and_that_is_said() -> None:
    weights, computing, _ = found(stored("fp8", "fp8", scheme="fp8-block", size=3 * GIB))
    assert weights.outcome is computing.outcome is Outcome.INCOMPATIBLE
    assert weights.subject == "weights in fp8 (fp8-block) on C500"
    assert weights.found == (
        "2 tensors, 3.0 GiB; C500 neither holds it nor computes in it, "
        "if the worst of what is said holds (no by no8, software by some8)"
    )
    assert weights.row == "test.toml:format:no8"


def test_the_remedy_names_what_the_card_does_have() -> None:
    (weights,) = found(stored("fp8"))
    assert weights.remedy == (
        "Unpack the weights into bf16 (twice the memory); or take a checkpoint "
        "in int8 (W8A8) or packed into int4 by GPTQ or AWQ."
    )
    (weights,) = found(stored("int4"), cards=Cards(name="C588", models=("C588",)))
    assert weights.remedy == (
        "Unpack the weights into bf16 (four times the memory); or take a checkpoint in int8 (W8A8)."
    )


def test_a_card_that_is_known_for_nothing_has_no_remedy_but_to_ask() -> None:
    (weights,) = found(stored("int4"), cards=Cards(name="C600", models=("C600",)))
    assert weights.outcome is Outcome.INCOMPATIBLE
    assert weights.remedy.startswith("Ask the vendor, or measure it")


def test_weights_that_are_only_held_are_fine_and_products_in_them_are_not_known() -> None:
    weights, computing = found(stored("int4", "int4", scheme="gptq"))
    assert weights.outcome is Outcome.COMPATIBLE
    assert weights.found.endswith("C500 holds it, and computes in another one")
    assert computing.outcome is Outcome.UNKNOWN
    assert computing.remedy == (
        "Unpack the weights into bf16 (four times the memory); or take a checkpoint in int8 (W8A8)."
    )


@pytest.mark.parametrize("name", ["nf4", "int5", "unknown", "fp64"])
def test_a_format_of_which_no_row_speaks_is_unknown(name: str) -> None:
    (weights,) = found(stored(name))
    assert weights.outcome is Outcome.UNKNOWN
    assert weights.found == "by its configuration; no row speaks of it on C500"
    assert (weights.row, weights.because) == ("", ())
    assert weights.remedy.startswith("Ask the vendor, or measure it")
    assert ("a format that is not known" in weights.subject) == (name == "unknown")


def test_that_somebody_did_not_find_out_is_unknown() -> None:
    (weights,) = found(stored("fp8"), cards=Cards(name="C588", models=("C588",)))
    assert weights.outcome is Outcome.UNKNOWN
    assert weights.found.endswith("whether C588 does is not known")
    assert weights.row == "test.toml:format:open"


def test_what_a_model_computes_in_is_held_against_the_card_without_any_weights() -> None:
    assert [one.subject for one in found(dtype="bf16")] == ["computing in bf16 on C500"]


def test_two_entries_of_one_format_are_one_finding() -> None:
    formats = (
        Stored(scheme="gguf", weights="int4", tensors=1, bytes=2048, note="Q4_0"),
        Stored(scheme="gguf", weights="int4", tensors=2, bytes=1, note="Q4_K"),
    )
    (weights,) = found(*formats, code="MX601")
    assert weights.found.startswith("1 tensor, 2.0 KiB, Q4_0; 2 tensors, 1 bytes, Q4_K; C500")


def test_every_model_of_card_is_held_against() -> None:
    both = Cards(name="node", models=("C500", "C588"))
    assert [one.subject for one in found(stored("bf16"), cards=both)] == [
        "weights in bf16 on C500",
        "weights in bf16 on C588",
    ]


@pytest.mark.parametrize("why", ["", "no card was seen"])
def test_a_platform_without_a_card_is_unknown(why: str) -> None:
    (one,) = found(stored("bf16"), cards=Cards(name="node", why=why))
    assert (one.code, one.outcome, one.subject) == ("MX604", Outcome.UNKNOWN, "node")
    assert one.found == (why or "no card is known")


class TestMemory:
    """It is told, and counts neither way."""

    @staticmethod
    def told(size: int, *cards: int) -> Finding:
        platform = Cards(name="node", models=("C500",), memory=cards)
        (one,) = found(stored("bf16", size=size), cards=platform, code="MX603")
        assert one.advice
        assert not one.counts
        return one

    def test_what_fits_on_one_card_is_said(self) -> None:
        one = self.told(8 * GIB, 65536)
        assert one.outcome is Outcome.COMPATIBLE
        assert one.found == "8.0 GiB of weights; there is one card, of 64.0 GiB"

    def test_what_fits_on_several_cards_has_to_be_split(self) -> None:
        one = self.told(130 * GIB, 65536, 65536, 65536)
        assert one.outcome is Outcome.UNKNOWN
        assert one.found == (
            "130.0 GiB of weights; there are 3 cards, the smallest of 64.0 GiB; "
            "they have to be split over 3 of them at least"
        )
        assert one.remedy

    def test_what_does_not_fit_at_all_is_said(self) -> None:
        one = self.told(130 * GIB, 65536)
        assert one.found.endswith("one card, of 64.0 GiB; they do not fit, all cards together")

    def test_of_a_card_that_is_only_named_the_memory_is_not_known(self) -> None:
        one = self.told(8 * GIB)
        assert one.outcome is Outcome.COMPATIBLE
        assert one.found == "8.0 GiB of weights; how much memory there is on node is not known"


def test_sizes_and_counts_read_as_people_say_them() -> None:
    assert [memory(size) for size in (0, 1023, 1 << 20, 3 << 29)] == [
        "0 bytes",
        "1023 bytes",
        "1.0 MiB",
        "1.5 GiB",
    ]
    assert (counted(1, "place"), counted(2, "place")) == ("1 place", "2 places")
