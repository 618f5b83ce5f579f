"""What a lock keeps of the models that an image is for, and what the gate says of them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tomllib
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

import jsonschema
import pytest
from _gated import RELEASE, codes, mxenv, project
from _operators import node, table
from _weights import safetensors

from mxenv import base_record, inventoried, inventory_file
from mxenv import image as images
from mxenv import lock as locks
from mxenv.api import _base_records
from mxenv.base_record import Told
from mxenv.inventory import Inventory, Kernel, Phase, Stored, Use
from mxenv.operator_table import Entry, How

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BF16 = Stored(scheme="plain", weights="bf16", activations="bf16", tensors=9, bytes=1 << 33)
FP8 = Stored(scheme="fp8-block", weights="fp8", activations="fp8", tensors=9, bytes=1 << 33)
ODD = Stored(scheme="hqq", weights="unknown", activations="bf16")
C500 = "metax.device.model in (C500, C500X)"
SCRATCH = """\
schema = "mxenv.image/1"
name = "small"
base = "scratch"
accelerator = "none"
models = ["models/llama.json"]
[python]
version = "3.11"
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    with contextlib.chdir(tmp_path):
        yield tmp_path


def inventory(*formats: Stored, gaps: tuple[str, ...] = ()) -> Inventory:
    return Inventory(
        name="llama", reader="checkpoint", source="sha256:0", formats=formats, gaps=gaps
    )


def locked(root: Path, asked: Inventory, *host: str, extra: str = "") -> Path:
    """Write an image that names an inventory, and its lock; return where the inventory lies."""
    requires = ", ".join(f'"{text}"' for text in host)
    path = project(root, extra=f"\n[host]\nrequires = [{requires}]\n{extra}")
    described = root / "images/llm/image.toml"
    accelerator = 'accelerator = "metax"\n'
    text = described.read_text(encoding="utf-8")
    text = text.replace(accelerator, f'{accelerator}models = ["llama.json"]\n')
    described.write_text(text, encoding="utf-8")
    file = described.with_name("llama.json")
    file.write_text(inventory_file.to_json(asked), encoding="utf-8")
    image = images.parse(text, context="image.toml")
    lock = replace(
        locks.parse(path.read_text(encoding="utf-8"), context="lock"),
        models=image.models,
        inputs=images.digest(image, {}),
        inventories=(inventoried.of("llama.json", asked),),
    )
    path.write_text(locks.render(lock), encoding="utf-8")
    return file


def test_a_model_that_the_card_can_do_is_let_through(here: Path) -> None:
    locked(here, inventory(BF16), "metax.device.model == C500")
    status, found = codes()
    assert (status, found["MX601"], found["MX602"]) == (0, "compatible", "compatible")
    assert "MX603" not in found


def test_a_model_that_the_card_cannot_do_is_refused_at_the_line_that_names_it(here: Path) -> None:
    locked(here, inventory(FP8), C500)
    status, found = codes()
    assert (status, found["MX601"]) == (1, "incompatible")
    lock = (here / "lockfiles/pylock.llm.toml").read_text(encoding="utf-8")
    line = next(n for n, text in enumerate(lock.splitlines(), 1) if '"llama.json"' in text)
    shown = mxenv("gate").stdout
    assert (
        "incompatible  MX601  weights in fp8 (fp8-block) on C500\n"
        f"    at        lockfiles/pylock.llm.toml:{line}\n"
    ) in shown
    assert "Unpack the weights into bf16 (twice the memory)" in shown


def test_a_format_that_nobody_knows_is_unknown(here: Path) -> None:
    locked(here, inventory(ODD), "metax.device.model == C500")
    assert codes()[0] == 3


def test_a_host_that_names_no_card_leaves_a_model_unknown(here: Path) -> None:
    locked(here, inventory(BF16), "metax.kmd >= 3.8")
    status, found = codes()
    assert (status, found["MX604"]) == (3, "unknown")
    assert "found     host.requires names no card: metax.device.model in (…)\n" in (
        mxenv("gate").stdout
    )


def test_what_an_inventory_does_not_know_is_unknown_until_somebody_answers_for_it(
    here: Path,
) -> None:
    unread = inventory(BF16, gaps=("operators were not looked at",))
    locked(here, unread, "metax.device.model == C500", extra=WAIVED.format("MX630"))
    status, found = codes()
    assert (status, found["MX630"]) == (3, "unknown")
    assert "found     1 thing that llama.json does not know\n" in mxenv("gate").stdout
    assert codes("--allow-waivers")[0] == 0


WAIVED = """
[[waivers]]
code = "{}"
reason = "served through a switch"
owner = "inference"
expires = 2999-01-01
"""


def test_somebody_can_answer_for_a_format_if_whoever_runs_the_gate_allows_it(here: Path) -> None:
    extra = WAIVED.format("MX601") + WAIVED.format("MX602")
    locked(here, inventory(FP8), "metax.device.model == C500", extra=extra)
    assert codes()[0] == 1
    assert codes("--allow-waivers")[0] == 0


