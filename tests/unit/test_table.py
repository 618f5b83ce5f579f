from __future__ import annotations

from datetime import date

import pytest

from mxenv import table
from mxenv.errors import ImageError


def root(text: str) -> table.Table:
    return table.document(text, context="x.toml", error=ImageError)


def test_what_is_no_toml_is_refused_with_line_and_column() -> None:
    with pytest.raises(ImageError, match=r"^x\.toml: not TOML: .*line 1, column 5"):
        root("a = ]")


def test_an_array_of_a_hundred_thousand_arrays_is_refused() -> None:
    with pytest.raises(ImageError, match="nested too deeply"):
        root("a = " + "[" * 100_000)


def test_a_number_that_no_computer_wants_to_read_is_refused() -> None:
    with pytest.raises(ImageError, match=r"^x\.toml: not TOML: Exceeds the limit"):
        root("a = " + "9" * 5000)


def test_a_byte_order_mark_is_called_so() -> None:
    with pytest.raises(ImageError, match=r"^x\.toml: begins with a byte order mark"):
        root("\ufeffa = 1")


def test_a_flag_is_true_or_false_and_false_if_it_is_missing() -> None:
    assert root("a = true").flag("a")
    assert not root("a = false").flag("a")
    assert not root("").flag("a")
    with pytest.raises(ImageError, match=r"^x\.toml: a: a string where true or false belongs"):
        root("a = 'yes'").flag("a")


def test_an_unknown_field_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(ImageError, match=r"x\.toml: python\.requirez: unknown field") as caught:
        root("[python]\nrequirez = []").table("python").only("requires", "version")
    assert caught.value.hint == "did you mean 'requires'?"


def test_an_unknown_field_that_is_like_no_other_is_named_with_all_known_ones() -> None:
    with pytest.raises(ImageError) as caught:
        root("zzz = 1").only("requires", "version")
    assert caught.value.hint == "known: requires, version"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("true", "a boolean"),
        ("1", "a number"),
        ("1.5", "a number"),
        ("[]", "an array"),
        ("{}", "a table"),
        ("2026-01-01", "a date or a time"),
    ],
)
def test_what_is_no_string_is_named_for_what_it_is(value: str, kind: str) -> None:
    with pytest.raises(ImageError, match=f"a: {kind} where a string belongs"):
        root(f"a = {value}").text("a")


def test_a_missing_string_is_an_error_unless_there_is_a_default() -> None:
    with pytest.raises(ImageError, match="a: missing"):
        root("").text("a")
    assert root("").text("a", "b") == "b"


def test_an_empty_string_is_an_error_unless_there_is_a_default() -> None:
    with pytest.raises(ImageError, match="a: empty"):
        root('a = ""').text("a")
    assert root('a = ""').text("a", "b") == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing"),
        ("a = true", "a boolean where"),
        ('a = "1"', "a string where"),
        ("a = -1", "negative"),
    ],
)
def test_what_is_no_whole_number_is_refused(text: str, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        root(text).integer("a")


def test_a_whole_number_is_read() -> None:
    assert root("a = 0o755").integer("a") == 0o755
    assert root("").integer("a", 7) == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing"),
        ('a = "2027-01-31"', "a string where a date belongs"),
        ("a = 2027-01-31T00:00:00", "a date or a time where a date belongs"),
    ],
)
def test_what_is_no_date_is_refused(text: str, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        root(text).day("a")


def test_a_date_is_read() -> None:
    assert root("a = 2027-01-31").day("a") == date(2027, 1, 31)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a = "b"', "a: a string where an array of strings belongs"),
        ('a = ["b", 1]', r"a\[1\]: a number where a string belongs"),
        ('a = ["b", "c", " "]', r"a\[2\]: empty"),
    ],
)
def test_what_is_no_array_of_strings_is_refused_at_its_index(text: str, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        root(text).texts("a")


def test_a_missing_array_is_empty() -> None:
    assert root("").texts("a") == ()
    assert root("").tables("a") == ()
    assert root("").pairs("a") == ()


def test_a_missing_table_is_empty_unless_it_is_required() -> None:
    assert root("").table("a").values == {}
    with pytest.raises(ImageError, match="a: missing"):
        root("").table("a", required=True)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ImageError, match="a: a number where a table belongs"):
        root("a = 1").table("a")
    with pytest.raises(ImageError, match="a: a number where an array of tables belongs"):
        root("a = 1").tables("a")
    with pytest.raises(ImageError, match=r"a\[1\]: a number where a table belongs"):
        root("a = [{}, 1]").tables("a")


def test_the_place_of_a_field_deep_inside_is_the_whole_path() -> None:
    deep = root("[[a.b]]\nc = 1").table("a").tables("b")[0]
    with pytest.raises(ImageError, match=r"^x\.toml: a\.b\[0\]\.c: a number"):
        deep.text("c")


def test_what_is_wrong_with_the_whole_document_has_no_place() -> None:
    with pytest.raises(ImageError, match=r"^x\.toml: wrong$"):
        root("").fail("", "wrong")


def test_pairs_are_sorted_by_name() -> None:
    assert root('[v]\nB = "2"\nA = ""').pairs("v") == (("A", ""), ("B", "2"))
