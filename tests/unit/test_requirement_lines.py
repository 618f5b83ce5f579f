"""Requirements files are read as pip reads them, and nothing in them is passed by."""

from __future__ import annotations

import pytest

from mxenv.asked import Asked, Included, Index, Unread
from mxenv.requirement_lines import logical, parse, requirement
from mxenv.verdict import Place

HERE = Place(file="requirements.txt", line=1)


def read(text: str) -> list[object]:
    return list(parse(text, file="requirements.txt"))


def one(text: str) -> Asked:
    found = requirement(text, HERE)
    assert isinstance(found, Asked), found
    return found


def test_continued_lines_are_one_and_have_the_number_of_the_first() -> None:
    text = "# c\na \\\n  b\n\nc # d\n  # e \\\nf \\\n# ends it\ng \\"
    assert list(logical(text)) == [(2, "a   b"), (5, "c"), (7, "f"), (9, "g")]


def test_a_form_feed_ends_a_line_and_counts_as_none() -> None:
    assert list(logical("a\x0cb\r\nc\rd")) == [(1, "a"), (1, "b"), (2, "c"), (3, "d")]


def test_a_byte_order_mark_is_no_part_of_a_name() -> None:
    (found,) = read("\ufefftorch==2.8.0")
    assert isinstance(found, Asked)
    assert found.name == "torch"


def test_hashes_over_several_lines_belong_to_the_requirement() -> None:
    found = read(
        'torch==2.8.0 ; python_version < "3.12" \\\n  --hash=sha256:aa \\\n  --hash sha256:b'
    )
    assert [(type(f), f.place.line) for f in found] == [(Asked, 1)]  # type: ignore[attr-defined]
    assert isinstance(found[0], Asked)
    assert found[0].marker == 'python_version < "3.12"'


@pytest.mark.parametrize(
    ("text", "name", "specifier", "url"),
    [
        ("Foo.Bar_baz ~= 1.0", "foo-bar-baz", "~=1.0", ""),
        ("a[x,y]>=1", "a", ">=1", ""),
        ("a", "a", "", ""),
        ("a @ https://h/a-2.0+cu126-cp311-cp311-linux_x86_64.whl", "a", "==2.0+cu126", "https"),
        ("a @ https://h/a.git", "a", "", "https"),
        ("https://h/a-1.0.tar.gz", "a", "==1.0", "https"),
        ("./w/torch-2.9.0-cp311-cp311-linux_x86_64.whl[x]", "torch", "==2.9.0", "./w"),
        ("torch-2.9.0-cp311-cp311-linux_x86_64.whl", "torch", "==2.9.0", "torch-"),
        ("git+https://h/a.git@v1#subdirectory=x&egg=A_b", "a-b", "", "git"),
        ("./folder", "", "", "./folder"),
        (".", "", "", "."),
        (".[dev]", "", "", ".[dev]"),
        ("some/folder", "", "", "some/folder"),
        ("https://h[", "", "", "https"),
    ],
)
def test_every_form_of_a_requirement(text: str, name: str, specifier: str, url: str) -> None:
    found = one(text)
    assert (found.name, found.specifier, found.text) == (name, specifier, text)
    assert found.url.startswith(url)
    assert bool(found.url) == bool(url)


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ('./a-1.0-py3-none-any.whl ; python_version < "3.9"', 'python_version < "3.9"'),
        ("./a-1.0-py3-none-any.whl ; whatever", ""),
    ],
)
def test_a_path_has_a_marker_too(text: str, marker: str) -> None:
    assert one(text).marker == marker


def test_an_address_that_tells_no_name_is_unclear() -> None:
    assert one("git+https://h/a.git").unclear == "the address tells no name"
    assert one("./folder").unclear == ""


@pytest.mark.parametrize(
    ("text", "name"), [("torch==${TORCH}", "torch"), ("${ALL}", ""), ("./${DIR}/x", "")]
)
def test_a_variable_leaves_the_version_unclear(text: str, name: str) -> None:
    found = one(text)
    assert found.name == name
    assert "is not known here" in found.unclear


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        ("-r more.txt", Included(files=("more.txt",), text="-r more.txt", place=HERE)),
        ("-rmore.txt", Included(files=("more.txt",), text="-rmore.txt", place=HERE)),
        (
            "--constraint=c.txt",
            Included(files=("c.txt",), text="--constraint=c.txt", place=HERE, limits=True),
        ),
        ("-i https://h/cu126", Index(url="https://h/cu126", place=HERE)),
        ("--find-links ./w", Index(url="./w", place=HERE)),
        ("-e ./a", Asked(name="", url="./a", text="./a", place=HERE)),
        ("--no-index", None),
        ("--only-binary :all:", None),
    ],
)
def test_options_of_the_file(line: str, statement: object) -> None:
    assert read(line) == ([statement] if statement else [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("bad req here", "expected semicolon"),
        ("a==" + "9" * 5000, "a number that nobody wrote"),
        ("--bogus", "is no option"),
        ("a --hash", "has no value"),
        ("-i", "has no value"),
        ("-", "is no option"),
        ('a --hash="x', "no closing quotation"),
        ("a --index-url https://h", "an option of the whole file"),
    ],
)
def test_what_is_not_understood_is_said_so(line: str, reason: str) -> None:
    unread = [found for found in read(f"\n{line}") if isinstance(found, Unread)]
    assert len(unread) == 1
    assert reason in unread[0].reason
    assert unread[0].place.line == 2
