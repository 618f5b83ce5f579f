"""Running the operators of a model on a device, and what follows from how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv import _files, run_findings
from mxenv.api import _results_file
from mxenv.api._operator_session import Session
from mxenv.errors import InventoryError, UsageError
from mxenv.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mxenv.inventory import Inventory
    from mxenv.operator_runs import Runs

FILE = 256 << 20
"""Bytes of a file of results that is read."""


def run(  # noqa: PLR0913 - each is a question of its own
    inventory: Inventory,
    *,
    device: str,
    python: str | None,
    seconds: float,
    out: Path | None,
    told: Callable[[str], None] | None = None,
) -> Runs:
    """Return what came of every operator of ``inventory`` on ``device``.

    ``python`` is the interpreter whose torch is tried, and ``seconds`` what one operator may take.
    In the file ``out`` results stand as they come; those that it has already are not made again.
    """
    with _results_file.opened(out) as file:
        session = Session(
            inventory, device=device, python=python, seconds=seconds, file=file, told=told
        )
        return session.results()


def read_results(path: Path) -> Runs:
    """Return the results in the file at ``path``."""
    try:
        content = _files.read(path, limit=FILE)
    except (OSError, ValueError) as error:
        raise InventoryError(f"cannot be read: {_files.why(error)}", context=str(path)) from None
    return _results_file.parsed(content, str(path))


def verdict(inventory: Inventory, runs: Runs) -> Verdict:
    """Return what follows from ``runs`` for the model that they are of."""
    if runs.inventory != inventory.digest:
        raise UsageError(f"the results are of another inventory, of {runs.model}")
    device = runs.device
    return Verdict(
        subject=f"{inventory.name} on {device.name} ({device.machine}), torch {device.torch}",
        findings=tuple(run_findings.findings(inventory, runs)),
    )
