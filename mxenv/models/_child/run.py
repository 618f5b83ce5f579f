"""Runs operators on a device with arguments of recorded form, and tells how far off they are.

Reads ``{"device": NAME, "trials": [{"operator": …, "sample": …}, …], "largest": BYTES}`` from stdin
and writes lines of JSON to the file descriptor that its first argument names: ``hello`` first, then
for each trial ``begun``, at each stage, and ``done``. Whoever reads them ends this process if it
takes too long; what ends it by itself was at the stage that it told last.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import sys
import warnings
from typing import Any

PR_SET_PDEATHSIG = 1
"""What ``prctl(2)`` calls it."""


def main(descriptor: Any, request: Any, run_on: Any = None) -> None:
    """Answer ``request``; ``run_on`` takes the place of the device, for whoever tries this out."""
    end_with_parent()
    answers = os.fdopen(descriptor, "w", encoding="utf-8")

    def tell(**answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        import torch  # noqa: PLC0415 - its absence is an answer
    except ImportError:
        tell(missing="torch")
        return
    warnings.simplefilter("ignore")
    device = request["device"]
    reason = unusable(torch, device)
    if reason:
        tell(
            failed=f"the device {device!r} cannot be used: {reason}",
            hint="name one that this machine has, as --device cpu",
        )
        return
    tell(hello=about(torch, device))
    from mxenv_running import trial as running  # noqa: PLC0415 - torch is there

    for number, trial in enumerate(request["trials"]):
        one = running.Trial(trial, request, run_on)
        found = one.run(lambda stage, number=number: tell(begun=number, stage=stage))
        tell(done=number, **found)
        if found.get("spent"):
            return


def unusable(torch: Any, device: Any) -> Any:
    """Return why nothing can run on ``device``; nothing if it can."""
    try:
        seen = (torch.ones(2, device=device) + 1).cpu()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the reason
        return " ".join(str(error).split())[:200]
    return "" if seen.tolist() == [2.0, 2.0] else f"1 + 1 is {seen.tolist()}"


def about(torch: Any, device: Any) -> Any:
    """Return on what is run, and what of its settings decides how exact results are."""
    machine = platform.machine()
    kind = device.partition(":")[0]
    if kind == "cuda":
        machine = torch.cuda.get_device_name(device)
    return {
        "torch": version(torch),
        "python": platform.python_version(),
        "device": device,
        "machine": machine,
        "tf32": [name for name, on in tf32(torch).items() if kind == "cuda" and on],
    }


def tf32(torch: Any) -> Any:
    """Return for which operators products of float32 may be taken to ten bits."""
    return {
        "convolution": torch.backends.cudnn.allow_tf32,
        "matmul": torch.get_float32_matmul_precision() != "highest",
    }


def version(torch: Any) -> Any:
    """Return the version as the distribution has it, its build tag with it."""
    from importlib import metadata  # noqa: PLC0415 - only once torch is there

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return str(torch.__version__)


def end_with_parent() -> None:
    """Ask the system to end this process with the one that listens: it may hang in a kernel."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (AttributeError, OSError, TypeError):
        return  # no Linux: what is told next finds nobody, and ends it


if __name__ == "__main__":
    main(int(sys.argv[1]), json.load(sys.stdin))
