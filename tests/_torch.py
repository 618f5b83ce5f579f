"""The interpreter with torch that the tests of models use: where it is, or why there is none."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

VARIABLE = "MXENV_TEST_TORCH"
"""Names an interpreter that has `MODULES`."""
DEFAULT = Path(__file__).parent.parent / ".venv-torch" / "bin" / "python"
MODULES = ("torch", "transformers", "diffusers", "onnx", "numpy", "triton")


def torch_python() -> str:
    """Return the path of the interpreter; what is there need not work."""
    return os.environ.get(VARIABLE) or str(DEFAULT)


@cache
def missing() -> str:
    """Return why there is no such interpreter; empty if there is one."""
    program = torch_python()
    if not Path(program).exists():
        return f"no {program}: name an interpreter with torch in {VARIABLE}"
    code = f"import importlib.util as u; print(*[m for m in {MODULES!r} if not u.find_spec(m)])"
    done = subprocess.run([program, "-c", code], capture_output=True, text=True, check=False)
    lacks = done.stdout.split()
    if done.returncode or lacks:
        return f"{program} lacks {', '.join(lacks) or 'everything'}"
    return ""