def test_a_lock_whose_inventory_changed_is_stale(here: Path) -> None:
    file = locked(here, inventory(FP8), "metax.device.model == N100")
    file.write_text(inventory_file.to_json(inventory(BF16)), encoding="utf-8")
    status, found = codes()
    assert (status, found["MX402"]) == (1, "incompatible")
    assert "models: llama.json is not the inventory that was locked" in mxenv("gate").stdout


def test_a_lock_without_the_inventory_is_stale(here: Path) -> None:
    locked(here, inventory(BF16), "metax.device.model == C500")
    path = here / "lockfiles/pylock.llm.toml"
    lock = locks.parse(path.read_text(encoding="utf-8"), context="lock")
    path.write_text(locks.render(replace(lock, inventories=())), encoding="utf-8")
    assert "models: nothing of llama.json is in the lock" in mxenv("gate").stdout


def called(*operators: str, **more: tuple[Kernel, ...]) -> Inventory:
    uses = (Use(operator=name, phase=Phase.PREFILL, dtypes=("bf16",)) for name in operators)
    return replace(inventory(BF16), uses=tuple(uses), **more)


MM = "aten::mm.default"
TORCH = RELEASE["packages"]["torch"]
HAS = {MM: Entry(how=How.NATIVE)}


def asked(here: Path, name: str = "node", entries: dict[str, Entry] = HAS, **more: str) -> Path:
    """Write a snapshot of a node that has the torch of the lock, and was asked."""
    return node(here / f"{name}.json", table(entries, torch=TORCH), torch=TORCH, **more)


