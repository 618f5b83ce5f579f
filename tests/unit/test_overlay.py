"""A site's file can change what is shipped, with a reason, and cannot name what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _stacks import KEYS, document, matrix

from mxenv import matrix_reader
from mxenv.errors import MatrixError
from mxenv.overlay import Override

if TYPE_CHECKING:
    from mxenv.matrix import Matrix

SHIPPED = """
[[rule]]
id = "old"
text = "the SDK is 3.0 or newer"
requires = ["metax.sdk >= 3.0"]
EVIDENCE
[[broken]]
id = "bad"
text = "this one hangs"
when = ["metax.sdk == 3.1.0.1"]
EVIDENCE
"""
OURS = """
[[rule]]
id = "ours"
overrides = "metax.toml:rule:old"
reason = "2.33 runs here since May"
text = "the SDK is 2.33 or newer"
requires = ["metax.sdk >= 2.33"]
EVIDENCE
"""


def laid(site: str, *, shipped: str = SHIPPED, name: str = "/etc/site.toml") -> Matrix:
    files = [("metax.toml", document(shipped)), (name, document(site))]
    return matrix_reader.parse(files, KEYS)


def refused(site: str, **more: str) -> str:
    with pytest.raises(MatrixError) as caught:
        laid(site, **more)
    return f"{caught.value} | {caught.value.hint}"


def test_a_row_stands_in_the_place_of_another_and_says_so() -> None:
    known = laid(OURS)
    (rule,) = known.rules
    assert rule.row == "/etc/site.toml:rule:ours"
    assert known.overrides == (
        Override(
            row="metax.toml:rule:old",
            by="/etc/site.toml:rule:ours",
            reason="2.33 runs here since May",
        ),
    )
    reason = rule.evidence[-1]
    assert (reason.link, reason.grade) == ("metax.toml:rule:old", "site")
    assert reason.who == "stands in the place of metax.toml:rule:old: 2.33 runs here since May"


def test_the_row_may_keep_the_id_of_the_one_in_whose_place_it_stands() -> None:
    (rule,) = laid(OURS.replace('"ours"', '"old"')).rules
    assert rule.row == "/etc/site.toml:rule:old"


def test_what_is_said_of_a_row_is_added_to_it() -> None:
    said = '[[evidence]]\nrow = "metax.toml:broken:bad"\nlink = "x"\nwho = "us"\ngrade = "site"\n'
    (bad,) = laid(said + said.replace('"us"', '"them"')).broken
    assert [piece.who for piece in bad.evidence] == ["V", "us", "them"]
    assert bad.row == "metax.toml:broken:bad"


def test_what_is_said_of_a_row_does_not_stand_in_for_evidence_of_its_own() -> None:
    bare = SHIPPED.replace("EVIDENCE\n[[broken]]", "[[broken]]")
    said = '[[evidence]]\nrow = "metax.toml:rule:old"\nlink = "x"\nwho = "us"\ngrade = "site"\n'
    assert "a row without evidence is a guess" in refused(said, shipped=bare)
    wrong = bare.replace("[[broken]]", "evidence = 3\n[[broken]]")
    assert "where an array of tables belongs" in refused(said, shipped=wrong)


def test_another_files_row_is_named_without_folders_where_that_is_clear() -> None:
    more = OURS.replace("metax.toml:rule:old", "site.toml:rule:ours").replace('"ours"', '"third"')
    files = [
        ("metax.toml", document(SHIPPED)),
        ("/etc/site.toml", document(OURS)),
        ("/srv/more.toml", document(more)),
    ]
    known = matrix_reader.parse(files, KEYS)
    assert [rule.row for rule in known.rules] == ["/srv/more.toml:rule:third"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("metax.toml:rule:old", "metax.toml:rule:olt"), "no row is called"),
        (("metax.toml:rule:old", "metax.toml:rule:olt"), "did you mean 'metax.toml:rule:old'?"),
        (("metax.toml:rule:old", "qqq"), "`mxenv matrix show` lists the rows"),
        (("metax.toml:rule:old", "site.toml:rule:ours"), "a row of the same file"),
        (("metax.toml:rule:old", "metax.toml:broken:bad"), "a broken row, and this is a rule row"),
        (('reason = "2.33 runs here since May"\n', ""), "rule 'ours'.reason: missing"),
        (('overrides = "metax.toml:rule:old"\n', ""), "rule 'ours'.overrides: missing"),
    ],
)
def test_an_override_that_cannot_be_is_refused(change: tuple[str, str], said: str) -> None:
    assert said in refused(OURS.replace(*change))


def test_two_rows_do_not_stand_in_one_place() -> None:
    both = OURS + OURS.replace('"ours"', '"theirs"')
    assert "/etc/site.toml:rule:ours stands in the place of that row already" in refused(both)


def test_a_name_that_two_folders_have_is_not_guessed_at() -> None:
    files = [
        ("/a/x.toml", document(SHIPPED)),
        ("/b/x.toml", document(SHIPPED.replace('"bad"', '"worse"'))),
        ("site.toml", document(OURS.replace("metax.toml:", "x.toml:"))),
    ]
    with pytest.raises(MatrixError, match=r"could be /a/x\.toml:rule:old or /b/x\.toml:rule:old"):
        matrix_reader.parse(files, KEYS)


def test_evidence_for_a_row_is_read_as_strictly_as_a_rows_own() -> None:
    said = '[[evidence]]\nrow = "metax.toml:rule:old"\nlink = "x"\nwho = "us"\ngrade = "rumour"\n'
    assert "none of site, vendor" in refused(said)
    nameless = said.replace('row = "metax.toml:rule:old"\n', "").replace("rumour", "site")
    assert "row: missing" in refused(nameless)


def test_a_matrix_of_one_file_overrides_nothing() -> None:
    assert matrix(SHIPPED).overrides == ()
