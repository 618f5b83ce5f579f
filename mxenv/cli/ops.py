"""``mxenv ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import click

from mxenv.cli import _ops_options, _ops_platform, _ops_run, _options
from mxenv.cli._ops_platform import Model
from mxenv.cli._output import PAGES, Output, answers, emit
from mxenv.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.cli._ops_options import Held, Reading
    from mxenv.inventory import Inventory


@click.command("ops", short_help="Show what a model asks for, or hold it against a card.")
@click.argument("model")
@_ops_options.against
@click.option(
    "--diff",
    metavar="OTHER",
    help="Name every thing in which OTHER asks for something else; with --platform, every operator "
    "that becomes something else on the platform OTHER; of two nodes, in what their torch differs.",
)
@_ops_options.reading
@click.option(
    "--run", is_flag=True, help="Run each operator on --device, and hold its numbers to float64."
)
@click.option(
    "--device",
    metavar="NAME",
    help="Where --run runs them, as torch calls it: cuda, cuda:1; cpu unless given.",
)
@click.option(
    "--out",
    metavar="FILE",
    type=_options.PATH,
    help="Write what the model asks for to FILE; with --run add what came of it, and go on from "
    "what FILE has already.",
)
@_options.matrices
@_options.waivers
@_ops_options.held
@answers()
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    model: str,
    held: Held,
    diff: str | None,
    way: Reading,
    run: bool,
    device: str | None,
    out: Path | None,
) -> None:
    """Show what a model asks for, or hold it against a card; no card and no weights are needed.

    MODEL is a folder with config.json, such a file, a file of weights (.safetensors, .gguf), an
    exported program (.pt2, TorchScript, .onnx), a function that gives a model and its inputs
    (module:callable), a tree of source code, or what --out wrote. Which operators a model calls is
    seen by walking through it without weights, with the torch that mxenv or --python has. Of
    weights only headers are read: number formats and sizes. In source code the places are found
    that a port has to look at, with -v each with its line.

    Held against a node whose torch was asked (`mxenv probe --operators`), every operator is in one
    class: supported, indirect, fallback, unsupported, custom or unknown.

    With --run, each operator is called with arguments of the recorded form, in the interpreter
    that --python names. One that crashes or hangs costs no other.
    """
    _refuse(output, held, diff=diff is not None, run=run, device=device)
    if diff is not None and not held.platforms and _ops_platform.nodes(model, diff):
        _ops_platform.compare(output, model, diff, held)
    read = Model(target=model, inventory=way.inventory(model))
    if run:
        _ops_run.run(output, read.inventory, device, way.python, way.seconds, out)
    if out is not None:
        _write(output, read.inventory, out)
    if diff is not None:
        _diff(output, read, diff, held, way)
    elif held.platforms:
        _ops_platform.judge(output, read, held)
    elif out is None:
        _show(output, read.inventory)


def _refuse(output: Output, held: Held, *, diff: bool, run: bool, device: str | None) -> None:
    """Refuse options that say nothing together."""
    _ops_platform.refuse(held, diff=diff)
    _ops_run.refuse(run=run, device=device, others=bool(held.platforms) or diff)
    if (diff or not (held.platforms or run)) and output.format not in PAGES:
        raise UsageError(
            f"the format {output.format!r} is for verdicts only", hint="name a card: --platform"
        )


def _write(output: Output, inventory: Inventory, out: Path) -> None:
    from mxenv.api import operators  # noqa: PLC0415 - imported late: --help needs none of it

    operators.write_inventory(inventory, out)
    output.note(f"wrote {out}: {inventory.digest}")


def _show(output: Output, inventory: Inventory) -> None:
    from mxenv import inventory_file, inventory_table  # noqa: PLC0415 - imported late: as above

    if output.format == "json":
        emit(inventory_file.to_json(inventory))
    else:
        whole = output.verbose or output.format == "html"
        output.tables(inventory_table.sections(inventory, whole=whole))


def _diff(output: Output, read: Model, other: str, held: Held, way: Reading) -> NoReturn:
    from mxenv import inventory_difference as difference  # noqa: PLC0415 - imported late: as above

    if held.platforms:
        _ops_platform.compare_for(output, read, other, held)
    before, after = read.inventory, way.inventory(other)
    changes = difference.compare(before, after)
    settled = difference.settled(before, after)
    sides = (read.target, other)
    _ops_platform.show(output, changes, sides, schema="mxenv.inventorydiff/1", settled=settled)
