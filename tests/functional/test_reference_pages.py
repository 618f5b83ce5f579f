"""The reference pages say what the program says: they are rendered from it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from mxenv.api.nodes import keys
from mxenv.cli._front import FRONT
from mxenv.cli._status import MEANING
from mxenv.codes import CODES
from mxenv.facts import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.facts import FactKey

GROUPS = {
    "MX1": "A node, or what is inside an image, against the matrix",
    "MX2": "Locks",
    "MX3": "An image, or a node, against its lock",
    "MX4": "What a gate lets through",
    "MX5": "mxenv itself",
    "MX6": "What a model asks for, against a card",
}


def test_the_page_of_the_command_line_is_what_click_knows(
    golden: Callable[[str, str], None],
) -> None:
    golden("docs/reference/cli.md", "\n".join(command_page()) + "\n")


def test_the_page_of_findings_is_the_table_of_codes(golden: Callable[[str, str], None]) -> None:
    golden("docs/reference/findings.md", "\n".join(findings_page()) + "\n")


def test_the_page_of_facts_is_what_probes_declare(golden: Callable[[str, str], None]) -> None:
    golden("docs/reference/facts.md", "\n".join(facts_page()) + "\n")


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
    yield from (row(str(status), meaning) for status, meaning in MEANING.items())
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
            yield f"*How it is found out:* {known.how}"
            yield ""
            yield f"*What to do:* {known.remedy}"


def facts_page() -> Iterator[str]:
    known = keys()
    yield "# Facts"
    yield ""
    yield "Rendered from the program by `nox -s render`: every fact that a probe asks for, whatever"
    yield f"a node then says of it; {len(known)} of them. A fact is written `name`, or"
    yield "`name[instance]` where there is one for each of several things. Its reading is a value,"
    yield "or *absent* (looked for where it would be, and not there), or *unreadable* with"
    yield "the reason; only the first two are knowledge."
    yield ""
    yield "- **instance**: what tells the facts of one name apart. A part that begins with `@` is"
    yield "  an address, in which two equal nodes may differ: the stack digest does not see it."
    yield "- **of**: *host* if it speaks of the host wherever it is read (an image cannot hold it),"
    yield "  or *place*, whatever was asked: a host, a container, an image."
    yield "- **lasting**: *stack*, it enters both digests of the fingerprint. *node*, only the one"
    yield "  that tells nodes apart, since equal nodes may differ in it. *volatile*, none, since it"
    yield "  changes while nothing is changed."
    for group in sorted({name.partition(".")[0] for name in known}):
        yield ""
        yield f"## {group}"
        yield ""
        yield row("fact", "meaning", "unit", "read from", "of", "lasting")
        yield "| --- | --- | --- | --- | --- | --- |"
        for name in sorted(name for name in known if name.partition(".")[0] == group):
            yield fact(known[name])


def fact(key: FactKey) -> str:
    name = f"`{key.name}[{key.instance}]`" if key.instance else f"`{key.name}`"
    of = "host" if key.view is View.HOST else "place"
    lasting = "volatile" if key.volatile else "node" if key.node_only else "stack"
    return row(name, key.meaning, key.unit, key.sources, of, lasting)


def row(*cells: str) -> str:
    # A star would make what follows it slanted.
    texts = (cell.replace("|", "\\|").replace("*", "\\*") for cell in cells)
    return " ".join(["|", *(f"{text} |" if text else "|" for text in texts)])