def of_models(*arguments: Path | str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Return the status of the lock's own verdict, and each operator's outcome and code."""
    result = mxenv("--format", "json", "gate", ".", *arguments)
    verdicts = json.loads(result.stdout)["verdicts"]
    lock = next(one for one in verdicts if "pylock" in one["subject"])
    told = {
        one["subject"]: (one["outcome"], one["code"])
        for one in lock["findings"]
        if one["code"].startswith("MX61")
    }
    return ("incompatible", "unknown", "compatible").index(lock["outcome"]), told


def test_operators_are_unknown_as_long_as_nobody_asked_the_torch_of_the_image(here: Path) -> None:
    locked(here, called(MM), "metax.device.model == C500")
    status, found = codes()
    assert (status, found["MX615"]) == (3, "unknown")
    shown = mxenv("gate").stdout
    assert "its torch was not asked for its operators; 1 of 1 calls" in shown
    assert "or as operators in image.toml.\n" in shown


def test_a_model_whose_operators_the_locked_torch_has_is_let_through(here: Path) -> None:
    locked(here, called(MM), "metax.device.model == C500")
    outcome, told = of_models(here, asked(here))
    assert (outcome, told) == (2, {"supported operators": ("compatible", "MX610")})


def test_a_model_that_needs_what_the_locked_torch_lacks_is_refused(here: Path) -> None:
    locked(here, called(MM, "aten::_new.default"), "metax.device.model == C500")
    outcome, told = of_models(here, asked(here))
    assert outcome == 0
    assert told["aten::_new.default"] == ("incompatible", "MX612")
    shown = mxenv("gate", ".", "node.json").stdout
    assert (
        "incompatible  MX612  aten::_new.default\n    at        lockfiles/pylock.llm.toml:" in shown
    )


def test_what_another_torch_says_is_not_taken_for_an_answer(here: Path) -> None:
    locked(here, called(MM), "metax.device.model == C500")
    other = node(here / "other.json", table(HAS), torch="2.6.0+metax3.2.1.3")
    assert of_models(here, other)[1] == {"unknown operators": ("unknown", "MX615")}


def test_two_nodes_that_say_different_things_of_one_torch_decide_nothing(here: Path) -> None:
    locked(here, called(MM), "metax.device.model == C500")
    more = asked(here, "more", {**HAS, "aten::bmm.default": Entry(how=How.NATIVE)})
    outcome, told = of_models(here, asked(here), more)
    assert (outcome, told["unknown operators"][0]) == (1, "unknown")
    assert "2 tables of the very same torch do not say the same" in (
        mxenv("gate", ".", "node.json", more).stdout
    )


def test_kernels_past_the_dispatcher_are_unknown(here: Path) -> None:
    kernel = Kernel(kind="triton", name="_fwd", phase=Phase.DECODE, calls=3)
    locked(here, called(MM, kernels=(kernel,)), "metax.device.model == C500")
    outcome, told = of_models(here, asked(here))
    assert (outcome, told["triton kernels"]) == (1, ("unknown", "MX611"))


def test_what_is_alike_on_several_cards_is_told_once(here: Path) -> None:
    locked(here, called("aten::_new.default"), C500.replace("C500X", "C550"))
    shown = mxenv("gate", ".", asked(here)).stdout
    assert shown.count("MX612  aten::_new.default") == 1
    assert "expected  an operator that C500, C550 is known to have\n" in shown


def test_the_record_of_a_base_tells_what_its_torch_has(here: Path) -> None:
    locked(here, called(MM), "metax.device.model == C500")
    path = here / "lockfiles/pylock.llm.toml"
    lock = locks.parse(path.read_text(encoding="utf-8"), context="lock")
    manifest = b"{}"
    digest = f"sha256:{hashlib.sha256(manifest).hexdigest()}"
    told = Told(
        base=digest,
        platform="linux/amd64",
        media_type="m",
        manifest=manifest,
        configuration=b"{}",
    )
    facts = asked(here).read_text(encoding="utf-8")
    content = base_record.render(told, {}, keys="k", snapshot=facts)
    record = base_record.parse(content, context="x")
    file = _base_records.path_of(path.parent, digest)
    file.parent.mkdir()
    file.write_bytes(content)
    base = replace(lock.base, digest=digest, listing=record.digest)
    path.write_text(locks.render(replace(lock, base=base)), encoding="utf-8")
    assert of_models(path)[1] == {"supported operators": ("compatible", "MX610")}
    file.write_bytes(b"damaged")
    assert of_models(path)[1] == {"unknown operators": ("unknown", "MX615")}


@pytest.fixture
def small(here: Path) -> Path:
    folder = here / "images" / "small"
    (folder / "models").mkdir(parents=True)
    (folder / "image.toml").write_text(SCRATCH, encoding="utf-8")
    return folder


def test_a_lock_holds_digest_and_summary_of_what_ops_wrote(small: Path, here: Path) -> None:
    (here / "m.safetensors").write_bytes(safetensors({"a.weight": ("BF16", (8, 8))}))
    written = mxenv("ops", "m.safetensors", "--out", small / "models/llama.json")
    assert written.exit_code == 0
    (here / "m.safetensors").unlink()
    assert mxenv("lock", small / "image.toml").exit_code == 0
    text = (here / "lockfiles/pylock.small.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    schema = (resources.files("mxenv") / "schemas" / "lock.schema.json").read_text()
    jsonschema.validate(document, json.loads(schema))
    (kept,) = document["tool"]["mxenv"]["inventories"]
    assert written.stderr.endswith(f": {kept.pop('digest')}\n")
    assert kept == {
        "file": "models/llama.json",
        "name": "m",
        "reader": "checkpoint",
        "gaps": 1,
        "formats": [
            {
                "scheme": "plain",
                "weights": "bf16",
                "activations": "bf16",
                "tensors": 1,
                "bytes": 128,
            }
        ],
    }
    assert mxenv("lock", "--check", small / "image.toml").exit_code == 0
    assert codes()[0] == 3  # which operators it calls, no file of weights says


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            "none.json",
            "models[0]: there is no inventory 'none.json'\n hint: mxenv ops MODEL --out ",
        ),
        (
            "../../out.json",
            "image.toml: models[0]: '../../out.json' leaves the folder of the image\n",
        ),
        ("link.json", "models[0]: 'link.json' leaves the folder of the image\n"),
        ("models", "images/small/models: cannot be read: is a directory\n"),
        ("odd.json", "images/small/odd.json: line 1: not JSON (Expecting value)\n"),
    ],
)
def test_an_inventory_that_cannot_be_read_is_named(
    small: Path, here: Path, model: str, said: str
) -> None:
    (here / "out.json").write_text("{}")
    (small / "link.json").symlink_to(here / "out.json")
    (small / "odd.json").write_text("odd")
    text = SCRATCH.replace("models/llama.json", model)
    (small / "image.toml").write_text(text, encoding="utf-8")
    result = mxenv("lock", "images/small/image.toml")
    assert result.exit_code == 5
    assert said in result.stderr


def test_a_lock_of_two_branches_keeps_the_models_of_both(here: Path) -> None:
    locked(here, inventory(BF16), "metax.device.model == C500")
    path = here / "lockfiles/pylock.llm.toml"
    base = locks.parse(path.read_text(encoding="utf-8"), context="lock")
    for name in ("ours", "theirs"):
        more = inventoried.of(f"{name}.json", inventory(FP8))
        side = replace(
            base, models=(*base.models, f"{name}.json"), inventories=(*base.inventories, more)
        )
        (here / f"pylock.{name}.toml").write_text(locks.render(side), encoding="utf-8")
    words = (path, "pylock.ours.toml", "pylock.theirs.toml", "--out", "pylock.both.toml")
    assert mxenv("lock-merge", *words).exit_code == 0
    text = (here / "pylock.both.toml").read_text(encoding="utf-8")
    both = locks.parse(text, context="lock")
    assert [kept.file for kept in both.inventories] == ["llama.json", "ours.json", "theirs.json"]


def test_two_locks_that_keep_another_inventory_differ(here: Path) -> None:
    locked(here, inventory(BF16), "metax.device.model == C500")
    path = here / "lockfiles/pylock.llm.toml"
    lock = locks.parse(path.read_text(encoding="utf-8"), context="lock")
    after = replace(lock, inventories=(inventoried.of("llama.json", inventory(FP8)),))
    (here / "pylock.llm.toml").write_text(locks.render(after), encoding="utf-8")
    shown = mxenv("diff", path, "pylock.llm.toml")
    assert shown.exit_code == 1
    assert "inventories.llama.json" in shown.stdout
    assert "weights in fp8" in shown.stdout
