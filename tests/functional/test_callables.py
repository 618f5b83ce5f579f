"""A model and its inputs, given by a function of the user's, as module:callable."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import mxenv
from mxenv import inventory_file
from mxenv.api import operators
from mxenv.errors import ModelError, UsageError
from mxenv.models import Request, torch

MXENV = Path(sys.executable).with_name("mxenv")
SCHEMA = json.loads(
    (Path(mxenv.__file__).parent / "schemas" / "inventory.schema.json").read_text(encoding="utf-8")
)
CODE = """
    import torch

    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(4, 4)
            self.second = torch.nn.Linear(4, 4)
            self.second.weight = self.first.weight

        def forward(self, x, twice=None):
            return torch.tanh(self.second(self.first(x))) + (0 if twice is None else twice)

    def by_name():
        return Two(), {"x": torch.ones(2, 4), "twice": torch.ones(2, 4)}

    def in_order():
        return Two(), (torch.ones(2, 4), torch.ones(2, 4))

    def alone():
        print("whatever a function prints")
        return Two(), torch.ones(2, 4)

    def elsewhere():
        model = torch.nn.Sequential(torch.nn.Linear(4, 4))
        model[0].weight = torch.nn.Parameter(torch.zeros(4, 4, device="cpu"))
        return model, torch.zeros(2, 4, device="cpu")

    def nothing():
        return None

    def no_model():
        return 1, 2

    def fails():
        raise ValueError("of its own")

    def leaves():
        raise SystemExit(3)

    def misfit():
        return Two(), torch.ones(2, 5)

    def compiled():
        model = torch.nn.Sequential(Two(), torch.nn.ReLU())
        model[0].compile()
        return model, torch.ones(2, 4)

    def needs():
        import a_module_that_nobody_has

    class Asks(torch.nn.Module):
        def __init__(self, how):
            super().__init__()
            self.how = how

        def forward(self, x):
            return getattr(self, self.how)(x, (x > 0).any)

        def within(self, x, some):
            if some():
                if x.mean() > 0:
                    return x
                return torch.special.airy_ai(x)
            return x

        def both(self, x, some):
            if some() and not (x < 0).any():
                return torch.special.airy_ai(x)
            return x

        def crossed(self, x, some):
            some, other = bool(some()), bool((x < 0).any())
            return torch.special.airy_ai(x) if some and not other else x

        def many(self, x, some):
            a, b, c = bool((x > 1).any()), bool((x > 2).any()), bool((x > 3).any())
            d, e = bool((x > 4).any()), bool((x > 5).any())
            return torch.special.airy_ai(x) if a and not (b or c or d or e) else x

        def none(self, x, some):
            return torch.special.airy_ai(x) if x[x > 0].numel() == 0 else x

        def forever(self, x, some):
            while (x > 0).any():
                x = torch.special.airy_ai(x)
            return x

        def refused(self, x, some):
            if some():
                raise ValueError("none may be")
            return torch.special.airy_ai(x)

        def number(self, x, some):
            return torch.special.airy_ai(x) if x.sum().item() > 5 else x

        def numbers(self, x, some):
            return torch.special.airy_ai(x) if max(x.tolist()[0]) > 5 else x

        def hidden(self, x, some):
            return x if some() else torch.from_numpy(torch.special.airy_ai(x).numpy()).cos()

        def happened(self, x, some):
            x = torch.from_numpy(x.numpy())
            return torch.special.airy_ai(x) if x.sum() > 1e9 else x

        def thread(self, x, some):
            import threading
            one = threading.Thread(target=torch.special.airy_ai, args=(x,))
            one.start()
            one.join()
            return x

    def asks(how):
        return lambda: (Asks(how), torch.ones(2, 4))

    for how in [name for name in vars(Asks) if not name.startswith("_")]:
        globals()["ask_" + how] = asks(how)

    class Made:
        make = staticmethod(alone)

    number = 1
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    lines = [line.removeprefix("    ") for line in CODE.splitlines()]
    (tmp_path / "own.py").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def ops(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MXENV, "ops", *words], cwd=project, capture_output=True, text=True, check=False
    )


def test_only_what_is_written_as_one_is_claimed(tmp_path: Path) -> None:
    assert torch.claims("own:make")
    assert torch.claims("a.b.own:Made.make")
    for target in ("own", "own:", ":make", "a/b:make", "1:make", "own:make()", "own.py:make", ""):
        assert torch.claims(target) == (target == "own.py:make")
    assert not torch.claims(str(tmp_path))


def test_what_is_not_written_as_one_is_refused() -> None:
    with pytest.raises(ModelError, match="module:callable"):
        torch.read(Request(target="a/b"))
    with pytest.raises(UsageError, match="no such file"):
        operators.inventory_of("a/b")


