"""A person finds in a table what a row says, in the column where it is looked for."""

from __future__ import annotations

import pytest
from _stacks import KEYS, document, matrix

from mxenv import matrix_reader
from mxenv.matrix import FORMATS
from mxenv.matrix_table import Section, sections

ROWS = """
[[release]]
id = "a"
sdk = "3.5.3.*"
python = "3.10"
components = { torch = "2.8.*", vllm = "0.17.0", vllm-metax = "0.17.0", apex = "0.1" }
EVIDENCE
[[release]]
id = "p"
components = { paddle-metax-gpu = "3.2.0", x = "1", y = "2" }
EVIDENCE
[[tested]]
id = "t"
card = "C500"
kmd = "3.8.30"
sdk = "3.5.3.20"
kernel = "5.15"
works = true
EVIDENCE
[[rule]]
id = "r"
text = "says"
when = ["metax.kmd present"]
requires = ["metax.sdk >= 3"]
agree = [
  { left = "metax.kmd", right = "metax.sdk", fields = 2 },
  { left = "python.package[*].sdk", right = "metax.sdk", fields = 3, but = ["mcoplib"] },
]
EVIDENCE
[[broken]]
id = "b"
text = "hangs"
when = ["metax.kmd == 1.0", "metax.sdk == 2.0"]
EVIDENCE
[[requirement]]
id = "q"
text = "shm"
applies = "HAMi"
EVIDENCE
[[requirement]]
id = "k"
text = "kernel"
when = ["metax.kmd present"]
requires = ["kernel.release >= 5"]
EVIDENCE
[[format]]
id = "f"
cards = ["C500", "C550"]
formats = ["fp64"]
support = "native"
EVIDENCE
[[format]]
id = "g"
cards = ["C500"]
formats = ["fp64"]
support = "no"
EVIDENCE
[[format]]
id = "h"
cards = ["C500"]
formats = ["fp64", "fp8"]
support = "no"
EVIDENCE
[[series]]
id = "s"
cards = ["C500", "C550"]
EVIDENCE
"""


def table(kind: str, rows: str = ROWS, *, whole: bool = False) -> list[dict[str, str]]:
    (section,) = sections(matrix(rows), kind, whole=whole)
    return [dict(zip(section.head, row, strict=True)) for row in section.rows]


def test_a_release_shows_what_people_ask_for_and_counts_the_rest() -> None:
    first, paddle = table("release")
    assert first == {
        "row": "test.toml:release:a",
        "SDK": "3.5.3.*",
        "torch": "2.8.*",
        "vLLM": "0.17.0",
        "plug-in": "0.17.0",
        "others": "apex 0.1",
        "Python": "3.10",
        "who says so": "vendor",
    }
    assert (paddle["plug-in"], paddle["others"]) == ("paddle-metax-gpu 3.2.0", "2 more")
    assert table("release", whole=True)[1]["others"] == "x 1, y 2"


def test_a_tested_set_shows_its_card_and_driver() -> None:
    (row,) = table("tested")
    assert (row["card"], row["driver"], row["SDK"], row["others"]) == (
        *("C500", "3.8.30", "3.5.3.20"),
        "",
    )


def test_a_rule_shows_all_that_it_asks_for() -> None:
    (row,) = table("rule")
    assert row["asks for"] == (
        "metax.sdk >= 3; metax.kmd agrees with metax.sdk in 2 fields; "
        "python.package[*].sdk agrees with metax.sdk in 3 fields, but for mcoplib"
    )
    assert (row["when"], row["if not"]) == ("metax.kmd present", "incompatible")


def test_what_is_broken_shows_when() -> None:
    assert table("broken")[0]["when"] == "metax.kmd == 1.0; metax.sdk == 2.0"


def test_a_requirement_shows_for_whom_it_is() -> None:
    rows = {
        row["says"]: (row["for"], row["asks for"], row["if not"]) for row in table("requirement")
    }
    assert rows == {
        "shm": ("HAMi", "", "advice"),
        "kernel": ("metax.kmd present", "kernel.release >= 5", "unknown"),
    }


def test_sources_that_differ_on_a_format_are_all_shown() -> None:
    (section,) = sections(matrix(ROWS), "format")
    assert section.head == ("card", *FORMATS)
    assert [row["fp64"] for row in table("format")] == ["native or no", "native"]
    assert [row["fp8"] for row in table("format")] == ["no", ""]


def test_cards_of_a_series_stand_together() -> None:
    assert table("series")[0]["cards"] == "C500, C550"


def test_an_override_shows_its_reason() -> None:
    ours = (
        '[[rule]]\nid = "o"\noverrides = "test.toml:rule:r"\nreason = "why"\n'
        'text = "x"\nrequires = ["metax.sdk >= 2"]\nEVIDENCE\n'
    )
    files = [("test.toml", document(ROWS)), ("site.toml", document(ours))]
    (section,) = sections(matrix_reader.parse(files, KEYS), "override")
    assert section.rows == (("site.toml:rule:o", "test.toml:rule:r", "why"),)


@pytest.mark.parametrize("kind", ["", "release"])
def test_what_there_is_nothing_of_has_no_table(kind: str) -> None:
    assert sections(matrix(""), kind) == ()
    kinds = [section.kind for section in sections(matrix(ROWS))]
    assert kinds == ["release", "tested", "rule", "broken", "requirement", "format", "series"]


def test_every_row_has_a_cell_for_each_column() -> None:
    found: tuple[Section, ...] = sections(matrix(ROWS))
    assert all(len(row) == len(section.head) for section in found for row in section.rows)
