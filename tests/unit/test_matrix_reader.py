from __future__ import annotations

import pytest
from _stacks import KEYS, document, matrix

from mxenv import matrix_reader
from mxenv.errors import MatrixError
from mxenv.matrix import same_family
from mxenv.verdict import Evidence, Outcome

ROWS = """
[[release]]
id = "set-1"
sdk = "3.5.3.*"
python = ">=3.10,<3.13"
note = "as published"
EVIDENCE
[release.components]
flash_attn = "2.6.3+metax3.5.3.9torch2.8"
torch = "2.8.*"

[[rule]]
id = "same"
text = "wheels agree with the SDK"
when = ["metax.sdk present"]
requires = ["libc.version >= 2.35"]
agree = [{ left = "python.package[*].sdk", right = "metax.sdk", fields = 3, but = ["McOpLib"] }]
severity = "unknown"
covers = "driver"
remedy = "mend it"
EVIDENCE

[[broken]]
id = "bad"
text = "it hangs"
when = ["metax.kmd == 2.16.0"]
remedy = "another driver"
EVIDENCE

[[tested]]
id = "pair"
card = "C500"
kmd = "3.8.30"
sdk = "3.5.3.20"
works = true
os = "Ubuntu"
kernel = "5.15.0-58"
note = "one card"
EVIDENCE
[tested.packages]
torch = "2.8.0+metax3.5.3.9"

[[series]]
id = "c500"
cards = ["C500", "C550"]
EVIDENCE
"""


def test_every_kind_of_row_is_read() -> None:
    read = matrix(ROWS)
    (release,), (rule,), (broken,) = read.releases, read.rules, read.broken
    (tested,), (series,) = read.tested, read.series
    assert release.components == (("flash-attn", "2.6.3+metax3.5.3.9torch2.8"), ("torch", "2.8.*"))
    assert (release.sdk, release.python, release.note) == (
        "3.5.3.*",
        ">=3.10,<3.13",
        "as published",
    )
    assert [str(c) for c in rule.when] == ["metax.sdk present"]
    assert rule.agree[0].but == ("mcoplib",)
    assert (rule.severity, rule.covers_driver) == (Outcome.UNKNOWN, True)
    assert str(broken.when[0]) == "metax.kmd == 2.16.0"
    assert tested.components == (("torch", "2.8.0+metax3.5.3.9"),)
    assert (tested.os, tested.kernel) == ("Ubuntu", "5.15.0-58")
    assert series.cards == ("C500", "C550")
    assert [row.row for row in read.rows] == [
        "test.toml:release:set-1",
        "test.toml:tested:pair",
        "test.toml:rule:same",
        "test.toml:broken:bad",
        "test.toml:series:c500",
    ]
    assert release.evidence == (
        Evidence(link="https://vendor.example/notes", who="V", when="", grade="vendor"),
    )
    assert read.files == (("test.toml", "1"),)


def test_a_card_is_like_those_of_its_series_only() -> None:
    read = matrix(ROWS)
    assert read.alike("C500", "C550")
    assert read.alike("C600", "C600")
    assert not read.alike("C500", "C600")


def test_an_sdk_family_has_three_fields() -> None:
    assert same_family("3.5.3.*", "3.5.3.20")
    assert not same_family("3.5.3.20", "3.5.4.20")
    assert not same_family("3.5", "3.5")


def test_files_lie_on_one_another_and_each_row_knows_its_own() -> None:
    site = document('[[series]]\nid = "site"\ncards = ["X1"]\nEVIDENCE\n')
    read = matrix_reader.parse([("metax.toml", document(ROWS)), ("site.toml", site)], KEYS)
    assert [row.row for row in read.series] == ["metax.toml:series:c500", "site.toml:series:site"]
    assert read.files == (("metax.toml", "1"), ("site.toml", "1"))


def test_the_digest_is_of_what_is_said_and_not_of_how() -> None:
    same = matrix("# a comment\n" + ROWS, name="other.toml")
    assert same.digest == matrix(ROWS).digest
    assert matrix(ROWS.replace("2.16.0", "2.16.1")).digest != same.digest


def test_the_digest_takes_unquoted_dates() -> None:
    dated = ROWS.replace('note = "one card"', "note = 2026-11-30")
    with pytest.raises(MatrixError, match="a date or a time where a string belongs"):
        matrix(dated)


