from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from _stacks import KEYS, matrix

from mxenv import matrix_reader, matrix_writer
from mxenv.errors import MatrixError, UsageError
from mxenv.facts import Fact, Observed, Snapshot, View
from mxenv.operator_pilot import rows
from mxenv.operator_runs import Device, Ended, Run, Runs, Trial
from mxenv.stack import stack
from mxenv.verdict import Evidence

if TYPE_CHECKING:
    from mxenv.matrix import Operator

ENV, TORCH = "/opt/conda", "2.8.0+metax3.5.3.9"
SAID = Evidence(link="https://wiki.example.com/run", who="us", when="2026-11-30", grade="site")
BF, MIXED = ("bf16", "bf16"), ("bf16", "i64")


def node(*cards: str, sdk: str = "3.5.3.20", torch: str = TORCH) -> Snapshot:
    told = [("metax.device.model", str(n), card) for n, card in enumerate(cards)]
    told += [("metax.sdk", "", sdk), ("python.package", f"{ENV}/torch", torch)]
    facts = (
        Fact(key=key, instance=instance, reading=Observed(value), source="s")
        for key, instance, value in told
        if value
    )
    taken_at = datetime(2026, 11, 30, tzinfo=UTC)
    return Snapshot(node="n", view=View.HOST, taken_at=taken_at, facts=tuple(facts))


def ran(*ends: tuple[str, tuple[str, ...], Ended], device: str = "cuda") -> Runs:
    return Runs(
        inventory="s",
        model="m",
        device=Device(name=device, torch=TORCH),
        runs=tuple(
            Run(trial=Trial(operator=name, dtypes=dtypes, sample=str(n)), ended=end)
            for n, (name, dtypes, end) in enumerate(ends)
        ),
    )


def found(*ends: tuple[str, tuple[str, ...], Ended]) -> tuple[Operator, ...]:
    place = stack(node("C500"), ENV)
    return rows(ran(*ends), place, KEYS, evidence=SAID, file="site.toml")


def test_what_ended_alike_in_the_same_formats_is_one_row() -> None:
    made = found(
        ("aten::mm.default", BF, Ended.VERIFIED),
        ("aten::bmm.default", BF, Ended.VERIFIED),
        ("aten::embedding.default", MIXED, Ended.VERIFIED),
        ("aten::empty.default", (), Ended.VERIFIED),
        ("aten::odd.default", BF, Ended.RAN),
    )
    assert [(one.kind, one.dtypes, one.operators) for one in made] == [
        ("works", ("bf16",), ("aten::bmm.default", "aten::mm.default")),
        ("works", ("bf16", "i64"), ("aten::embedding.default",)),
    ]
    assert [str(one) for one in made[0].when] == [
        "metax.device.model[*] == C500",
        "metax.sdk == 3.5.3.20",
        f"python.package[torch] == {TORCH}",
    ]
    assert made[0].id.startswith("c500-sdk3.5.3.20-works-bf16-")
    assert made[0].row == f"site.toml:operator:{made[0].id}"
    assert len({one.id for one in made}) == 2


@pytest.mark.parametrize(
    ("ended", "kind"),
    [
        (Ended.WRONG, "wrong"),
        (Ended.REFUSED, "missing"),
        (Ended.CRASHED, "traps"),
        (Ended.HUNG, "traps"),
    ],
)
def test_what_fails_fails_because_of_its_numbers_and_not_of_its_indices(
    ended: Ended, kind: str
) -> None:
    (row,) = found(("aten::embedding.default", MIXED, ended))
    assert (row.kind, row.dtypes) == (kind, ("bf16",))
    (row,) = found(("aten::bincount.default", ("i64",), ended))
    assert row.dtypes == ("i64",)
    (row,) = found(("aten::empty.default", (), ended))
    assert row.dtypes == ()


def test_of_several_forms_of_arguments_the_worst_counts() -> None:
    ends = (("aten::mm.default", BF, Ended.VERIFIED), ("aten::mm.default", BF, Ended.WRONG))
    assert [one.kind for one in found(*ends)] == ["wrong"]


GOOD = ran(("aten::mm.default", BF, Ended.VERIFIED))


@pytest.mark.parametrize(
    ("runs", "there", "said"),
    [
        (ran(("aten::mm.default", BF, Ended.RAN)), node("C500"), "nothing was verified"),
        (
            ran(("aten::mm.default", BF, Ended.VERIFIED), device="cpu"),
            node("C500"),
            "they ran on cpu, and rows are about cards",
        ),
        (GOOD, node(), "it has no card that could be read"),
        (GOOD, node("C500", "C550"), "it has C500, C550"),
        (GOOD, node("C500", sdk=""), "metax.sdk"),
        (GOOD, node("C500", torch="2.13.0+cpu"), f"of torch {TORCH}, and it has 2.13.0+cpu"),
        (GOOD, node("C500", torch=""), "and it has none that was read"),
    ],
)
def test_what_is_no_evidence_makes_no_row(runs: Runs, there: Snapshot, said: str) -> None:
    with pytest.raises(UsageError) as error:
        rows(runs, stack(there, ENV), KEYS, evidence=SAID, file="site.toml")
    assert said in error.value.message


def written(text: str, row: Operator) -> str:
    return matrix_writer.add(text, row, context="site.toml", vendor="metax", revision="8")


def test_a_row_is_written_and_read_back_with_what_people_wrote_around_it() -> None:
    (row,) = found(("aten::mm.default", BF, Ended.VERIFIED))
    text = written("", row)
    read = matrix_reader.parse([("site.toml", tomllib.loads(text))], KEYS)
    assert read.operators == (row,)
    assert written(text, row) == text
    commented = text.replace("[[operator]]", "# ours\n[[operator]]")
    (bare,) = found(("aten::empty.default", (), Ended.WRONG))
    more = written(commented, bare)
    assert more.startswith(commented.rstrip())
    assert matrix_reader.parse([("site.toml", tomllib.loads(more))], KEYS).operators == (row, bare)
    with pytest.raises(MatrixError, match="no array of tables"):
        written("operator = 1", row)


def test_the_row_says_of_the_same_node_what_was_seen() -> None:
    (row,) = found(("aten::mm.default", BF, Ended.VERIFIED))
    assert matrix("").operators == ()
    assert (row.text, row.evidence) == ("right to what the format allows when it was run", (SAID,))
