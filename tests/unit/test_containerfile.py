"""Instructions are split as BuildKit splits them; what is none is said to be none."""

from __future__ import annotations

import pytest

from mxenv.containerfile import Instruction, parse, words


def read(text: str) -> list[Instruction]:
    return list(parse(text))


def only(text: str) -> Instruction:
    (found,) = read(text)
    return found


def shape(text: str) -> list[tuple[str, int, int, str]]:
    return [(i.keyword, i.line, i.end, i.text) for i in read(text)]


def test_lines_are_joined_and_comments_among_them_left_out() -> None:
    text = "\ufeff# c\nFROM a\n\n  run x \\\n# no\n\n  y \\  \n\\\nz\nRUN a \\\\\nRUN b \\"
    assert shape(text) == [
        ("FROM", 2, 2, "a"),
        ("RUN", 4, 9, "x   y z"),
        ("RUN", 10, 10, "a \\\\"),
        ("RUN", 11, 11, "b"),
    ]


def test_each_piece_of_a_value_has_its_line() -> None:
    found = only("RUN --mount=type=x \\\n  --network=none \\\n  a \\\n  b")
    assert found.flags == ("--mount=type=x", "--network=none")
    assert found.value == ((3, "a "), (4, "  b"))


def test_a_keyword_may_stand_on_two_lines() -> None:
    assert shape("RU\\\nN a") == [("RUN", 1, 2, "a")]
    assert shape("\\\nRUN\\\n") == [("RUN", 1, 2, "")]
    assert only("RUN --a\\\nb c").flags == ("--ab",)
    assert only("RUN --a\\\nb").flags == ("--ab",)


def test_what_is_left_of_a_line_may_be_nothing() -> None:
    assert shape("# syntax=a") == []
    assert shape("RUN \\\n  \\\n a \\\n  \\") == [("RUN", 1, 4, "a")]
    assert shape("RUN --a \\\n b") == [("RUN", 1, 2, "b")]


def test_two_hyphens_end_the_flags() -> None:
    found = only("RUN --a=b -- --c")
    assert (found.flags, found.text) == (("--a=b",), "--c")


@pytest.mark.parametrize("mark", ["escape=`", "Escape = `", "syntax=x\n# escape=`"])
def test_the_escape_may_be_another(mark: str) -> None:
    assert only(f"# {mark}\nRUN a\\ `\nb").text == "a\\ b"


def test_a_directive_counts_at_the_top_only() -> None:
    assert [i.text for i in read("# hi\n# escape=`\nRUN a \\\nb")] == ["a b"]


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("# escape=x\nRUN a", "cannot be an escape"),
        ("# syntax=a\n# syntax=b\nRUN a", "stands there twice"),
        ("BOGUS x", "'BOGUS' is no instruction"),
        ("ONBUILD", "'' is no instruction"),
        ("RUN <<EOT\na", "the document 'EOT' has no end"),
    ],
)
def test_what_is_not_understood_says_why(text: str, flaw: str) -> None:
    found = read(text)[0]
    assert flaw in found.flaw
    assert found.keyword == ""


def test_here_documents_end_with_their_name() -> None:
    text = "RUN <<A cat <<-\"B\" 3<<'C'\na\n\tA\nA\n\tb\n\tB\nc\nC\nRUN d"
    first, second = read(text)
    assert [(d.name, d.plain, d.pieces) for d in first.documents] == [
        ("A", False, ((2, "a\n"), (3, "\tA\n"))),
        ("B", True, ((5, "b\n"),)),
        ("C", True, ((7, "c\n"),)),
    ]
    assert (first.line, first.end, second.line) == (1, 8, 9)


@pytest.mark.parametrize(
    "text",
    ['RUN echo "<<A"', "RUN a <<<b", "RUN a << b", "USER <<A", 'RUN ["a", "<<A"]', "RUN <<''"],
)
def test_what_looks_like_a_here_document_and_is_none(text: str) -> None:
    assert only(text).documents == ()


def test_an_escaped_name_is_a_quoted_one() -> None:
    (document,) = only("RUN cat <<\\E\nE").documents
    assert (document.name, document.plain) == ("E", True)


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        ('["a", "b c"]', ("a", "b c")),
        ("[]", ()),
        ('["a", ', None),
        ('["a", 1]', None),
        ("a", None),
        ("[" * 5000, None),
    ],
)
def test_the_json_form(value: str, listed: tuple[str, ...] | None) -> None:
    assert only(f"RUN {value}").listed == listed


def test_what_is_built_upon_an_image_is_an_instruction_as_well() -> None:
    found = only("ONBUILD RUN --mount=type=x a")
    assert (found.keyword, found.flags, found.text) == ("RUN", ("--mount=type=x",), "a")


def test_words_are_those_of_json_or_of_a_shell() -> None:
    assert words(only('ENV A="b c" D=e')) == ("A=b c", "D=e")
    assert words(only('COPY ["a b", "c"]')) == ("a b", "c")