WRONG = [
    ('id = "set-1"', 'id = "set 1"', "release[0].id", "'set 1' is no id"),
    ('sdk = "3.5.3.*"', 'sdk = "three"', "release 'set-1'.sdk", "'three' is no SDK version"),
    ('sdk = "3.5.3.*"', 'sdk = "3.5"', "release 'set-1'.sdk", "'3.5' is no SDK version"),
    ('python = ">', 'pyhton = ">', "release 'set-1'.pyhton", "unknown field"),
    ('torch = "2.8.*"', 'torch = "new"', "release 'set-1'.components.torch", "'new' is no version"),
    ('"metax.sdk present"', '"metax.skd present"', "rule 'same'.when[0]", "no probe declares"),
    ('"libc.version >= 2.35"', '"libc.version"', "rule 'same'.requires[0]", "is no constraint"),
    ("fields = 3", "fields = 0", "rule 'same'.agree[0].fields", "0 fields agree always"),
    ('right = "metax.sdk"', 'right = "sdk"', "rule 'same'.agree[0].right", "no probe declares"),
    ('severity = "unknown"', 'severity = "bad"', "rule 'same'.severity", "'bad' is none of"),
    ('covers = "driver"', 'covers = "all"', "rule 'same'.covers", "'all' is none of driver"),
    ('when = ["metax.kmd == 2.16.0"]', "", "broken 'bad'.when", "without it every node is broken"),
    ("works = true", "works = false", "tested 'pair'.works", "a tested row is one that works"),
    ('kmd = "3.8.30"', 'kmd = "new"', "tested 'pair'.kmd", "'new' is no version"),
    ('sdk = "3.5.3.20"', 'sdk = "3.5.3.*"', "tested 'pair'.sdk", "was not tested"),
    ('sdk = "3.5.3.20"', "", "tested 'pair'.sdk", "missing"),
    ('cards = ["C500", "C550"]', "cards = []", "series 'c500'.cards", "empty"),
    ('revision = "1"', "", "revision", "missing"),
    ("mxenv.matrix/1", "mxenv.matrix/9", "schema", "not 'mxenv.matrix/1'"),
    ("[[broken]]", "[[brokn]]", "brokn", "unknown field"),
]


@pytest.mark.parametrize(("old", "new", "place", "message"), WRONG)
def test_what_is_wrong_in_a_matrix_is_named_with_its_place(
    old: str, new: str, place: str, message: str
) -> None:
    whole = document(ROWS)
    text = ROWS
    if old in ROWS:
        text = ROWS.replace(old, new)
        whole = document(text)
    elif old.startswith("revision"):
        del whole["revision"]
    else:
        whole["schema"] = new
    with pytest.raises(MatrixError, match=r"^test\.toml: ") as caught:
        matrix_reader.parse([("test.toml", whole)], KEYS)
    assert caught.value.context == f"test.toml: {place}"
    assert message in caught.value.message


def test_the_nearest_known_word_is_offered() -> None:
    with pytest.raises(MatrixError) as caught:
        matrix(ROWS.replace("metax.sdk present", "metax.skd present"))
    assert caught.value.hint == "did you mean 'metax.sdk'?"


@pytest.mark.parametrize("kind", ["release", "rule", "broken", "tested", "series"])
def test_a_row_without_evidence_does_not_load(kind: str) -> None:
    whole = document(ROWS)
    (row,) = whole[kind]  # type: ignore[misc]
    row["evidence"] = []
    with pytest.raises(MatrixError, match="a row without evidence is a guess"):
        matrix_reader.parse([("test.toml", whole)], KEYS)


def test_evidence_is_of_a_known_grade() -> None:
    with pytest.raises(MatrixError, match="'hearsay' is none of site, vendor"):
        matrix(
            ROWS.replace("EVIDENCE", 'evidence = [{ link = "x", who = "y", grade = "hearsay" }]')
        )


def test_only_the_vendor_or_the_site_vouches_for_a_driver() -> None:
    seen = 'evidence = [{ link = "x", who = "y", grade = "observed" }]'
    with pytest.raises(MatrixError, match="only the vendor or the site can say that"):
        matrix(ROWS.replace("EVIDENCE", seen))


def test_a_rule_that_asks_for_nothing_is_refused() -> None:
    with pytest.raises(MatrixError, match="the rule asks for nothing"):
        matrix('[[rule]]\nid = "r"\ntext = "t"\nEVIDENCE\n')


def test_a_release_of_nothing_is_refused() -> None:
    with pytest.raises(MatrixError, match="nothing was published together"):
        matrix('[[release]]\nid = "r"\nEVIDENCE\n')
    assert matrix('[[release]]\nid = "r"\nsdk = "3.0.0.4"\nEVIDENCE\n').releases[0].components == ()


def test_two_rows_of_one_kind_never_share_an_id() -> None:
    site = document('[[series]]\nid = "c500"\ncards = ["X1"]\nEVIDENCE\n')
    with pytest.raises(MatrixError, match=r"it stands in metax\.toml already") as caught:
        matrix_reader.parse([("metax.toml", document(ROWS)), ("site.toml", site)], KEYS)
    assert caught.value.context == "site.toml: series 'c500'.id"
