"""Each shipped row of operators decides on a node that it is about, and nowhere else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mxenv import operator_table
from mxenv.api import checking
from mxenv.facts import Absent, Fact, Observed, Snapshot, View
from mxenv.matrix import FAILS, stem
from mxenv.operator_decision import Class, decide
from mxenv.operator_platform import KEY, of_card, of_node
from mxenv.operator_table import Entry, How, Table

if TYPE_CHECKING:
    from mxenv.facts import Reading
    from mxenv.matrix import Operator
    from mxenv.operator_place import Platform

MATRIX = checking.load_matrix()
ENV, TORCH = "/opt/conda", "2.8.0+metax3.7.0.7"
OF_2_4 = "2.4.0+metax3.0.0.3"
STATES: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "flaggems-tests-2026-01": ("C500", "3.5.3.20", TORCH, {"flag-gems": "5.0.2"}),
    "flaggems-mm": ("C550", "3.7.0.37", TORCH, {"flag-gems": "5.4.0.dev606+g95ed7f9c4"}),
    "flaggems-masked-fill": ("C550", "3.7.2.0", TORCH, {"flag-gems": "5.4.0rc2.post2+g77684a994"}),
    "flaggems-vstack": ("C550", "3.7.0.37", TORCH, {"flag-gems": "5.0.2"}),
    "flaggems-addmm-score": ("C550", "3.7.0.37", TORCH, {"flag-gems": "5.4.0"}),
    "flaggems-5.0.2-scores": ("C550", "3.7.0.37", TORCH, {"flag-gems": "5.0.2"}),
    "torch-fl-f32-products": ("C500", "3.8.1.3", "2.10.0+cpu", {"torch-fl": "0.1.0+metax3.8.1"}),
    "torch-2.4-scaled-mm": ("C500", "3.0.0.8", OF_2_4, {}),
    "torch-2.4-int-mm": ("C500", "3.0.0.8", OF_2_4, {}),
}
"""Of each row a node that it is about: its card, SDK, torch, and what else is installed."""


def operator(row: Operator) -> str:
    name = row.operators[0]
    return name if "." in name else f"{name}.default"


def node(row: Operator, *, by: str) -> Platform:
    card, sdk, torch, more = STATES[row.id]
    key = "PrivateUse1" if "torch-fl" in more else "CUDA"
    entries = {operator(row): Entry(how=How.NATIVE, by=by)}
    table = operator_table.write(Table(torch=torch, key=key, entries=entries))
    told = [
        ("metax.device.model", "0", card),
        ("metax.sdk", "", sdk),
        ("python.series", ENV, "3.12"),
        ("python.package", f"{ENV}/torch", torch),
        (KEY, ENV, table),
        *(("python.package", f"{ENV}/{name}", version) for name, version in more.items()),
    ]
    return of_node(
        seen(*((key, instance, Observed(value)) for key, instance, value in told)), MATRIX
    )


def seen(*told: tuple[str, str, Reading]) -> Snapshot:
    facts = (Fact(key=key, instance=where, reading=read, source="s") for key, where, read in told)
    taken_at = datetime(2026, 11, 30, tzinfo=UTC)
    return Snapshot(node="n", view=View.HOST, taken_at=taken_at, facts=tuple(facts))


def test_every_row_has_a_node_that_it_is_about() -> None:
    assert {row.id for row in MATRIX.operators} == set(STATES)


@pytest.mark.parametrize("row", MATRIX.operators, ids=lambda row: row.id)
def test_on_a_node_in_its_state_a_row_decides(row: Operator) -> None:
    dtypes = row.dtypes or ("bf16",)
    decision = decide(operator(row), dtypes, node(row, by=row.by))
    assert decision.row == row.row
    assert decision.found is (Class.UNSUPPORTED if row.kind in FAILS else Class.UNKNOWN)
    assert decision.because == row.evidence


@pytest.mark.parametrize("row", [row for row in MATRIX.operators if row.by], ids=lambda row: row.id)
def test_a_row_about_others_kernels_says_nothing_of_torchs_own(row: Operator) -> None:
    decision = decide(operator(row), row.dtypes or ("bf16",), node(row, by=""))
    assert (decision.found, decision.row) == (Class.SUPPORTED, "")


def test_no_list_of_flaggems_makes_an_operator_missing_on_any_card() -> None:
    for card in ("C500", "C550", "C600"):
        place = of_card(card, MATRIX)
        for row in MATRIX.operators:
            for name in row.operators:
                found = decide(f"{stem(name)}.default", ("bf16",), place).found
                assert found is Class.UNKNOWN


def test_of_a_node_of_another_vendor_no_row_speaks() -> None:
    place = seen(
        ("nvidia.device.model", "0", Observed("H100")),
        ("metax.device.model", "", Absent()),
        ("metax.sdk", "", Absent()),
        ("python.series", ENV, Observed("3.12")),
        ("python.package", f"{ENV}/torch", Observed("2.4.0+cu124")),
        ("python.package", f"{ENV}/flag-gems", Observed("5.0.2")),
    )
    assert of_node(place, MATRIX).known == ()
