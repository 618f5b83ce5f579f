"""Everything in a pyproject.toml that asks for a distribution is read, or is said not to be."""

from __future__ import annotations

import pytest

from mxenv.asked import Asked, Included, Index, Statement, Unread
from mxenv.errors import InvalidFile
from mxenv.pyproject import parse


def read(text: str) -> list[Statement]:
    return list(parse(text, file="pyproject.toml"))


TEXT = """\
[project]
name = "x"
dependencies = [
    "torch >=2",
    'numpy<2 ; python_version < "3.12"',
]
[project.optional-dependencies]
gpu = ["vllm==0.17.0"]
[dependency-groups]
test = ["pytest", {include-group = "lint"}]
lint = [
    "ruff==1",
]
[tool.uv]
dev-dependencies = ["mypy"]
constraint-dependencies = ["numpy==1.26.4"]
override-dependencies = ["torch==2.6.0+cu126"]
extra-index-url = ["https://h/cu121"]
index-url = "https://h/simple"
[tool.uv.sources]
Torch = [{ url = "https://h/torch-2.6.0+cu126-cp311-cp311-linux_x86_64.whl", extra = "e" }]
vllm = { index = "pt" }
[[tool.uv.index]]
name = "pt"
url = "https://h/cu126"
"""


def test_every_requirement_has_its_line_and_its_group() -> None:
    found = [
        (one.name, one.specifier, one.place.line, one.alternative, one.limits)
        for one in read(TEXT)
        if isinstance(one, Asked)
    ]
    assert found == [
        ("torch", ">=2", 4, "", False),
        ("numpy", "<2", 5, "", False),
        ("vllm", "==0.17.0", 8, "gpu", False),
        ("pytest", "", 10, "test", False),
        ("ruff", "==1", 12, "lint", False),
        ("mypy", "", 15, "dev", False),
        ("numpy", "==1.26.4", 16, "", True),
        ("torch", "==2.6.0+cu126", 17, "", True),
        ("torch", "==2.6.0+cu126", 21, "e", True),
    ]


def test_a_source_counts_where_its_marker_holds() -> None:
    where = "{ url = 'https://h/a-1-py3-none-any.whl', marker = \"sys_platform == 'win32'\" }"
    (found,) = read(f"[tool.uv.sources]\na = {where}")
    assert isinstance(found, Asked)
    assert found.marker == 'sys_platform == "win32"'


def test_what_overrides_others_contradicts_none_of_them() -> None:
    found = [one for one in read(TEXT) if isinstance(one, Asked) and one.overrides]
    assert [one.place.line for one in found] == [17]


def test_every_index_has_its_line() -> None:
    found = [(one.url, one.place.line) for one in read(TEXT) if isinstance(one, Index)]
    assert found == [("https://h/cu126", 25), ("https://h/simple", 19), ("https://h/cu121", 18)]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('[project]\ndependencies = ["bad req here"]', 2, "expected semicolon"),
        ('[project]\ndependencies = "torch"', 2, "not an array"),
        ("[project]\ndependencies = [1]", 1, "not a requirement"),
        ('\n[dependency-groups]\nx = [{ other = "y" }]', 3, "not a requirement"),
        ('[[tool.uv.index]]\nname = "x"', 2, "an index without an address"),
        ('[project]\ndynamic = ["dependencies"]', 2, "computes are not known"),
        ("[tool.uv]\noverride-dependencies = ['a b']", 2, "expected"),
        ('[tool.uv.sources]\n"a b" = { url = "https://h" }', 2, "expected"),
        ('[tool.poetry.dependencies]\npython = "3"', 2, "Poetry's own form"),
        ('[tool.pixi.dependencies]\nx = "3"', 2, "pixi's own form"),
        ('[project.optional-dependencies]\nx = "y"', 2, "not an array"),
    ],
)
def test_what_is_not_understood_is_said_so(text: str, line: int, reason: str) -> None:
    (found,) = (one for one in read(text) if isinstance(one, Unread))
    assert reason in found.reason
    assert found.place.line == line


@pytest.mark.parametrize(
    ("value", "files"),
    [('"r.txt"', ["r.txt"]), ('["r.txt", "s.txt", 1]', ["r.txt", "s.txt"])],
)
def test_the_files_that_setuptools_reads_are_named(value: str, files: list[str]) -> None:
    text = (
        '[project]\ndynamic = ["version", "dependencies"]\n'
        f"[tool.setuptools.dynamic]\ndependencies = {{ file = {value} }}"
    )
    found = [one for one in read(text) if isinstance(one, Included)]
    assert [one.files for one in found] == [(file,) for file in files]
    assert {one.place.line for one in found} == {4}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[tool.ruff]\nline-length = 100",
        '[project]\ndynamic = ["version"]',
        '[project]\ndynamic = "x"',
        "project = 1\n[dependency-groups]",
        "[tool.uv]\nsources = 1\nindex-url = 2",
        "[tool.uv.sources]\nx = 1\ny = { git = 'z' }",
        "dependency-groups = 1",
    ],
)
def test_what_asks_for_nothing(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize("text", ["[", "x = " + "[" * 5000])
def test_what_is_no_toml_is_an_error_that_names_the_file(text: str) -> None:
    with pytest.raises(InvalidFile, match=r"^pyproject.toml: not TOML"):
        read(text)
