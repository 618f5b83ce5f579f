"""What the documentation names is there: files, commands, options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from mxenv.api import checking
from mxenv.cli._front import FRONT
from mxenv.cli._status import MEANING

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT) for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
)
LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+)")
TYPED = re.compile(r"(?m)^\s*(?:\$ |- run: )?((?:\.venv/bin/)?mxenv (?:'[^'\n]*'|[^\n#|<>&'])*)")
"""Up to where a shell would do something else with it, outside of quotes."""


def typed() -> list[tuple[str, str]]:
    return [
        (str(page), line.strip())
        for page in PAGES
        if page.name != "cli.md"
        for block in re.findall(r"(?s)```.*?```", (ROOT / page).read_text(encoding="utf-8"))
        for line in TYPED.findall(block)
    ]


@pytest.mark.parametrize("page", [str(page) for page in PAGES])
def test_every_link_to_a_file_leads_somewhere(page: str) -> None:
    for target in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize(("page", "line"), typed())
def test_every_command_that_is_shown_has_its_options(page: str, line: str) -> None:
    words = shlex.split(line)[1:]
    command: click.Command = FRONT
    known = {name for param in FRONT.params for name in param.opts}
    for word in words:
        if isinstance(command, click.Group) and not word.startswith("-"):
            found = command.get_command(click.Context(command), word)
            if found is None:
                continue  # the value of an option, as in `--format json check`
            command = found
            known |= {name for param in command.params for name in param.opts}
        elif word.startswith("--"):
            assert word.partition("=")[0] in known | {"--help", "--version"}, (page, word)
    assert command is not FRONT or {"--version", "--help"} & set(words), (page, line)


def test_the_rows_that_are_shown_are_rows_of_a_matrix(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/check-a-node.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"(?s)```toml\n(.*?)```", page)
    (tmp_path / "site.toml").write_text(shown, encoding="utf-8")
    more = checking.load_matrix((tmp_path / "site.toml",)).rows
    assert len(more) == len(checking.load_matrix().rows) + shown.count("[[")


def test_the_readme_tells_every_exit_status() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for status, meaning in MEANING.items():
        assert f"| {status} | {meaning} |" in text


def test_the_picture_of_the_house_has_every_module() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    modules = {path.stem for path in (ROOT / "mxenv").glob("*.py")} - {"__init__", "__main__"}
    folders = {path.parent.name + "/" for path in (ROOT / "mxenv").glob("*/__init__.py")}
    assert {name for name in modules | folders if f"`{name}`" not in text} == set()
