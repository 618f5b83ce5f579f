"""A script is split as a shell would, and each word keeps its line."""

from __future__ import annotations

import pytest

from mxenv.shell_words import Word, commands, expand


def split(script: str, **variables: str) -> list[list[str]]:
    pieces = [(n, f"{line}\n") for n, line in enumerate(script.split("\n"), start=1)]
    return [[word.text for word in command] for command in commands(pieces, variables)]


def words(script: str, **variables: str) -> list[Word]:
    pieces = [(n, f"{line}\n") for n, line in enumerate(script.split("\n"), start=1)]
    return [word for command in commands(pieces, variables) for word in command]


@pytest.mark.parametrize(
    ("script", "split_as"),
    [
        ("pip install a", [["pip", "install", "a"]]),
        ("a; b && c || d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("(a b)\nc", [["a", "b"], ["c"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a b'c'\"d\"", [["a", "bcd"]]),
        ("a '' \"\"", [["a", "", ""]]),
        ("a # b c\nd", [["a"], ["d"]]),
        ("# all of it", []),
        ("a b#c", [["a", "b#c"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("a b\\\nc", [["a", "bc"]]),
        ('a "b\\\nc\\"d\\e"', [["a", 'bc"d\\e']]),
        ("a > out 2>&1 < in b", [["a", "b"]]),
        ("a >out;b", [["a"], ["b"]]),
        ("a >'o u t'>>x b", [["a", "b"]]),
        ("a 'open", [["a", "open\n"]]),
        ('a "open', [["a", "open\n"]]),
        ("a \\", [["a"]]),
        ("a $ b", [["a", "$", "b"]]),
        ("\ta\r", [["a"]]),
    ],
)
def test_commands_and_words(script: str, split_as: list[list[str]]) -> None:
    assert split(script) == split_as


def test_a_script_that_ends_without_a_line_break_loses_nothing() -> None:
    assert [[w.text for w in c] for c in commands([(1, "a b # c")])] == [["a", "b"]]
    assert [[w.text for w in c] for c in commands([(1, "a\\")])] == [["a"]]


def test_each_word_has_the_line_that_it_begins_in() -> None:
    found = words("a \\\n  b \\\n  'c\nd' e\nf")
    assert [(word.text, word.line) for word in found] == [
        ("a", 1),
        ("b", 2),
        ("c\nd", 3),
        ("e", 4),
        ("f", 5),
    ]


@pytest.mark.parametrize(
    ("script", "text", "unclear"),
    [
        ("a==$V", "a==1.0", ""),
        ("a==${V}", "a==1.0", ""),
        ('"a==${V}"', "a==1.0", ""),
        ("'a==${V}'", "a==${V}", ""),
        ("a==\\$V", "a==$V", ""),
        ("${V:-2}", "1.0", ""),
        ("${NO:-2}", "2", ""),
        ("${NO-2}", "2", ""),
        ("${E:-2}", "2", ""),
        ("x${E-2}", "x", ""),
        ("x${V:+3}", "x3", ""),
        ("x${NO:+3}", "x", ""),
        ("a==$NO", "a==$NO", "$NO"),
        ("$NO$ALSO", "$NO$ALSO", "$NO"),
        ("a$(b $(c) d)e", "a$(b $(c) d)e", "$(b $(c) d)"),
        ("a$(never", "a$(never\n", "$(never\n"),
        ("a${V%.*}", "a${V%.*}", "${V%.*}"),
        ("`b c`", "`b c`", "`b c`"),
        ("`b c", "`b c\n", "`b c\n"),
        ('"`b`"', "`b`", "`b`"),
    ],
)
def test_variables_are_replaced_and_what_has_no_value_is_said(
    script: str, text: str, unclear: str
) -> None:
    (word,) = words(script, V="1.0", E="")
    assert (word.text, word.unclear) == (text, unclear)


def test_a_variable_that_the_script_sets_is_no_longer_known() -> None:
    found = words("echo $V; V=2 x; export W=3\necho $V", V="1")
    assert [word.unclear for word in found if word.text in {"1", "$V"}] == ["", "$V"]


@pytest.mark.parametrize(
    ("script", "redirected"),
    [("a>=2.0 b", ">=2.0"), ("a<2", "<2"), ("a >=2", ""), ("a>out", ""), ("a> out", "")],
)
def test_a_limit_without_quotes_is_seen_to_be_a_redirection(script: str, redirected: str) -> None:
    assert words(script)[0] == Word(text="a", line=1, redirected=redirected)


def test_expanding_says_which_variable_has_no_value_first() -> None:
    assert expand("$A/${B}:$C", {"A": "x"}) == ("x/${B}:$C", "${B}")
    assert expand("plain", {}) == ("plain", "")
