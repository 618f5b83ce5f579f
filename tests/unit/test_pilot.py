"""A node that was seen working becomes a row, and its verdict then rests on that row."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from _stacks import DARK, ENV, GONE, KEYS, TODAY, fact, matrix, node

from mxenv import matrix_reader, matrix_writer, pilot
from mxenv.errors import MatrixError, UsageError
from mxenv.facts import View
from mxenv.judgement import judge
from mxenv.matrix import Tested as Row
from mxenv.stack import stack
from mxenv.verdict import Evidence, Outcome

if TYPE_CHECKING:
    from mxenv.facts import Fact, Reading, Snapshot, Value
    from mxenv.matrix import Matrix

SAID = Evidence(link="ticket 12", who="ops", when="2026-11-30", grade="site")
SHIPPED = """
[[series]]
id = "c500"
cards = ["C500", "C550"]
EVIDENCE
[[release]]
id = "r"
sdk = "3.9.9.*"
components = { vllm = "0.1" }
EVIDENCE
[[tested]]
id = "near"
card = "C500"
kmd = "1.0.0"
sdk = "3.9.9.1"
packages = { torch = "2.9.0+metax3.9.9.1", ray = "2.0" }
works = true
EVIDENCE
"""
PACKAGES = {"torch": "2.9.0+metax3.9.9.1", "vllm": "0.2", "ray": "2.1", "numpy": "1.26"}


def seen(*more: Fact, **changes: Value | Reading | None) -> Snapshot:
    return node(PACKAGES, *more, **{"sdk": "3.9.9.5", "kmd": "9.9.9", **changes})


def row(given: Snapshot, rows: Matrix | None = None) -> Row:
    known = rows or matrix(SHIPPED)
    return pilot.tested(stack(given, ENV), known, evidence=SAID, file="site.toml")


def test_the_row_names_what_a_verdict_would_name() -> None:
    found = row(seen(fact("kernel.release", "5.15.0-58-generic")))
    assert (found.card, found.kmd, found.sdk) == ("C500", "9.9.9", "3.9.9.5")
    assert [name for name, _ in found.packages] == ["ray", "torch", "vllm"]
    assert (found.kernel, found.os, found.evidence) == ("5.15.0-58-generic", "", (SAID,))
    assert pilot.summed_up(found) == (
        "C500, driver 9.9.9, SDK 3.9.9.5: ray 2.1, torch 2.9.0+metax3.9.9.1, vllm 0.2"
    )


def test_its_name_depends_on_the_set_alone() -> None:
    name = row(seen()).id
    assert name.startswith("c500-kmd9.9.9-sdk3.9.9.5-")
    assert row(seen(fact("kernel.release", "6"))).id == name
    assert row(seen(kmd="9.9.8")).id != name


def test_with_the_row_the_node_is_compatible_and_names_it() -> None:
    given = seen()
    before = judge(given, matrix(SHIPPED), today=TODAY)
    assert before.outcome is Outcome.UNKNOWN
    text = matrix_writer.add("", row(given), context="x", vendor="metax", revision="1")
    files = [("site.toml", tomllib.loads(text))]
    after = judge(given, matrix_reader.parse(files, KEYS), today=TODAY)
    assert after.outcome is Outcome.COMPATIBLE
    assert {f.row for f in after.findings if f.row} == {f"site.toml:tested:{row(given).id}"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (seen(kmd=DARK), "metax.kmd: unreadable, permission denied"),
        (seen(sdk=GONE), "metax.sdk: absent"),
        (seen(model=None), "no card could be read"),
        (seen(fact(f"python.package[{ENV}/apex]", DARK)), "apex]: unreadable"),
        (
            seen(fact("metax.device.model[1]", "X201")),
            "cards that no [[series]] row has together: C500, X201",
        ),
    ],
)
def test_what_could_not_be_read_cannot_be_vouched_for(given: Snapshot, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        row(given)
    assert said in str(caught.value)


def test_an_image_was_not_seen_working() -> None:
    image = node(PACKAGES, view=View.IMAGE)
    with pytest.raises(UsageError, match="an image was not seen working"):
        row(image)


def test_cards_of_one_series_are_one_node() -> None:
    assert row(seen(fact("metax.device.model[1]", "C550"))).card == "C500"


def test_a_node_without_distributions_is_one_all_the_same() -> None:
    found = row(node(sdk="3.9.9.5"))
    assert found.packages == ()
    assert pilot.summed_up(found).endswith("no distributions")


OURS = """\
# our nodes
schema = "mxenv.matrix/1"
vendor = "metax"
revision = "7"   # counts up

[[rule]]
id = "x"   # keep
text = "x"
requires = ["metax.sdk >= 3"]
evidence = [{ link = "x", who = "V", grade = "vendor" }]
"""


def written(text: str, found: Row, revision: str = "8") -> str:
    return matrix_writer.add(text, found, context="site.toml", vendor="metax", revision=revision)


def test_what_people_wrote_in_the_file_stays() -> None:
    text = written(OURS, row(seen()))
    for line in OURS.splitlines():
        assert line.replace('"7"', '"8"') in text
    assert tomllib.loads(text)["tested"][0]["packages"]["torch"] == "2.9.0+metax3.9.9.1"


def test_a_row_that_is_there_gets_the_evidence_once() -> None:
    once = written("", row(seen()))
    assert written(once, row(seen()), revision="9") == once
    found = row(seen())
    other = Evidence(link="ticket 13", who="ops", when="2026-12-01", grade="site")
    more = Row(
        **{name: getattr(found, name) for name in ("id", "file", "card", "kmd", "sdk")},
        packages=found.packages,
        evidence=(other,),
    )
    twice = tomllib.loads(written(once, more, revision="9"))
    assert [piece["link"] for piece in twice["tested"][0]["evidence"]] == ["ticket 12", "ticket 13"]
    assert twice["revision"] == "9"
    assert len(tomllib.loads(written(once, row(seen(kmd="9.9.8"))))["tested"]) == 2


def test_a_file_of_which_nothing_can_be_made_is_left_alone() -> None:
    found = row(seen())
    with pytest.raises(MatrixError, match="not TOML"):
        written("x = ", found)
    with pytest.raises(MatrixError, match="no array of tables"):
        written("tested = 3\n", found)
    odd = f'[[tested]]\nid = "{found.id}"\nevidence = "x"\n'
    with pytest.raises(MatrixError, match="no array"):
        written(odd, found)
    strange = f'[[tested]]\nid = "{found.id}"\nevidence = ["x"]\n'
    assert len(tomllib.loads(written(strange, found))["tested"][0]["evidence"]) == 2