def test_inputs_come_by_name_in_order_or_alone(project: Path, torch_python: str) -> None:
    found = {}
    for name in ("by_name", "in_order", "alone", "Made.make", "elsewhere"):
        done = ops(project, f"own:{name}", "--python", torch_python, "--out", f"{name}.json")
        assert done.returncode == 0, done.stderr
        text = (project / f"{name}.json").read_text(encoding="utf-8")
        jsonschema.validate(json.loads(text), SCHEMA)
        found[name] = inventory_file.from_json(text, context=name)
    assert dict(found["by_name"].inputs) == {"x": "f32 2x4", "twice": "f32 2x4"}
    assert len(found["in_order"].inputs) == 2
    assert found["by_name"].operators == found["in_order"].operators
    assert found["alone"].uses == found["Made.make"].uses
    assert found["alone"].reader == "torch"
    assert found["alone"].architecture == "Two"
    assert found["elsewhere"].operators == ("aten::addmm.default", "aten::t.default")
    assert not any(one.gaps for one in found.values())


def test_a_step_of_training_counts_a_weight_of_two_names_once(
    project: Path, torch_python: str
) -> None:
    done = ops(project, "own:alone", "--train", "--python", torch_python, "--out", "i.json")
    assert done.returncode == 0, done.stderr
    found = operators.read_inventory(project / "i.json")
    made = [use for use in found.uses if use.operator == "aten::zeros_like.default"]
    # Two states of the optimiser for each: one weight, two biases.
    assert sum(use.calls for use in made if use.phase == "optimiser") == 6
    assert found.mode == "training"


def test_the_digest_is_that_of_the_code_wherever_it_lies(
    project: Path, torch_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = []
    request = Request(target="own:alone", python=torch_python)
    for place, more in (("a", ""), ("b", ""), ("c", "# changed\n")):
        folder = project / place
        folder.mkdir()
        text = (project / "own.py").read_text(encoding="utf-8")
        (folder / "own.py").write_text(text + more, encoding="utf-8")
        monkeypatch.chdir(folder)
        digests.append(torch.read(request).source)
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("other:make", "there is no module 'other'"),
        ("own:make", "no callable 'make'"),
        ("own:number", "no callable 'number'"),
        ("own:nothing", "it returns NoneType"),
        ("own:no_model", "it returns int, int"),
        ("own:fails", "ValueError: of its own"),
        ("own:leaves", "own:leaves: its code ends the program: SystemExit: 3"),
        ("own:misfit", "own:misfit: it cannot be run without weights"),
        ("own:needs", "a_module_that_nobody_has is not installed"),
    ],
)
def test_what_gives_no_model_is_refused_in_one_line(
    target: str, said: str, project: Path, torch_python: str
) -> None:
    done = ops(project, target, "--python", torch_python)
    assert done.returncode == 5
    error = done.stderr.splitlines()[0]
    assert error.startswith("error: ")
    assert said in error
    assert "Traceback" not in done.stderr
    assert "give a callable" not in done.stderr


def test_what_is_compiled_on_a_card_is_a_gap(project: Path, torch_python: str) -> None:
    told = ops(project, "own:compiled", "--python", torch_python, "--out", "compiled.json")
    assert told.returncode == 0, told.stderr
    gaps = json.loads((project / "compiled.json").read_text())["gaps"]
    assert [gap for gap in gaps if gap.startswith("0: compiled on a card")] == gaps
    assert gaps


def test_without_torch_it_is_said_what_to_install(project: Path) -> None:
    done = ops(project, "own:alone")
    assert done.returncode == 5
    assert "torch is not installed" in done.stderr
    assert "--python" in done.stderr


AIRY = "aten::special_airy_ai.default"


@pytest.mark.parametrize("how", ["within", "both", "crossed", "none", "refused"])
def test_every_answer_to_a_question_that_was_guessed_is_walked(
    project: Path, torch_python: str, how: str
) -> None:
    done = ops(project, f"own:ask_{how}", "--python", torch_python, "--out", "i.json")
    assert done.returncode == 0, done.stderr
    found = operators.read_inventory(project / "i.json")
    assert AIRY in found.operators
    assert not found.gaps


@pytest.mark.parametrize("how", ["number", "numbers", "hidden", "happened", "thread", "forever"])
def test_what_cannot_be_walked_is_a_gap_and_no_mere_assumption(
    project: Path, torch_python: str, how: str
) -> None:
    done = ops(project, f"own:ask_{how}", "--python", torch_python, "--out", "i.json")
    assert done.returncode == 0, done.stderr
    (gap,) = operators.read_inventory(project / "i.json").gaps
    assert gap.startswith("what ")


def test_answers_that_were_not_walked_together_are_a_gap(project: Path, torch_python: str) -> None:
    done = ops(project, "own:ask_many", "--python", torch_python, "--out", "i.json")
    assert done.returncode == 0, done.stderr
    (gap,) = operators.read_inventory(project / "i.json").gaps
    assert gap.startswith("answers not walked together: at own.py:")
