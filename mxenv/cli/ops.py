"""``mxenv ops``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from mxenv.cli import _options, _status
from mxenv.cli._output import PAGES, Output, answers, emit
from mxenv.errors import UsageError
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.inventory import Inventory

DIFFERENT = _status.STATUS[Outcome.INCOMPATIBLE]
UNSURE = _status.STATUS[Outcome.UNKNOWN]
TOLD = ("text", "html")
"""Formats for people, in which places that are alike stand together."""


@click.command("ops", short_help="Show what a model asks for, or hold it against a card.")
@click.argument("model")
@click.option(
    "--platform",
    metavar="CARD|SNAPSHOT|ADDRESS",
    multiple=True,
    help="Hold it against this model of card, or the cards of this node; may be given several "
    "times.",
)
@click.option(
    "--diff", metavar="OTHER", help="Name every thing in which OTHER asks for something else."
)
@click.option("--reader", metavar="NAME", help="What reads MODEL; found out unless given.")
@click.option(
    "--out", metavar="FILE", type=_options.PATH, help="Write what the model asks for to FILE."
)
@_options.matrices
@_options.waivers
@answers()
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    model: str,
    platform: tuple[str, ...],
    diff: str | None,
    reader: str | None,
    out: Path | None,
    matrix: _options.Matrices,
    waivers: tuple[Path, ...],
) -> None:
    """Show what a model asks for, or hold it against a card; nothing is run, and no card needed.

    MODEL is a folder with config.json, such a file, a file of weights (.safetensors, .gguf), a
    tree of source code, or what --out wrote. Of weights only headers are read: number formats and
    sizes. In source code the places are found that a port has to look at, with -v each with its
    line. Which operators a model calls is not looked at yet, and said.
    """
    from mxenv.api import operators  # noqa: PLC0415 - imported late: --help needs none of it

    if diff is not None and platform:
        raise UsageError("--diff compares models, --platform holds one against a card: not both")
    if not platform and output.format not in PAGES:
        raise UsageError(
            f"the format {output.format!r} is for verdicts only", hint="name a card: --platform"
        )
    inventory = operators.inventory_of(model, reader)
    if out is not None:
        operators.write_inventory(inventory, out)
        output.note(f"wrote {out}: {inventory.digest}")
    if diff is not None:
        _diff(output, (model, inventory), (diff, operators.inventory_of(diff, reader)))
    elif platform:
        _judge(output, (model, inventory), platform, matrix, waivers)
    elif out is None:
        _show(output, inventory)


def _show(output: Output, inventory: Inventory) -> None:
    from mxenv import inventory_file, inventory_table  # noqa: PLC0415 - imported late: as above

    if output.format == "json":
        emit(inventory_file.to_json(inventory))
    else:
        whole = output.verbose or output.format == "html"
        output.tables(inventory_table.sections(inventory, whole=whole))


def _judge(
    output: Output,
    model: tuple[str, Inventory],
    platforms: tuple[str, ...],
    matrix: _options.Matrices,
    waivers: tuple[Path, ...],
) -> NoReturn:
    from mxenv.api import operators, waiving  # noqa: PLC0415 - imported late: as above

    target, inventory = model
    known, answered = matrix.load(), waiving.read(waivers)
    verdicts = [
        operators.cover(
            inventory,
            platform,
            known,
            waivers=answered,
            each=output.format not in TOLD,
            target=target,
            now=_options.now(),
            today=_options.today(),
        )
        for platform in platforms
    ]
    output.verdicts(verdicts)
    sys.exit(_status.STATUS[_status.worst(verdicts)])


def _diff(output: Output, before: tuple[str, Inventory], after: tuple[str, Inventory]) -> NoReturn:
    from mxenv import inventory_difference as difference  # noqa: PLC0415 - imported late: as above

    changes = difference.compare(before[1], after[1])
    if output.format == "json":
        fields = ("part", "name", "before", "after")
        told = [{name: getattr(one, name) for name in fields} for one in changes]
        sides = {"before": before[0], "after": after[0]}
        output.values("mxenv.inventorydiff/1", {**sides, "changes": told})
    elif changes:
        output.tables((difference.section(changes, before[0], after[0]),))
    settled = difference.settled(before[1], after[1])
    unsure = "" if changes or settled else "; what neither says may still differ"
    count = f"{len(changes) or 'no'} difference{'s' * (len(changes) != 1)}"
    output.note(f"{count} between {before[0]} and {after[0]}{unsure}")
    sys.exit(DIFFERENT if changes else 0 if settled else UNSURE)
