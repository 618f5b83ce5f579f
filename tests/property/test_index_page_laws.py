"""Whatever an index answers, it is read or refused, and nothing else."""

from __future__ import annotations

import html
import json
from contextlib import suppress
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from mxenv import index_page
from mxenv.distribution import normalised, project_of

BASE = "https://index.example.com/simple/x/"
KINDS = st.sampled_from(["text/html", "application/vnd.pypi.simple.v1+json", "text/plain", ""])
VERSIONS = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}(\+[a-z0-9]{1,5})?", fullmatch=True)
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_.]{0,10}[A-Za-z0-9]", fullmatch=True)
WHEELS = st.builds("{}-{}-py3-none-any.whl".format, NAMES, VERSIONS)
HASHES = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)


@given(st.text(), KINDS)
def test_any_text_is_a_page_or_no_page(text: str, kind: str) -> None:
    with suppress(ValueError):
        for link in index_page.parse(text, base=BASE, kind=kind):
            assert link.name.endswith((".whl", ".tar.gz"))


@given(st.recursive(st.none() | st.text() | st.integers(), st.lists))
def test_any_json_is_a_page_or_no_page(files: object) -> None:
    with suppress(ValueError):
        text = json.dumps({"files": files})
        assert index_page.parse(text, base=BASE, kind="application/json") == ()


@given(st.lists(st.tuples(WHEELS, HASHES)))
def test_both_forms_of_a_page_say_the_same(files: list[tuple[str, str]]) -> None:
    anchors = "".join(
        f'<a href="{html.escape(quote(name))}#sha256={digest}">{html.escape(name)}</a>'
        for name, digest in files
    )
    entries = [
        {"filename": name, "url": quote(name), "hashes": {"sha256": digest}}
        for name, digest in files
    ]
    one = index_page.parse(anchors, base=BASE, kind="text/html")
    other = index_page.parse(json.dumps({"files": entries}), base=BASE, kind="application/json")
    assert one == other
    assert [(link.name, link.sha256) for link in one] == files


@given(NAMES, VERSIONS)
def test_both_kinds_of_file_are_of_the_distribution_that_they_are_named_for(
    name: str, version: str
) -> None:
    escaped = normalised(name).replace("-", "_")
    assert project_of(f"{escaped}-{version}-py3-none-any.whl") == normalised(name)
    assert project_of(f"{escaped}-{version}.tar.gz") == normalised(name)
