"""``mxenv ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypedDict, Unpack

import click

from mxenv.cli import _ops_platform, _ops_run, _options
from mxenv.cli._ops_platform import Held
from mxenv.cli._output import PAGES, Output, answers, emit
from mxenv.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.inventory import Inventory


class Asked(TypedDict):
    """How a model is walked through, as `mxenv.models.Request` has it."""

    train: bool
    python: str | None
    trust_remote_code: bool
    seconds: float


@click.command("ops", short_help="Show what a model asks for, or hold it against a card.")
@click.argument("model")
@click.option(
    "--platform",
    metavar="CARD|SNAPSHOT|ADDRESS",
    multiple=True,
    help="Hold it against this model of card, or this node's cards and its torch; may be given "
    "several times.",
)
@click.option(
    "--env", metavar="PREFIX", help="The Python environment of a node whose torch counts."
)
@click.option(
    "--ran",
    metavar="RESULTS",
    type=_options.PATH,
    help="What came of --run on the platform: how well each operator is known to work.",
)
@click.option(
    "--diff",
    metavar="OTHER",
    help="Name every thing in which OTHER asks for something else; with --platform, every operator "
    "that becomes something else on the platform OTHER; of two nodes, in what their torch differs.",
)
@click.option("--reader", metavar="NAME", help="What reads MODEL; found out unless given.")
@click.option(
    "--train", is_flag=True, help="With the backward pass and the optimiser, autocast as well."
)
@click.option(
    "--python",
    metavar="PATH",
    help="The interpreter whose torch is used; mxenv's own unless given.",
)
@click.option("--trust-remote-code", is_flag=True, help="Run the code that a model brings along.")
@click.option(
    "--seconds",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="How long a model may take to walk through; with --run, each operator.",
)
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
@answers()
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    model: str,
    platform: tuple[str, ...],
    env: str | None,
    ran: Path | None,
    diff: str | None,
    reader: str | None,
    run: bool,
    device: str | None,
    out: Path | None,
    matrix: _options.Matrices,
    waivers: tuple[Path, ...],
    **asked: Unpack[Asked],
) -> None:
    """Show what a model asks for, or hold it against a card; no card and no weights are needed.

    MODEL is a folder with config.json, such a file, a file of weights (.safetensors, .gguf), an
    exported program (.pt2, TorchScript, .onnx), a tree of source code, or what --out wrote.
    Which operators a model calls is seen by walking through it without weights, where torch and
    transformers are installed, or in the interpreter that --python names. Of weights only
    headers are read: number formats and sizes. In source code the places are found that a port
    has to look at, with -v each with its line.

    Held against a node whose torch was asked (`mxenv probe --operators`), every operator is in one
    class: supported, indirect, fallback, unsupported, custom or unknown.

    With --run, each operator is called with arguments of the recorded form, in the interpreter
    that --python names. One that crashes or hangs costs no other.
    """
    from mxenv.api import operators  # noqa: PLC0415 - imported late: --help needs none of it
    from mxenv.models import Request  # noqa: PLC0415 - imported late: as below

    held = Held(platforms=platform, matrix=matrix, env=env, ran=ran, waivers=waivers)
    _ops_platform.refuse(held, diff=diff is not None)
    _ops_run.refuse(run=run, device=device, others=bool(platform) or diff is not None)
    if (diff is not None or not (platform or run)) and output.format not in PAGES:
        raise UsageError(
            f"the format {output.format!r} is for verdicts only", hint="name a card: --platform"
        )
    if diff is not None and not platform and _ops_platform.nodes(model, diff):
        _ops_platform.compare(output, model, diff, held)
    request = Request(target=model, **asked)
    inventory = operators.inventory_of(model, reader, request=request)
    if run:
        _ops_run.run(output, inventory, device, asked["python"], asked["seconds"], out)
    if out is not None:
        operators.write_inventory(inventory, out)
        output.note(f"wrote {out}: {inventory.digest}")
    read = _ops_platform.Model(target=model, inventory=inventory)
    if diff is not None and platform:
        _ops_platform.compare_for(output, read, diff, held)
    elif diff is not None:
        _diff(
            output,
            (model, inventory),
            (diff, operators.inventory_of(diff, reader, request=request)),
        )
    elif platform:
        _ops_platform.judge(output, read, held)
    elif out is None:
        _show(output, inventory)


def _show(output: Output, inventory: Inventory) -> None:
    from mxenv import inventory_file, inventory_table  # noqa: PLC0415 - imported late: as above

    if output.format == "json":
        emit(inventory_file.to_json(inventory))
    else:
        whole = output.verbose or output.format == "html"
        output.tables(inventory_table.sections(inventory, whole=whole))


def _diff(output: Output, before: tuple[str, Inventory], after: tuple[str, Inventory]) -> NoReturn:
    from mxenv import inventory_difference as difference  # noqa: PLC0415 - imported late: as above

    changes = difference.compare(before[1], after[1])
    settled = difference.settled(before[1], after[1])
    sides = (before[0], after[0])
    _ops_platform.show(output, changes, sides, schema="mxenv.inventorydiff/1", settled=settled)
