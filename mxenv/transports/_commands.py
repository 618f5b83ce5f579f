"""How a command is run on this machine: found in known places, with a clean environment, ended."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from mxenv.facts import Unreadable
from mxenv.question import NOT_FOUND, TIMED_OUT, Completed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event

    from mxenv.question import Command
    from mxenv.transports import Allowed

DIRECTORIES = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/opt/mxdriver/bin",
    "/opt/maca/bin",
    "/opt/maca/mxgpu_llvm/bin",
    "/opt/maca/ompi/bin",
)
"""Where a tool may be; the caller's PATH may hold anything."""
VENDOR_DIRECTORIES = ("/opt/maca", "/opt/mxdriver", "/opt/mxn100", "/opt/hpcc")
"""Whose libraries a vendor's tool may be told to load."""
OUTPUT_LIMIT = 1 << 20
FLOOD = 8 * OUTPUT_LIMIT
"""Bytes of output at which a command is stopped; what is kept of it ends earlier."""
KILLED = 128 + signal.SIGKILL
MARK = "MXENV_RUNS"
"""A variable by which all that a command started is known, whoever its parent has become."""
PAUSE = 0.02
"""Seconds between two looks at a command that runs."""


def permitted(argv: tuple[str, ...], allowed: Allowed) -> bool:
    """Return whether ``argv`` is on the list; ``{…}`` in it stands for one number."""
    return any(len(entry) == len(argv) and all(map(_agrees, entry, argv)) for entry in allowed)


def _agrees(entry: str, part: str) -> bool:
    if re.fullmatch(r"\{\w+\}", entry):
        return part.isascii() and part.isdigit()
    return entry == part


def run(
    command: Command,
    allowed: Allowed,
    environment: Mapping[str, str],
    stop: Event,
    directories: tuple[str, ...] = DIRECTORIES,
) -> Completed | Unreadable:
    """Run ``command`` to its end, its time limit, or ``stop``; one not allowed is unreadable."""
    if not permitted(command.argv, allowed):
        return Unreadable("not on the list of commands that only read")
    tool = _find(command.argv[0], directories)
    if tool is None:
        return Completed(NOT_FOUND)
    # Files in memory, not pipes: a grandchild that keeps a pipe open would keep us waiting.
    mark = os.urandom(8).hex()
    with _file("stdout") as stdout, _file("stderr") as stderr:
        try:
            process = subprocess.Popen(  # noqa: S603 - an argv from the allow-list, no shell
                (tool, *command.argv[1:]),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env={**_clean(environment), MARK: mark},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            return Unreadable(f"cannot be run: {(error.strerror or str(error)).lower()}")
        returncode = _wait(process, command.seconds, (stdout, stderr), stop)
        if returncode in (TIMED_OUT, KILLED):
            _kill_marked(mark)
        return Completed(returncode, _text(stdout), _text(stderr))


def _file(name: str) -> IO[bytes]:
    return os.fdopen(os.memfd_create(name, os.MFD_CLOEXEC), "w+b")


def _find(name: str, directories: tuple[str, ...]) -> str | None:
    """Return where the tool is; one that is there and may not be run is no tool that is missing."""
    paths = (name,) if "/" in name else tuple(f"{directory}/{name}" for directory in directories)
    there = [path for path in paths if _there(path)]
    return next((path for path in there if os.access(path, os.X_OK)), next(iter(there), None))


def _there(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - text in, text out
    except PermissionError:
        return True  # in a folder that may not be looked into: nobody can say that it is not
    except (OSError, ValueError):
        return False


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which nothing of the caller's is loaded or changes the output."""
    kept = {"PATH": ":".join(DIRECTORIES), "LC_ALL": "C", "TERM": "dumb"}
    if any(_below(environment.get("MACA_PATH", ""), top) for top in VENDOR_DIRECTORIES):
        kept["MACA_PATH"] = environment["MACA_PATH"]
    libraries = [
        entry
        for entry in environment.get("LD_LIBRARY_PATH", "").split(":")
        if any(_below(entry, top) for top in VENDOR_DIRECTORIES)
    ]
    if libraries:
        kept["LD_LIBRARY_PATH"] = ":".join(libraries)
    return kept


def _below(entry: str, top: str) -> bool:
    path = os.path.normpath(entry)
    # The SDK's own directory has its version in its name: /opt/maca-3.5.3.
    return path == top or path.startswith((f"{top}/", f"{top}-"))


def _wait(
    process: subprocess.Popen[bytes], seconds: float, outputs: tuple[IO[bytes], ...], stop: Event
) -> int:
    """Wait for ``process``, return its status; stop one that hangs or floods, and its family."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        late = time.monotonic() > deadline or stop.is_set()
        if late or any(os.fstat(output.fileno()).st_size > FLOOD for output in outputs):
            _kill_family(process)
            # Not for ever: a process that waits for a broken device cannot even be killed.
            with suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
            return TIMED_OUT if late else KILLED
        with suppress(subprocess.TimeoutExpired):
            process.wait(PAUSE)
    # As a shell would say it: a signal counts from 128.
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _kill_family(process: subprocess.Popen[bytes]) -> None:
    import psutil  # noqa: PLC0415 - imported late: needed only when a command hangs

    try:
        family = [psutil.Process(process.pid)]
        family += family[0].children(recursive=True)
    except psutil.Error:
        family = []
    for member in family:
        with suppress(psutil.Error):
            member.kill()
    # Those whose parent has gone are found by their session's group.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _kill_marked(mark: str) -> None:
    """Kill what is left of a command: a child that has a session and a parent of its own."""
    import psutil  # noqa: PLC0415 - imported late: needed only when a command hangs

    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                process.kill()


def _text(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read(OUTPUT_LIMIT).decode(errors="replace")
