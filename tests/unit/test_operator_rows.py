"""Rows of operators are read, shown and held against one another as others are."""

from __future__ import annotations

import pytest
from _stacks import KEYS, TODAY, document, matrix

from mxenv import matrix_reader
from mxenv.contradiction import remarks
from mxenv.errors import MatrixError
from mxenv.matrix import stem
from mxenv.matrix_lint import File, lint
from mxenv.matrix_table import sections

ROW = """
[[operator]]
id = "mm"
text = "it traps"
operators = ["aten::mm", "aten::bmm.default", "aten::addmm", "aten::mv"]
kind = "traps"
dtypes = ["bf16"]
by = "flag_gems"
when = ["metax.device.model == C550"]
remedy = "leave it out"
EVIDENCE
"""


def test_a_row_says_what_is_known_of_operators_and_of_whose() -> None:
    (row,) = matrix(ROW).operators
    assert row.row == "test.toml:operator:mm"
    assert (row.text, row.kind, row.dtypes, row.by) == ("it traps", "traps", ("bf16",), "flag_gems")
    assert row.operators[:2] == ("aten::mm", "aten::bmm.default")
    assert [str(one) for one in row.when] == ["metax.device.model[*] == C550"]
    assert (row.remedy, len(row.evidence)) == ("leave it out", 1)
    assert matrix(ROW).rows == (row,)


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ('"aten::mm"', '"mm"', "operators[0]", "'mm' is no operator"),
        ('"aten::mm"', '"aten::mm.a.b"', "operators[0]", "'aten::mm.a.b' is no operator"),
        (
            '["aten::mm", "aten::bmm.default", "aten::addmm", "aten::mv"]',
            "[]",
            "operators",
            "empty",
        ),
        ('"traps"', '"trap"', "kind", "'trap' is none of missing, wrong, traps"),
        ('"bf16"', '"bfloat16"', "dtypes", "'bfloat16' is none of f64, f32"),
        ("metax.device.model", "metax.device.mode", "when[0]", "no probe declares"),
        ("remedy", "remedi", "remedi", "unknown field"),
        ("EVIDENCE", "", "evidence", "a row without evidence is a guess"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(old: str, new: str, place: str, said: str) -> None:
    with pytest.raises(MatrixError) as error:
        matrix(ROW.replace(old, new, 1))
    assert error.value.context == f"test.toml: operator 'mm'.{place}"
    assert said in error.value.message


def test_all_flaws_of_a_row_are_told_with_their_lines() -> None:
    values = document(ROW.replace('"aten::mm"', '"mm"').replace('"traps"', '"trap"'))
    flaws = lint([File(name="t.toml", text="", values=values)], KEYS, today=TODAY)
    assert {(one.place, one.kind) for one in flaws} == {
        ("operator 'mm'.operators[0]", "invalid"),
        ("operator 'mm'.kind", "invalid"),
    }


def test_a_table_names_a_few_operators_or_all() -> None:
    (section,) = sections(matrix(ROW), "operator")
    assert section.rows[0][1:6] == (
        "it traps",
        "aten::mm, aten::bmm.default, aten::addmm and 1 more",
        "traps",
        "flag_gems",
        "metax.device.model[*] == C550",
    )
    (whole,) = sections(matrix(ROW), "operator", whole=True)
    assert whole.rows[0][2] == "aten::mm, aten::bmm.default, aten::addmm, aten::mv"


def said(text: str) -> list[tuple[str, str]]:
    found = remarks(matrix(ROW + text), KEYS, today=TODAY)
    return [(one.row.rpartition(":")[2], one.kind) for one in found]


WORKS = (
    ROW.replace('id = "mm"', 'id = "works"')
    .replace('"traps"', '"works"')
    .replace('"aten::mm", "aten::bmm.default", "aten::addmm", "aten::mv"', '"aten::mm.out"')
)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", [("works", "contradiction")]),
        ("aten::mm.out", "aten::bmm", [("works", "contradiction")]),
        ("aten::mm.out", "aten::bmm.default", [("works", "contradiction")]),
        ("aten::mm.out", "aten::bmm.out", []),
        ('dtypes = ["bf16"]', "", [("works", "contradiction")]),
        ('"bf16"', '"f32"', []),
        ("flag_gems", "torch_fl", []),
    ],
)
def test_what_was_seen_working_and_failing_at_once_is_pointed_out(
    old: str, new: str, found: list[tuple[str, str]]
) -> None:
    assert said(WORKS.replace(old, new, 1)) == found


def test_rows_that_are_never_about_one_place_contradict_nothing() -> None:
    card, old, new = "metax.device.model == C550", "metax.sdk < 3.7", "metax.sdk >= 3.7"
    text = ROW.replace(card, old) + WORKS.replace(card, new)
    assert list(remarks(matrix(text), KEYS, today=TODAY)) == []


def test_one_row_too_many_and_one_that_never_applies_are_pointed_out() -> None:
    again = ROW.replace('id = "mm"', 'id = "again"').replace("it traps", "in other words")
    assert said(again) == [("again", "duplicate")]
    never = ROW.replace('id = "mm"', 'id = "never"').replace(
        '"metax.device.model == C550"', '"metax.sdk < 1", "metax.sdk > 2"'
    )
    assert ("never", "impossible") in said(never)


def test_another_file_puts_its_row_in_the_place_of_one() -> None:
    mine = 'overrides = "test.toml:operator:mm"\nreason = "measured"\nEVIDENCE'
    own = ROW.replace('id = "mm"', 'id = "ours"').replace("EVIDENCE", mine)
    files = [("test.toml", document(ROW)), ("site.toml", document(own))]
    read = matrix_reader.parse(files, KEYS)
    assert [row.row for row in read.operators] == ["site.toml:operator:ours"]


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("aten::mm.default", "aten::mm"),
        ("aten::mm", "aten::mm"),
        ("ai.onnx.ml::Scaler", "ai.onnx.ml::Scaler"),
    ],
)
def test_all_overloads_share_a_name(name: str, shared: str) -> None:
    assert stem(name) == shared
