from __future__ import annotations

import pytest
from _stacks import matrix

from mxenv.errors import MatrixError
from mxenv.verdict import Outcome

ROWS = """
[[requirement]]
id = "memlock"
text = "memory may be locked"
when = ["metax.device.model == C500"]
requires = ["libc.version >= 2.35"]
remedy = "raise the limit"
EVIDENCE

[[requirement]]
id = "hami"
text = "Kubernetes 1.23 or newer"
applies = "HAMi"
EVIDENCE

[[format]]
id = "c500-fp8"
cards = ["C500"]
formats = ["fp8"]
support = "no"
note = "neither in hardware nor in software"
EVIDENCE
"""


def test_requirements_and_formats_are_rows_like_others() -> None:
    read = matrix(ROWS)
    (held, shown), (form,) = read.requirements, read.formats
    assert [str(c) for c in (*held.when, *held.requires)] == [
        "metax.device.model[*] == C500",
        "libc.version >= 2.35",
    ]
    assert (held.severity, held.remedy) == (Outcome.UNKNOWN, "raise the limit")
    assert (shown.applies, shown.severity) == ("HAMi", Outcome.COMPATIBLE)
    assert (form.cards, form.formats, form.support) == (("C500",), ("fp8",), "no")
    assert {row.row for row in read.rows} == {
        "test.toml:requirement:memlock",
        "test.toml:requirement:hami",
        "test.toml:format:c500-fp8",
    }


WRONG = [
    ('applies = "HAMi"', "", "requirement 'hami'.when", "it is for nobody"),
    (
        'applies = "HAMi"',
        'applies = "HAMi"\nwhen = ["metax.sdk present"]',
        "requirement 'hami'.when",
        "beside 'applies'",
    ),
    (
        'remedy = "raise',
        'severity = "bad"\nremedy = "raise',
        "requirement 'memlock'.severity",
        "'bad' is none of",
    ),
    ("requires = [", "require = [", "requirement 'memlock'.require", "unknown field"),
    ("libc.version", "libc.verison", "requirement 'memlock'.requires[0]", "no probe declares"),
    ('["fp8"]', '["fp9"]', "format 'c500-fp8'.formats", "'fp9' is none of fp64, fp32"),
    ('["fp8"]', "[]", "format 'c500-fp8'.formats", "empty"),
    ('"no"', '"maybe"', "format 'c500-fp8'.support", "'maybe' is none of no, unknown"),
    ('cards = ["C500"]', "cards = []", "format 'c500-fp8'.cards", "empty"),
    ('note = "', 'nota = "', "format 'c500-fp8'.nota", "unknown field"),
]


@pytest.mark.parametrize(("old", "new", "place", "message"), WRONG)
def test_what_is_wrong_in_them_is_named_with_its_place(
    old: str, new: str, place: str, message: str
) -> None:
    with pytest.raises(MatrixError) as error:
        matrix(ROWS.replace(old, new, 1))
    assert error.value.context == f"test.toml: {place}"
    assert message in error.value.message


def test_a_requirement_without_evidence_is_a_guess() -> None:
    with pytest.raises(MatrixError, match="a row without evidence is a guess"):
        matrix(ROWS.replace("EVIDENCE", "", 1))
