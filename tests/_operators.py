"""Snapshots of nodes whose torch was asked for its operators, and models to hold against them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mxenv import inventory_file, operator_runs_file, operator_table
from mxenv import snapshot as snapshots
from mxenv.api import nodes
from mxenv.facts import Fact, Observed, Snapshot, View
from mxenv.inventory import Inventory, Phase, Use
from mxenv.operator_runs import Device, Ended, Run, Runs, Trial
from mxenv.operator_table import Entry, How, Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ENV = "/opt/conda"
TORCH = "2.8.0+metax3.5.3.9"
ENTRIES = {
    "aten::add.Tensor": Entry(how=How.COMPOSITE, via=("aten::mm.default",)),
    "aten::mm.default": Entry(how=How.NATIVE),
    "aten::gelu.default": Entry(how=How.NATIVE, by="flag_gems"),
    "aten::linalg_svd.default": Entry(how=How.FALLBACK),
    "aten::_fused_sdp.default": Entry(how=How.MISSING),
    "aten::odd.default": Entry(how=How.UNKNOWN),
}


def table(entries: Mapping[str, Entry] = ENTRIES, *, torch: str = TORCH, key: str = "CUDA") -> str:
    """Return what a fact holds of a build that has ``entries``."""
    return operator_table.write(Table(torch=torch, key=key, entries=entries))


def node(  # noqa: PLR0913 - what one node differs in from another
    path: Path,
    written: str,
    *,
    card: str = "C500",
    torch: str = TORCH,
    envs: tuple[str, ...] = (ENV,),
    more: tuple[tuple[str, str], ...] = (),
) -> Path:
    """Write a snapshot of a node whose torch was asked, with ``more`` distributions."""
    told = [("metax.device.model", "0000:16:00.0", card), ("metax.sdk", "", "3.5.3.20")]
    for env in envs:
        told += [("python.series", env, "3.10"), ("torch.operators", env, written)]
        packages = (("torch", torch), *more)
        told += [("python.package", f"{env}/{name}", version) for name, version in packages]
    facts = (
        Fact(key=key, instance=instance, reading=Observed(value), source="a test")
        for key, instance, value in told
        if value
    )
    snapshot = Snapshot(
        node=path.stem,
        view=View.HOST,
        taken_at=datetime(2026, 11, 30, 9, tzinfo=UTC),
        facts=tuple(facts),
    )
    path.write_text(snapshots.to_json(snapshot, nodes.keys()), encoding="utf-8")
    return path


def model(path: Path, *operators: str, gaps: tuple[str, ...] = ()) -> Path:
    """Write an inventory in which each operator is called ten times."""
    uses = (
        Use(
            operator=name,
            phase=Phase.PREFILL,
            dtypes=("bf16", "bf16"),
            calls=10,
            module="model.layers.0",
            site="transformers/models/llama/modeling_llama.py:241",
        )
        for name in operators
    )
    inventory = Inventory(
        name="llama",
        reader="huggingface",
        source="sha256:0",
        dtype="bf16",
        tools=(("torch", "2.13.0"),),
        uses=tuple(uses),
        gaps=gaps,
    )
    path.write_text(inventory_file.to_json(inventory), encoding="utf-8")
    return path


def results(
    path: Path, asked: Path, ended: Mapping[str, Ended], *, device: str = "cuda", torch: str = TORCH
) -> Path:
    """Write what came of running some operators of the inventory in the file ``asked``."""
    inventory = inventory_file.from_json(asked.read_text(encoding="utf-8"), context="a test")
    runs = Runs(
        inventory=inventory.digest,
        model=inventory.name,
        device=Device(name=device, torch=torch),
        runs=tuple(
            Run(trial=Trial(operator=name, dtypes=("bf16", "bf16")), ended=end)
            for name, end in ended.items()
        ),
    )
    lines = [operator_runs_file.head(runs), *map(operator_runs_file.line, runs.runs)]
    path.write_text("".join(lines), encoding="utf-8")
    return path
