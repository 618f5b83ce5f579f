from __future__ import annotations

import json

import pytest

from mxenv import index_page
from mxenv.index_page import Link

BASE = "https://index.example.com/simple/mx-lib/"
WHEEL, SDIST = "mx_lib-1.0-py3-none-any.whl", "mx_lib-1.0.tar.gz"
HTML, JSON = "text/html; charset=utf-8", "application/vnd.pypi.simple.v1+json"


def html(text: str) -> tuple[Link, ...]:
    return index_page.parse(text, base=BASE, kind=HTML)


def test_a_page_of_links_names_files_with_their_hashes() -> None:
    text = f'<a href="../../f/{WHEEL}#sha256=ABC">x</a><a href="{SDIST}#md5=1">y</a>'
    assert html(text) == (
        Link(name=WHEEL, url=f"https://index.example.com/f/{WHEEL}", sha256="abc"),
        Link(name=SDIST, url=f"{BASE}{SDIST}"),
    )


def test_a_page_may_say_where_its_links_begin() -> None:
    (link,) = html(f'<base href="https://files.example.com/"><a href="{WHEEL}">x</a>')
    assert link.url == f"https://files.example.com/{WHEEL}"


def test_a_name_is_read_from_the_link_and_not_from_its_text() -> None:
    (link,) = html('<a href="mx_lib-2%2Bmetax.3-py3-none-any.whl?token=1">other.whl</a>')
    assert link.name == "mx_lib-2+metax.3-py3-none-any.whl"
    assert link.url.endswith("?token=1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<<<>>garbage & no links",
        "<a>no link</a>",
        '<a href="">empty</a>',
        f'<link href="{WHEEL}">',
        '<a href="http://[broken/x.whl">x</a><base href="http://[broken/">',
        '<a href="mx_lib-1.0.exe">x</a><a href="mx_lib-1.0.zip">y</a>',
    ],
)
def test_what_is_no_link_to_a_wheel_or_a_source_is_passed_over(text: str) -> None:
    assert html(text) == ()


def test_a_page_in_json_says_the_same() -> None:
    files = [
        {"filename": WHEEL, "url": f"/f/{WHEEL}", "hashes": {"sha256": "ABC"}},
        {"filename": SDIST, "url": f"https://files.example.com/{SDIST}"},
        {"filename": "mx_lib-1.0.exe", "url": "x"},
    ]
    assert index_page.parse(json.dumps({"files": files}), base=BASE, kind=JSON) == (
        Link(name=WHEEL, url=f"https://index.example.com/f/{WHEEL}", sha256="abc"),
        Link(name=SDIST, url=f"https://files.example.com/{SDIST}"),
    )


@pytest.mark.parametrize(
    "text", ["", '{"x":', "[]", "{}", '{"files": [1]}', '{"files": [{}]}', '{"files": 3}']
)
def test_json_that_is_no_page_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no list of files"):
        index_page.parse(text, base=BASE, kind=JSON)


@pytest.mark.parametrize("kind", ["", "application/octet-stream", "text/plain"])
def test_another_kind_of_answer_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="is no page of links"):
        index_page.parse("x", base=BASE, kind=kind)
