"""Inventories of model families, each held against what a small instance of it really calls."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from _comparison import differences, merged
from _families import CONFIGS, FACTORIES

from mxenv.models import _recorded
from mxenv.models._interpreter import run_child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.inventory import Inventory

HERE = Path(__file__).parent
Calls = dict[str, dict[str, dict[str, int]]]
MODES = ("inference", "training")


class Run(Protocol):
    """Run a small instance of a model, and tell what was dispatched."""

    def __call__(self, job: dict[str, Any]) -> Calls: ...


@pytest.fixture(scope="session")
def real(torch_python: str) -> Iterator[Run]:
    """Run a small instance with real weights on the CPU; one process does it for all families."""
    with subprocess.Popen(
        [torch_python, "_real_run.py"],
        cwd=HERE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answered = process.stdin, process.stdout

        def run(job: dict[str, Any]) -> Calls:
            asked.write(json.dumps(job) + "\n")
            asked.flush()
            line = answered.readline()
            assert line, "the real run ended before it answered: see its stderr"
            return json.loads(line)

        yield run
        asked.close()


def recorded(name: str, python: str, *, train: bool, device: str = "") -> Inventory:
    """Return what the recorder sees of a family, without any weights or as a device runs it."""
    asked: dict[str, Any] = {"train": train, "walks": ["plain"]}
    if name in CONFIGS:
        config = {"config": CONFIGS[name], "folder": str(HERE), "trust": False}
        asked |= {**config, "needs": ["transformers"]}
    else:
        asked |= {"callable": f"factories:{name}", "path": [str(HERE)]}
    if device:
        asked["device"] = device
    answer = run_child("record.py", asked, python=python, seconds=300)
    # As if it were a card: what it has chosen stands alone.
    chose = "card" if device else ""
    return _recorded.inventory(answer, name=name, reader="test", source="sha256:0", device=chose)


def ran(name: str, inventory: Inventory, real: Run, *, train: bool) -> Calls:
    """Return what really ran, of what the inventory says that the model was given."""
    job = {"inputs": dict(inventory.inputs), "dtype": inventory.dtype, "train": train}
    job |= {"config": CONFIGS[name]} if name in CONFIGS else {"factory": name}
    # A mask without padding and one with it lead two ways, and both are recorded.
    masks = (False, True) if "attention_mask" in dict(inventory.inputs) else (False,)
    return merged(real({**job, "padded": padded}) for padded in masks)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*CONFIGS, *FACTORIES])
def test_what_is_recorded_without_weights_is_what_really_runs(
    name: str, mode: str, real: Run, torch_python: str
) -> None:
    train = mode == "training"
    inventory = recorded(name, torch_python, train=train)
    assert not inventory.gaps
    assert not [one for one in inventory.assumptions if one.kind == "size"]
    assert not differences(inventory, ran(name, inventory, real, train=train))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["llama", "deepseek-v3", "bert", "convnext", "mamba", "encoder"])
def test_what_is_recorded_on_a_device_is_what_that_device_does(
    name: str, mode: str, real: Run, torch_python: str
) -> None:
    train = mode == "training"
    inventory = recorded(name, torch_python, train=train, device="cpu")
    job = {"inputs": dict(inventory.inputs), "dtype": inventory.dtype, "train": train}
    job |= {"config": CONFIGS[name]} if name in CONFIGS else {"factory": name}
    assert not any(use.one_of for use in inventory.uses)
    assert not differences(inventory, real({**job, "padded": False}))
    assert dict(inventory.tools)["device"] == "cpu"
    assert [one.said for one in inventory.assumptions if one.kind == "size"] == [
        "it ran on real tensors of cpu"
    ]
