"""From an inventory and a torch that was asked to a gate that needs nothing but the lock."""

from __future__ import annotations

import contextlib
import json
import shutil
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from _gated import codes, mxenv
from _operators import ENTRIES, TORCH, model, node, table
from _wheels import Made

from mxenv import inventory_file
from mxenv.inventory import Inventory, Phase, Use
from mxenv.operator_table import Entry, How

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from click.testing import Result

IMAGE = """\
schema = "mxenv.image/1"
name = "llm"
base = "scratch"
accelerator = "{accelerator}"
models = ["llama.json"]
operators = "node.json"

[python]
version = "3.11"
requires = ["torch=={torch}"]

[host]
requires = [{host}]
"""
C500 = '"metax.device.model == C500"'
MM, ADD, GONE = "aten::mm.default", "aten::add.Tensor", "aten::_fused_sdp.default"
DESCRIBED = Path("images/llm")
LOCK = Path("lockfiles/pylock.llm.toml")


def describe(accelerator: str = "metax", torch: str = TORCH, host: str = C500) -> None:
    """Write an image that serves a model, with the torch that it asks for in a wheelhouse."""
    DESCRIBED.mkdir(parents=True, exist_ok=True)
    text = IMAGE.format(accelerator=accelerator, torch=torch, host=host)
    (DESCRIBED / "image.toml").write_text(text, encoding="utf-8")
    house = Path("house")
    house.mkdir(exist_ok=True)
    about = f"Metadata-Version: 2.1\nName: torch\nVersion: {torch}\n"
    Made(name="torch", version=torch, files={"torch/x.py": b""}, metadata=about).write(house)


def asked(entries: Mapping[str, Entry] = ENTRIES, **more: str) -> None:
    node(DESCRIBED / "node.json", table(entries), **more)


def lock(*more: str) -> Result:
    words = ("--offline", "--find-links", "house", *more)
    return mxenv("lock", DESCRIBED / "image.toml", *words)


def operators(*arguments: str | Path) -> dict[str, tuple[str, str]]:
    """Return what the gate says of operators, by subject: outcome, and what was found."""
    result = mxenv("--format", "json", "gate", *arguments)
    return {
        one["subject"]: (one["outcome"], one["found"])
        for verdict in json.loads(result.stdout)["verdicts"]
        for one in verdict["findings"]
        if one["code"].startswith("MX61")
    }


@pytest.fixture(autouse=True)
def here(tmp_path: Path) -> Iterator[Path]:
    with contextlib.chdir(tmp_path):
        describe()
        asked()
        yield tmp_path


def test_the_lock_alone_lets_a_model_through_whose_operators_its_torch_has() -> None:
    model(DESCRIBED / "llama.json", MM, ADD)
    assert lock().exit_code == 0
    document = tomllib.loads(LOCK.read_text(encoding="utf-8"))
    schema = (resources.files("mxenv") / "schemas" / "lock.schema.json").read_text()
    jsonschema.validate(document, json.loads(schema))
    image = (resources.files("mxenv") / "schemas" / "image.schema.json").read_text()
    described = (DESCRIBED / "image.toml").read_text(encoding="utf-8")
    jsonschema.validate(tomllib.loads(described), json.loads(image))
    assert document["tool"]["mxenv"]["operators"] == {
        ADD: f"composite through {MM}",
        MM: "native",
    }
    assert {subject: outcome for subject, (outcome, _) in operators().items()} == {
        "supported operators": "compatible",
        "indirect operators": "compatible",
    }
    shutil.rmtree(DESCRIBED)
    assert operators(LOCK)["supported operators"][0] == "compatible"


def test_the_gate_names_model_operator_and_line_of_what_is_lacking() -> None:
    model(DESCRIBED / "llama.json", MM, GONE)
    lock()
    assert codes()[0] == 1
    shown = mxenv("gate").stdout
    line = next(n for n, text in enumerate(LOCK.read_text().splitlines(), 1) if "llama" in text)
    assert (
        f"incompatible  MX612  {GONE}\n"
        f"    at        {LOCK}:{line}\n"
        "    found     llama: no kernel for CUDA; 10 of 20 calls\n"
    ) in shown


def test_the_gate_names_each_model_of_several_that_lacks_it() -> None:
    path = DESCRIBED / "image.toml"
    text = path.read_text(encoding="utf-8").replace('["llama.json"]', '["llama.json", "b.json"]')
    path.write_text(text, encoding="utf-8")
    for name in ("llama", "b"):
        uses = (Use(operator=GONE, phase=Phase.PREFILL, calls=1),)
        asks = Inventory(name=name, reader="huggingface", source="sha256:0", uses=uses)
        (DESCRIBED / f"{name}.json").write_text(inventory_file.to_json(asks), encoding="utf-8")
    lock()
    shown = mxenv("gate").stdout
    assert "found     llama: no kernel for CUDA; 1 of 1 calls\n" in shown
    assert "found     b: no kernel for CUDA; 1 of 1 calls\n" in shown


def test_without_a_torch_that_was_asked_operators_are_unknown_and_locking_says_so() -> None:
    model(DESCRIBED / "llama.json", MM)
    path = DESCRIBED / "image.toml"
    text = path.read_text(encoding="utf-8").replace('operators = "node.json"\n', "")
    path.write_text(text, encoding="utf-8")
    assert (
        "nothing says whether the image can run the operators of its models: name what the torch "
        "of the image was asked, as operators"
    ) in lock().stderr
    assert operators()["unknown operators"][0] == "unknown"
    assert codes()[0] == 3


