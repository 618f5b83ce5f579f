"""Every flaw is named with its line, not the first one only."""

from __future__ import annotations

import tomllib

import pytest
from _stacks import KEYS, TODAY

from mxenv import matrix_reader
from mxenv.matrix import GRADES
from mxenv.matrix_lint import MOST, File, Flaw, lint

HEAD = 'schema = "mxenv.matrix/1"\nvendor = "metax"\nrevision = "1"\n'
SAID = 'evidence = [{ link = "x", who = "V", grade = "vendor" }]\n'
GOOD = '[[rule]]\nid = "good"\ntext = "x"\nrequires = ["metax.sdk >= 3"]\n' + SAID


def file(text: str, name: str = "site.toml", head: str = HEAD) -> File:
    return File(name=name, text=head + text, values=tomllib.loads(head + text))


def flaws(*files: File) -> list[Flaw]:
    return list(lint(files, KEYS, today=TODAY))


def told(*texts: str) -> list[str]:
    found = flaws(*(file(text) for text in texts))
    return [f"{flaw.line} {flaw.place}: {flaw.message}" for flaw in found]


def test_a_sound_file_has_none() -> None:
    assert told(GOOD) == []
    assert flaws() == []


def test_all_flaws_of_a_row_are_told_at_once() -> None:
    row = (
        '[[rule]]\nid = "x"\ntxt = "x"\nwhen = ["metax.kdm >= 1", "metax.sdk >= 3"]\n'
        'requires = ["metax.sdk ~ 3"]\nseverity = "bad"\n'
        'evidence = [{ link = "x", who = "V", grade = "rumour" }]\n'
    )
    assert [text.partition(": ")[0] for text in told(GOOD + row)] == [
        "9 rule 'x'.text",
        "11 rule 'x'.txt",
        "12 rule 'x'.when[0]",
        "13 rule 'x'.requires[0]",
        "14 rule 'x'.severity",
        "15 rule 'x'.evidence[0].grade",
    ]


def test_the_nearest_known_word_is_the_hint() -> None:
    found = flaws(file(GOOD.replace("requires =", "require =")))
    assert [flaw.hint for flaw in found if "unknown" in flaw.message] == [
        "did you mean 'requires'?"
    ]
    found = flaws(file(GOOD.replace("metax.sdk", "metax.sdc")))
    assert [flaw.hint for flaw in found] == ["did you mean 'metax.sdk'?"]


def test_a_row_without_evidence_is_told_with_the_line_of_the_row() -> None:
    assert told(GOOD.replace(SAID, "")) == [
        "4 rule 'good'.evidence: missing: a row without evidence is a guess"
    ]


def test_the_head_is_read_as_well() -> None:
    found = flaws(file(GOOD, head='schema = "old"\nvendr = "metax"\n'))
    assert [(flaw.line, flaw.place, flaw.message) for flaw in found] == [
        (1, "revision", "missing"),
        (1, "schema", "not 'mxenv.matrix/1'"),
        (1, "vendor", "missing"),
        (2, "vendr", "unknown field"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rule = 3\n", "4 rule: no array of tables"),
        ("rule = [3]\n", "4 rule[0]: no table"),
        ("evidence = [3]\n", "4 evidence[0]: no table"),
    ],
)
def test_what_are_no_rows_is_told(text: str, said: str) -> None:
    assert told(text) == [said]


def test_a_row_with_an_id_that_cannot_be_is_told_by_its_number() -> None:
    assert told(GOOD.replace('"good"', '"not good"')) == [
        "5 rule[0].id: 'not good' is no id",
    ]


def test_what_is_wrong_only_beside_other_rows_is_told_too() -> None:
    twice = GOOD + GOOD.replace("3", "4")
    assert told(twice) == ["10 rule 'good'.id: it stands in site.toml already"]
    override = GOOD.replace('"good"', '"ours"\noverrides = "metax.toml:rule:x"\nreason = "y"')
    assert told(override.replace("3", "4")) == [
        "6 rule 'ours'.overrides: no row is called 'metax.toml:rule:x'"
    ]
    more = '[[evidence]]\nrow = "site.toml:rule:god"\nlink = "x"\nwho = "x"\ngrade = "site"\n'
    assert told(GOOD + more + more.replace("god", "good")) == [
        "10 evidence[0].row: no row is called 'site.toml:rule:god'"
    ]
    assert told(GOOD + more.replace('"site"\n', '"said"\n')) == [
        "13 evidence[0].grade: 'said' is none of " + ", ".join(GRADES)
    ]


def test_a_row_that_two_files_have_is_told_of_the_second() -> None:
    found = flaws(file(GOOD, "a.toml"), file(GOOD.replace("3", "4"), "b.toml"))
    assert [(flaw.file, flaw.place) for flaw in found] == [("b.toml", "rule 'good'.id")]


def test_what_sound_rows_say_against_one_another_has_a_line() -> None:
    other = GOOD.replace('"good"', '"other"').replace(">= 3", "< 3")
    (flaw,) = flaws(file(GOOD + other))
    assert (flaw.line, flaw.kind, flaw.place) == (4, "contradiction", "rule 'good'")


def test_a_field_within_a_table_is_mended_alone() -> None:
    row = (
        '[[release]]\nid = "x"\nsdk = "3"\ncomponents = { torch = "new", vllm = "1.0", x = 3 }\n'
        + SAID
    )
    assert [text.partition(": ")[0] for text in told(row)] == [
        "6 release 'x'.sdk",
        "7 release 'x'.components.torch",
        "7 release 'x'.components.x",
    ]


def test_agreements_are_mended_as_a_whole() -> None:
    row = GOOD.replace("requires =", 'agree = [{ left = "metax.sdk", fields = 2 }]\nrequires =')
    assert [text.partition(": ")[0] for text in told(row)] == ["7 rule 'good'.agree[0].right"]


def test_a_flaw_that_nothing_mends_is_told_once() -> None:
    row = GOOD.replace('requires = ["metax.sdk >= 3"]\n', "")
    assert told(row) == [
        "4 rule 'good'.requires: missing, and 'agree' as well: the rule asks for nothing"
    ]


def test_a_row_that_is_all_wrong_ends() -> None:
    many = "".join(f"x{number} = 1\n" for number in range(60))
    assert len(told(GOOD + many)) == MOST


def test_a_field_that_may_not_be_beside_another_is_told_once() -> None:
    row = '[[requirement]]\nid = "x"\ntext = "x"\napplies = "x"\nwhen = ["metax.sdk ~"]\n' + SAID
    assert told(row) == [
        "8 requirement 'x'.when: beside 'applies': it is held against no node",
    ]


def test_two_files_of_one_name_are_told_apart_by_their_rows() -> None:
    twice = GOOD + GOOD.replace("3", "4")
    assert len(flaws(file(twice), file("", "site.toml"))) == 1


def test_one_file_is_read_as_the_matrix_itself_reads_it() -> None:
    sound = file(GOOD)
    assert matrix_reader.parse([(sound.name, sound.values)], KEYS).rules
