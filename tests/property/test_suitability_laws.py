from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from mxenv.api import matrices
from mxenv.format_fit import Cards
from mxenv.inventory import Hit, Inventory, Phase, Stored, Use
from mxenv.inventory_difference import compare
from mxenv.inventory_table import sections
from mxenv.judgement import waive
from mxenv.matrix import FORMATS
from mxenv.number_format import cards
from mxenv.operator_coverage import cover
from mxenv.operator_decision import Class
from mxenv.operator_difference import of_all, of_model
from mxenv.operator_findings import shares
from mxenv.operator_place import Basis, Platform
from mxenv.operator_platform import of_card
from mxenv.operator_table import Entry, How, Table
from mxenv.porting import KINDS
from mxenv.suitability import findings
from mxenv.verdict import Outcome, Verdict, Waiver

if TYPE_CHECKING:
    from mxenv.matrix import Matrix

TODAY = date(2026, 11, 30)
NAMES = st.sampled_from((*FORMATS, "nf4", "int5", "unknown"))
STORED = st.builds(
    Stored,
    scheme=st.sampled_from(("plain", "gptq", "fp8-block")),
    weights=NAMES,
    activations=st.one_of(st.just(""), NAMES),
    tensors=st.integers(0, 3),
    bytes=st.integers(0, 1 << 40),
)
HITS = st.builds(
    Hit,
    file=st.sampled_from(("a.cu", "b.py")),
    line=st.integers(1, 3),
    kind=st.sampled_from((*KINDS, "quantum")),
    name=st.sampled_from(("", "add")),
    area=st.sampled_from(("main", "test", "vendored", "other platform")),
)
ENTRIES = {
    "aten::mm.default": Entry(how=How.NATIVE),
    "aten::add.Tensor": Entry(how=How.COMPOSITE, via=("aten::mm.default",)),
    "aten::slow.default": Entry(how=How.FALLBACK),
    "aten::no.default": Entry(how=How.MISSING),
    "aten::odd.default": Entry(how=How.UNKNOWN),
}
OPERATORS = (*ENTRIES, "aten::new.default", "mine::op.default", "aten::copy_.default")
USES = st.builds(
    Use,
    operator=st.sampled_from(OPERATORS),
    phase=st.sampled_from(list(Phase)),
    dtypes=st.sampled_from(((), ("bf16",), ("f32", "f32"))),
    calls=st.integers(0, 9),
    one_of=st.sampled_from(((), ("aten::mm.default", "aten::no.default"))),
)
TABLES = st.dictionaries(st.sampled_from(OPERATORS), st.sampled_from(list(ENTRIES.values()))).map(
    lambda entries: Table(torch="2.8.0+metax3.5.3.9", key="CUDA", entries=entries)
)
BASES = st.sampled_from(list(Basis))
INVENTORIES = st.builds(
    Inventory,
    name=st.just("demo"),
    reader=st.just("checkpoint"),
    source=st.just("sha256:0"),
    dtype=st.one_of(st.just(""), NAMES),
    formats=st.lists(STORED, max_size=4).map(tuple),
    hits=st.lists(HITS, max_size=6).map(tuple),
    uses=st.lists(USES, max_size=4).map(tuple),
    gaps=st.lists(st.sampled_from(("one", "two: why")), max_size=2).map(tuple),
)


@cache
def matrix() -> Matrix:
    return matrices.load(matrices.Sources())


CARDS = st.sampled_from((*cards(matrix()), "nobody's"))


@st.composite
def platforms(draw: st.DrawFn) -> Platform:
    place = of_card(draw(CARDS), matrix())
    return replace(place, table=draw(TABLES), basis=draw(BASES))


def judged(
    inventory: Inventory, card: str, *, each: bool = False, there: Platform | None = None
) -> Verdict:
    platform = Cards(name=card, models=(card,), memory=(65536,))
    coverage = cover(inventory, there or of_card(card, matrix()))
    found = tuple(findings(coverage, platform, matrix(), each=each))
    return Verdict(subject="demo", findings=found, shares=shares(coverage))