def test_a_lock_is_stale_once_its_torch_says_something_else_or_another_file_is_named() -> None:
    model(DESCRIBED / "llama.json", MM)
    lock()
    assert lock("--check").exit_code == 0
    asked({**ENTRIES, "aten::bmm.default": Entry(how=How.NATIVE)})
    assert "operators: node.json does not say what was locked" in lock("--check").stdout
    assert codes()[1]["MX402"] == "incompatible"
    asked()
    (DESCRIBED / "node.json").rename(DESCRIBED / "other.json")
    path = DESCRIBED / "image.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("node.json", "other.json"))
    said = "operators is 'other.json', and was 'node.json' when the lock was made"
    assert said in lock("--check").stdout


def test_another_inventory_and_none_at_all_are_told_apart() -> None:
    model(DESCRIBED / "llama.json", MM)
    lock()
    model(DESCRIBED / "llama.json", MM, GONE)
    assert "llama.json is not the inventory that was locked" in mxenv("gate").stdout
    (DESCRIBED / "llama.json").unlink()
    refused = mxenv("gate")
    assert refused.exit_code == 5
    assert "models[0]: there is no inventory 'llama.json'" in refused.stderr


@pytest.mark.parametrize(
    ("entries", "more", "said"),
    [
        (ENTRIES, {"torch": "2.6.0+metax3.2.1.3"}, f"says what torch {TORCH} has; the image has"),
        (None, {}, "no torch was asked for its operators in node.json\n"),
        ("odd", {}, "the table of operators in node.json 'odd' is not 'mxenv.operators/1'\n"),
    ],
)
def test_a_snapshot_that_says_nothing_of_the_torch_is_refused(
    entries: Mapping[str, Entry] | str | None, more: dict[str, str], said: str
) -> None:
    model(DESCRIBED / "llama.json", MM)
    written = table(entries) if isinstance(entries, dict) else entries or ""
    node(DESCRIBED / "node.json", written, **more)
    refused = lock()
    assert refused.exit_code == 5
    assert said in refused.stderr
    assert "image.toml: operators: " in refused.stderr
    assert "mxenv probe --operators --out " in refused.stderr


def test_a_snapshot_that_is_not_there_is_named_with_how_to_make_it() -> None:
    model(DESCRIBED / "llama.json", MM)
    (DESCRIBED / "node.json").unlink()
    refused = lock()
    assert refused.exit_code == 5
    assert "image.toml: operators: there is no snapshot 'node.json'\n" in refused.stderr


def test_an_image_without_torch_has_none_that_could_have_been_asked() -> None:
    model(DESCRIBED / "llama.json", MM)
    path = DESCRIBED / "image.toml"
    text = path.read_text(encoding="utf-8").replace(f'"torch=={TORCH}"', "")
    path.write_text(text, encoding="utf-8")
    assert f"node.json says what torch {TORCH} has; the image has no torch" in lock().stderr


def test_operators_of_onnx_are_unknown_because_another_runtime_runs_them() -> None:
    use = Use(operator="onnx::Conv", phase=Phase.FORWARD, dtypes=("f32",), calls=3)
    asks = Inventory(name="net", reader="onnx", source="sha256:0", uses=(use,))
    (DESCRIBED / "llama.json").write_text(inventory_file.to_json(asks), encoding="utf-8")
    lock()
    outcome, found = operators()["unknown operators"]
    assert outcome == "unknown"
    assert "an operator of ONNX, which another runtime than torch runs" in found
    shown = mxenv("gate").stdout
    assert "Ask for what the runtime has that runs it there" in shown
    assert "Ask the platform's own torch" not in shown


class TestWithoutAnAccelerator:
    """An image for the CPU has a torch as well, and its models may need what that lacks."""

    TORCH = "2.8.0+cpu"

    @pytest.fixture(autouse=True)
    def cpu(self) -> None:
        describe("none", self.TORCH, host="")
        written = table(ENTRIES, torch=self.TORCH, key="CPU")
        node(DESCRIBED / "node.json", written, torch=self.TORCH, card="")

    def test_it_is_let_through_if_that_has_all(self) -> None:
        model(DESCRIBED / "llama.json", MM)
        assert lock().exit_code == 0
        assert codes()[0] == 0
        assert operators()["supported operators"][0] == "compatible"

    def test_it_is_refused_if_that_lacks_one(self) -> None:
        model(DESCRIBED / "llama.json", GONE)
        lock()
        assert codes()[0] == 1
        assert operators()[GONE][0] == "incompatible"

    def test_a_build_for_cards_says_nothing_of_it(self) -> None:
        describe("none", host="")
        asked()
        model(DESCRIBED / "llama.json", MM)
        lock()
        assert operators()["unknown operators"][0] == "unknown"


def test_a_snapshot_that_is_given_and_says_something_else_decides_nothing() -> None:
    model(DESCRIBED / "llama.json", MM)
    lock()
    node(Path("node.json"), table({**ENTRIES, MM: Entry(how=How.MISSING)}))
    outcome, found = operators(".", "node.json")["unknown operators"]
    assert outcome == "unknown"
    assert "2 tables of the very same torch do not say the same" in found


def test_locks_tell_which_operator_became_something_else() -> None:
    model(DESCRIBED / "llama.json", MM)
    lock()
    shutil.copy(LOCK, "before.toml")
    asked({**ENTRIES, MM: Entry(how=How.FALLBACK)})
    lock()
    shown = mxenv("diff", "before.toml", LOCK)
    assert shown.exit_code == 1
    assert f"operators.{MM}" in shown.stdout
    assert "fallback" in shown.stdout
