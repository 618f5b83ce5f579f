"""The pages that a small matrix, and a verdict by it, give: whole, as they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _stacks import KEYS, TODAY, fact, matrix, node

from mxenv import _plugins
from mxenv.judgement import judge
from mxenv.matrix_table import sections
from mxenv.reports import Page, Report

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = """
[[release]]
id = "set-a"
sdk = "3.5.3.*"
python = ">=3.10"
components = { torch = "2.8.0+metax3.5.3.9", vllm = "0.17.0", vllm-metax = "0.17.0", apex = "0.1" }
EVIDENCE
[[tested]]
id = "pilot"
card = "C500"
kmd = "3.8.30"
sdk = "3.5.3.20"
works = true
EVIDENCE
[[rule]]
id = "same-sdk"
text = "wheels <and> SDK agree"
agree = [{ left = "python.package[*].sdk", right = "metax.sdk", fields = 3 }]
EVIDENCE
[[broken]]
id = "old"
text = "this driver hangs"
when = ["metax.kmd < 2.0"]
EVIDENCE
[[format]]
id = "f"
cards = ["C500"]
formats = ["fp16"]
support = "native"
EVIDENCE
"""
SUFFIX = {"text": "txt", "html": "html"}


def report(name: str) -> Report:
    loaded: Report = _plugins.load("reports", name)
    return loaded


@pytest.mark.parametrize("name", ["text", "html"])
def test_the_tables_of_a_matrix_are_as_kept(name: str, golden: Callable[[str, str], None]) -> None:
    render = report(name).tables
    assert render is not None
    text = render(sections(matrix(ROWS)), Page(width=100))
    golden(f"tests/golden/matrix-tables.{SUFFIX[name]}", text)


def test_the_page_of_a_verdict_is_as_kept(golden: Callable[[str, str], None]) -> None:
    given = node({"torch": "2.8.0+metax3.7.0.7", "vllm": "0.17.0"}, fact("libc.version", "2.36"))
    text = report("html").verdicts((judge(given, matrix(ROWS), today=TODAY),), Page())
    golden("tests/golden/verdict-page.html", text)


def test_the_page_of_a_snapshot_is_as_kept(golden: Callable[[str, str], None]) -> None:
    render = report("html").snapshot
    assert render is not None
    golden("tests/golden/snapshot-page.html", render(node({"torch": "2.8.0"}), KEYS, Page()))
