"""How a command is run on this machine: found in known places, with a clean environment, ended."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import time
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv import _left_behind, _scripts
from mxenv.facts import Unreadable
from mxenv.frozen import frozen
from mxenv.question import NOT_FOUND, TIMED_OUT, Completed
from mxenv.transports._outputs import FLOOD, Output, heard, listen

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
    "/opt/htdriver/bin",
    "/opt/hpcc/bin",
    "/opt/hpcc/htgpu_llvm/bin",
    "/usr/local/nvidia/bin",
    "/usr/local/cuda/bin",
)
"""Where a tool may be; the caller's PATH may hold anything."""
VENDOR_DIRECTORIES = (
    "/opt/maca",
    "/opt/mxdriver",
    "/opt/mxn100",
    "/opt/hpcc",
    "/opt/htdriver",
    "/usr/local/nvidia",
)
"""Whose libraries a vendor's tool may be told to load."""
FLOODED = Unreadable("it printed too much")
KILLED = 128 + signal.SIGKILL
PYTHON = re.compile(r"(?:/(?!\.\.?/)[^/\s]+)*/bin/python3?(?:\.\d+)?")
"""An interpreter, by its whole path."""
ANY = 0o111
"""The bits of those who may execute a file."""
DENIED = "cannot be run: permission denied"
FOR_NOBODY = "cannot be run: nobody may execute it"
"""Root neither: whoever asks, this is what becomes of it."""
FIRST_PAUSE, PAUSE = 0.001, 0.02
"""Seconds between two looks at a command that runs, at first and in the end."""


def permitted(argv: tuple[str, ...], allowed: Allowed) -> bool:
    """Return whether ``argv`` is on the list.

    In it ``{python}`` stands for the path of an interpreter, any other ``{…}`` for one number.
    """
    return any(len(entry) == len(argv) and all(map(_agrees, entry, argv)) for entry in allowed)


def _agrees(entry: str, part: str) -> bool:
    if entry == "{python}":
        return PYTHON.fullmatch(part) is not None
    if re.fullmatch(r"\{\w+\}", entry):
        return part.isascii() and part.isdigit()
    return entry == part


@frozen(kw_only=False)
class Runner:
    """Runs what may be run, and ends what of it lives on."""

    allowed: Allowed
    environment: Mapping[str, str]
    """The caller's."""
    directories: tuple[str, ...] = DIRECTORIES
    marks: dict[str, int] = field(default_factory=dict)
    """Of every command that was started, and its process id."""

    def run(self, command: Command, seconds: float, stop: Event) -> Completed | Unreadable:
        """Run ``command`` to its end, for ``seconds``, or until ``stop``; one not allowed never."""
        if not permitted(command.argv, self.allowed):
            return Unreadable("not on the list of commands that only read")
        tool = _find(command.argv[0], self.directories)
        if tool is None:
            return Completed(NOT_FOUND)
        mark = os.urandom(8).hex()
        try:
            process = self._started((tool, *_scripts.filled(command.argv[1:])), mark)
        except OSError as error:
            return _not_run(tool, error)
        self.marks[mark] = process.pid
        with heard(process) as (stdout, stderr):
            returncode = _wait(process, seconds, (stdout, stderr), stop)
            if returncode in (None, TIMED_OUT, KILLED):
                _left_behind.end_marked({mark: process.pid})
            if returncode is None:
                return FLOODED
            return Completed(returncode, stdout.text, stderr.text)

    def _started(self, argv: tuple[str, ...], mark: str) -> subprocess.Popen[bytes]:
        """Start a command; by an open file that is named so it is known if all else is closed."""
        number = os.memfd_create(mark, os.MFD_CLOEXEC)
        try:
            return subprocess.Popen(  # noqa: S603 - an argv from the allow-list, no shell
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=(number,),
                env={**clean(self.environment), _left_behind.MARK: mark},
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(number)

    def end(self) -> None:
        """End what commands that are through have left behind."""
        if self.marks:
            _left_behind.end_marked(self.marks)


def _not_run(tool: str, error: OSError) -> Unreadable:
    """Return why ``tool``, which is there, did not start."""
    if isinstance(error, PermissionError):
        with suppress(OSError):
            return Unreadable(DENIED if os.stat(tool).st_mode & ANY else FOR_NOBODY)  # noqa: PTH116 - text in
        return Unreadable(DENIED)
    return Unreadable(f"cannot be run: {(error.strerror or str(error)).lower()}")


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


def clean(environment: Mapping[str, str]) -> dict[str, str]:
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
    process: subprocess.Popen[bytes], seconds: float, outputs: tuple[Output, ...], stop: Event
) -> int | None:
    """Wait for ``process``, return its status, `None` if it printed too much.

    One that hangs or floods is stopped, and its family.
    """
    deadline = time.monotonic() + seconds
    pause = FIRST_PAUSE
    while not _exited(process.pid):
        late = time.monotonic() > deadline or stop.is_set()
        if late or any(output.size > FLOOD for output in outputs):
            _kill_family(process)
            # Not for ever: a process that waits for a broken device cannot even be killed.
            with suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
            return TIMED_OUT if late else None
        listen(outputs, pause)
        pause = min(2 * pause, PAUSE)
    # It is not reaped yet, so that its number, the group's as well, is nobody else's.
    _kill_group(process.pid)
    returncode = process.wait()
    for output in outputs:
        output.rest()
    if any(output.size > FLOOD for output in outputs):
        return None
    # As a shell would say it: a signal counts from 128.
    return returncode if returncode >= 0 else 128 - returncode


def _exited(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


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
    _kill_group(process.pid)


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