@given(INVENTORIES, platforms(), st.data())
def test_how_finely_places_are_told_changes_no_outcome_whatever_is_waived(
    inventory: Inventory, there: Platform, data: st.DataObject
) -> None:
    card = "C500"
    plain = judged(inventory, card, there=there)
    each = judged(inventory, card, each=True, there=there)
    assert plain.outcome is each.outcome
    subjects = sorted({(one.code, one.subject) for one in plain.findings})
    assert subjects == sorted({(one.code, one.subject) for one in each.findings})
    waived = [waiver(*one) for one in subjects if data.draw(st.booleans())]
    outcomes = {
        replace(verdict, findings=waive(verdict.findings, waived, TODAY)).outcome
        for verdict in (plain, each)
    }
    assert len(outcomes) == 1


def waiver(code: str, subject: str) -> Waiver:
    return Waiver(code=code, subject=subject, reason="r", owner="o", expires=TODAY)


@given(INVENTORIES, CARDS, STORED, HITS)
def test_what_a_model_asks_for_beside_all_else_never_makes_it_fit_better(
    inventory: Inventory, card: str, stored: Stored, hit: Hit
) -> None:
    before = judged(inventory, card)
    more = replace(inventory, formats=(*inventory.formats, stored), hits=(*inventory.hits, hit))
    if any(finding.counts for finding in before.findings):
        assert judged(more, card).outcome <= before.outcome


@given(INVENTORIES, platforms(), USES)
def test_one_operator_more_never_makes_a_model_run_better(
    inventory: Inventory, there: Platform, use: Use
) -> None:
    before = judged(inventory, "C500", there=there)
    after = judged(replace(inventory, uses=(*inventory.uses, use)), "C500", there=there)
    if any(finding.counts for finding in before.findings):
        assert after.outcome <= before.outcome


@given(INVENTORIES, platforms())
def test_every_operator_and_call_is_in_exactly_one_class(
    inventory: Inventory, there: Platform
) -> None:
    made = judged(inventory, "C500", there=there).shares
    assert (made is None) is (not inventory.uses)
    if made is not None:
        assert sum(one.operators for one in made.classes) == len(inventory.operators)
        assert made.calls == inventory.calls
        assert made.gaps == len(inventory.gaps)


@given(INVENTORIES, platforms())
def test_what_no_build_of_the_platform_said_is_supported_by_rows_alone(
    inventory: Inventory, there: Platform
) -> None:
    if there.basis is not Basis.TARGET:
        for one in cover(inventory, there).operators:
            assert one.decision.row or one.decision.found is Class.UNKNOWN


@given(INVENTORIES, platforms())
def test_a_platform_does_not_differ_from_itself(inventory: Inventory, there: Platform) -> None:
    assert of_model(inventory, there, there) == ()
    assert of_all(there, there) == ()


@given(INVENTORIES, CARDS)
def test_what_is_not_known_is_never_compatible(inventory: Inventory, card: str) -> None:
    outcome = judged(inventory, card).outcome
    said = (inventory.formats, inventory.dtype, inventory.hits)
    if inventory.gaps or inventory.uses or not any(said):
        assert outcome is not Outcome.COMPATIBLE
    if card == "nobody's":
        assert outcome is not Outcome.INCOMPATIBLE


@given(INVENTORIES)
def test_every_hit_is_counted_once_for_people(inventory: Inventory) -> None:
    rows = {section.kind: section.rows for section in sections(inventory, whole=True)}
    places = sum(int(row[1]) for row in rows.get("effort", ()))
    assert places == sum(int(row[1]) for row in rows.get("kind", ()))
    assert places == len(rows.get("place", ()))
    beside = sum(int(row[1]) for row in rows.get("area", ()))
    odd = [hit for hit in inventory.hits if hit.area != "main" or hit.kind not in KINDS]
    assert beside == len(odd)
    assert places <= len(inventory.hits) - len(odd)


@given(INVENTORIES, INVENTORIES)
def test_differences_turned_round_are_those_of_the_other_side(
    left: Inventory, right: Inventory
) -> None:
    there = {(one.part, one.name): (one.before, one.after) for one in compare(left, right)}
    back = {(one.part, one.name): (one.after, one.before) for one in compare(right, left)}
    assert there == back
    assert compare(left, left) == ()
