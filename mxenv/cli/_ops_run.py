"""How ``mxenv ops --run`` runs the operators of a model, and shows what came of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from mxenv.cli import _status
from mxenv.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.cli._output import Output
    from mxenv.inventory import Inventory


CPU = "cpu"


def refuse(*, run: bool, device: str | None, others: bool) -> None:
    """Refuse options that say nothing together."""
    if run and others:
        raise UsageError(
            "--run runs a model's operators, --platform and --diff compare: not both",
            hint="hold the model against the platform without --run",
        )
    if device is not None and not run:
        raise UsageError("--device is where --run runs operators", hint="add --run")


def run(  # noqa: PLR0913, PLR0917 - each is an option
    output: Output,
    inventory: Inventory,
    device: str | None,
    python: str | None,
    seconds: float,
    out: Path | None,
) -> NoReturn:
    """Run every operator of ``inventory`` on ``device``, show how each ended, and exit."""
    from mxenv.api import operator_runs  # noqa: PLC0415 - imported late: only --run needs it

    with output.steps_done() as told:
        runs = operator_runs.run(
            inventory,
            device=device or CPU,
            python=python,
            seconds=seconds,
            out=out,
            told=told,
        )
    if out is not None:
        output.note(f"results of {len(runs.runs)} sets of arguments are in {out}")
    verdict = operator_runs.verdict(inventory, runs)
    output.verdicts((verdict,))
    sys.exit(_status.STATUS[verdict.outcome])
