"""Run by a Python that has torch: call every operator of a build on the CPU, and tell what came.

    python tests/_truth.py PATH_OF_ASK

One JSON object: by operator ``["ran", ""]``, ``["refused", NAME]`` where the dispatcher had no
kernel for operator NAME, or ``["open", why]`` where the arguments, made up from its schema, were
refused, or it crashed or hung: that says nothing.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import sys
import warnings
from typing import Any

NOT_CALLED = re.compile(r"record_stream|_debug|_test_|manual_seed|from_file|::_backward\.")
"""What would wait, end the process, or change what the others do."""
REFUSED = re.compile(r"Could not run '([\w:.]+)' with arguments from the '(?:CPU|Quantized)")
BATCH = 40
SECONDS = 5


def loaded(path: str) -> Any:
    """Return the script that asks torch, as a module; it is not run."""
    spec = importlib.util.spec_from_file_location("ask", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called(ask: Any, build: Any, name: str, ways: Any) -> list[str]:
    """Return what comes of calling an operator."""
    base, overload = ask.parts(name)
    space, _, word = base.partition("::")
    why = ""
    for values in ways:
        try:
            positional, named = values.of(build.schemas[name])
            func = getattr(getattr(getattr(build.torch.ops, space), word), overload or "default")
            with build.torch.no_grad():
                func(*positional, **named)
        except NotImplementedError as error:
            found = REFUSED.search(str(error))
            if found:
                return ["refused", ask.whole(found.group(1))]
            why = why or str(error)[:200]
        except Exception as error:  # noqa: BLE001 - made-up arguments are refused in every way
            why = why or str(error)[:200]
        else:
            return ["ran", ""]
    return ["open", why]


def batch(ask: Any, build: Any, names: list[str], pipe: int) -> None:
    """Call ``names`` one after the other."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    ways = ask.attempts(build.torch, "cpu")
    with os.fdopen(pipe, "w") as told:
        for name in names:
            signal.alarm(SECONDS)
            told.write(json.dumps([name, called(ask, build, name, ways)]) + "\n")
            told.flush()


def main() -> None:
    warnings.simplefilter("ignore")
    ask = loaded(sys.argv[1])
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    build = ask.Build(torch)
    names = [
        n for n in sorted(build.schemas) if n.startswith("aten::") and not NOT_CALLED.search(n)
    ]
    came = {}
    while names:
        end, told = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(end)
            try:
                batch(ask, build, names[:BATCH], told)
            finally:
                os._exit(0)
        os.close(told)
        with os.fdopen(end) as pipe:
            got = [json.loads(line) for line in pipe.read().splitlines() if line.endswith("]")]
        os.waitpid(pid, 0)
        came.update(got)
        if len(got) < min(BATCH, len(names)):
            came[names[len(got)]] = ["open", "it crashed, or did not end"]
            names = names[len(got) + 1 :]
        else:
            names = names[BATCH:]
    print(json.dumps(came))  # noqa: T201 - a script


if __name__ == "__main__":
    main()
