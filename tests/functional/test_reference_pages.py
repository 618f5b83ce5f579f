"""The reference pages say what the program says: they are rendered from it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from mxenv.cli._front import FRONT
from mxenv.cli._status import MEANING
from mxenv.codes import CODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GROUPS = {
    "MX1": "A node, or what is inside an image, against the matrix",
    "MX2": "Locks",
    "MX3": "An image, or a node, against its lock",
    "MX4": "What a gate lets through",
    "MX5": "mxenv itself",
}


def test_the_page_of_the_command_line_is_what_click_knows(
    golden: Callable[[str, str], None],
) -> None:
    golden("docs/reference/cli.md", "\n".join(command_page()) + "\n")


def test_the_page_of_findings_is_the_table_of_codes(golden: Callable[[str, str], None]) -> None:
    golden("docs/reference/findings.md", "\n".join(findings_page()) + "\n")


def test_every_code_belongs_to_a_group() -> None:
    assert {code[:3] for code in CODES} <= GROUPS.keys()


def command_page() -> Iterator[str]:
    yield "# The command line"
    yield ""
    yield "Rendered from the program by `nox -s render`. Results go to stdout, everything else to"
    yield "stderr. Every option is a variable as well, named after its text. An ADDRESS is"
    yield "`scheme:rest`, as `local:`, `recording:DIR`, `root:DIR`, `oci:DIR`, `image:REFERENCE`."
    yield ""
    yield "| exit status | meaning |"
    yield "| ---: | --- |"
    yield from (f"| {status} | {meaning} |" for status, meaning in MEANING.items())
    yield from section(FRONT, click.Context(FRONT, info_name="mxenv", auto_envvar_prefix="MXENV"))


def section(command: click.Command, ctx: click.Context) -> Iterator[str]:
    yield ""
    yield f"## {ctx.command_path}"
    yield ""
    yield f"`{command.get_usage(ctx).removeprefix('Usage: ')}`"
    yield ""
    yield inspect.cleandoc(command.help or "")
    yield ""
    yield from filter(None, (option(param, ctx) for param in command.get_params(ctx)))
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None, name
            if not inner.hidden:
                yield from section(inner, click.Context(inner, info_name=name, parent=ctx))


def option(param: click.Parameter, ctx: click.Context) -> str:
    record = param.get_help_record(ctx)
    if record is None or not isinstance(param, click.Option) or "--help" in param.opts:
        return ""
    names, text = record
    prefix = ctx.auto_envvar_prefix
    named = [param.envvar] if isinstance(param.envvar, str) else []
    if prefix and param.name and param.name != "version":
        named.append(f"{prefix}_{param.name.upper()}")
    variables = "".join(f" `{name}`" for name in named)
    return f"- `{names}`: {text}{variables}"


def findings_page() -> Iterator[str]:
    yield "# Findings"
    yield ""
    yield "Rendered from the program by `nox -s render`. A code never changes what it stands for;"
    yield "`mxenv explain CODE` says the same."
    for prefix, title in GROUPS.items():
        codes = {code: known for code, known in CODES.items() if code.startswith(prefix)}
        if codes:
            yield ""
            yield f"## {prefix}xx: {title}"
        for code, known in codes.items():
            yield ""
            yield f"### {code}: {known.title}"
            yield ""
            yield known.meaning
            yield ""
            yield f"*What to do:* {known.remedy}"
