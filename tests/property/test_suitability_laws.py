from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from mxenv.api import matrices
from mxenv.format_fit import Cards
from mxenv.inventory import Hit, Inventory, Stored
from mxenv.inventory_difference import compare
from mxenv.inventory_table import sections
from mxenv.judgement import waive
from mxenv.matrix import FORMATS
from mxenv.number_format import cards
from mxenv.operator_coverage import cover
from mxenv.operator_decision import Platform
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
INVENTORIES = st.builds(
    Inventory,
    name=st.just("demo"),
    reader=st.just("checkpoint"),
    source=st.just("sha256:0"),
    dtype=st.one_of(st.just(""), NAMES),
    formats=st.lists(STORED, max_size=4).map(tuple),
    hits=st.lists(HITS, max_size=6).map(tuple),
    gaps=st.lists(st.sampled_from(("one", "two: why")), max_size=2).map(tuple),
)


@cache
def matrix() -> Matrix:
    return matrices.load(matrices.Sources())


CARDS = st.sampled_from((*cards(matrix()), "nobody's"))


def judged(inventory: Inventory, card: str, *, each: bool = False) -> Verdict:
    platform = Cards(name=card, models=(card,), memory=(65536,))
    coverage = cover(inventory, Platform(name=card))
    found = tuple(findings(coverage, platform, matrix(), each=each))
    return Verdict(subject="demo", findings=found)


@given(INVENTORIES, CARDS, st.data())
def test_how_finely_places_are_told_changes_no_outcome_whatever_is_waived(
    inventory: Inventory, card: str, data: st.DataObject
) -> None:
    plain, each = judged(inventory, card), judged(inventory, card, each=True)
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


@given(INVENTORIES, CARDS)
def test_what_is_not_known_is_never_compatible(inventory: Inventory, card: str) -> None:
    outcome = judged(inventory, card).outcome
    if inventory.gaps or not (inventory.formats or inventory.dtype or inventory.hits):
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
