"""How results of runs are written, a line each as they come, and read back after any end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mxenv import json_document
from mxenv.errors import InventoryError
from mxenv.json_document import Kind, Node
from mxenv.operator_runs import SCHEMA, Device, Ended, Run, Runs, Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KIND = Kind(
    title="results of running operators",
    schema=SCHEMA,
    error=InventoryError,
    hint="make it again with `mxenv ops MODEL --run --out FILE`",
)
HEAD = ("schema", "inventory", "model", "device", "torch", "python", "machine", "tf32")
LINE = ("operator", "dtypes", "sample", "ended", "said", "against", "quotient", "ms", "varies")


def head(runs: Runs) -> str:
    """Return the first line: on what is run, and of what."""
    device = runs.device
    told = {
        "schema": SCHEMA,
        "inventory": runs.inventory,
        "model": runs.model,
        "device": device.name,
        "torch": device.torch,
        "python": device.python,
        "machine": device.machine,
        "tf32": list(device.tf32),
    }
    return _line(told)


def begun(trial: Trial) -> str:
    """Return the line that stands before a trial: if it is the last, the trial ended more."""
    return _line({"begun": trial.key})


def line(run: Run) -> str:
    """Return the line of what came of a trial."""
    trial = run.trial
    told = {
        "operator": trial.operator,
        "dtypes": list(trial.dtypes),
        "sample": trial.sample,
        "ended": run.ended.value,
        "said": run.said,
        "against": run.against,
        "quotient": run.quotient,
        "ms": run.milliseconds,
        "varies": run.varies,
    }
    return _line({name: one for name, one in told.items() if one not in ("", [], None, False)})


def whole(text: str) -> str:
    """Return what of a file was written to its end: the last line may not have been."""
    return text[: text.rfind("\n") + 1]


def from_text(text: str, *, context: str) -> Runs:
    """Return the results that a file holds; ``context`` is the file's name.

    A last line without an end is left out: whoever wrote it did not get further. Of a trial that
    was run again, the last counts.
    """
    lines = whole(text).split("\n")[:-1]
    if not lines:
        raise InventoryError("empty", context=context, hint=KIND.hint)
    top = json_document.root(lines[0], context=context, kind=KIND)
    top.only(*HEAD)
    found: dict[str, Run] = {}
    open_: list[str] = []
    for node in _nodes(lines[1:], context):
        if node.has("begun"):
            node.only("begun")
            open_.append(node.child("begun").text())
            continue
        run = _run(node)
        found[run.trial.key] = run
    return Runs(
        inventory=top.child("inventory").text(),
        model=top.child("model").text(),
        device=Device(
            name=top.child("device").text(),
            torch=top.child("torch").text(),
            python=top.child("python").text(),
            machine=top.child("machine").text(),
            tf32=top.child("tf32").texts(),
        ),
        runs=tuple(found.values()),
        begun=tuple(key for key in open_ if key not in found),
    )


def _line(told: Mapping[str, object]) -> str:
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False) + "\n"


def _nodes(lines: list[str], context: str) -> Iterator[Node]:
    for number, one in enumerate(lines, start=2):
        yield Node(_parsed(one, number, context), f"{context}: line {number}", "", KIND)


def _parsed(line: str, number: int, context: str) -> object:
    try:
        return json_document.parsed(line, context=context, kind=KIND)
    except InventoryError:
        # Once more, where it stands in the file: the parser counts lines.
        return json_document.parsed("\n" * (number - 1) + line, context=context, kind=KIND)


def _run(node: Node) -> Run:
    node.only(*LINE)
    ended = node.child("ended")
    if ended.text() not in tuple(Ended):
        ended.fail(f"{ended.text()!r} is not one of {', '.join(Ended)}")
    return Run(
        trial=Trial(
            operator=node.child("operator").text(),
            dtypes=node.child("dtypes").texts() if node.has("dtypes") else (),
            sample=_text(node, "sample"),
        ),
        ended=Ended(ended.text()),
        said=_text(node, "said"),
        against=_text(node, "against"),
        quotient=_number(node, "quotient"),
        milliseconds=_number(node, "ms"),
        varies=node.flag("varies"),
    )


def _text(node: Node, name: str) -> str:
    return node.child(name).text() if node.has(name) else ""


def _number(node: Node, name: str) -> float | None:
    if not node.has(name):
        return None
    child = node.child(name)
    value = child.value
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value < float("inf")
    ):
        child.fail("not a number, zero or more")
    return float(value)
