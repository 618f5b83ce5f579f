"""How a script runs under an interpreter that the user names, and how its answers come back."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import psutil

from mxenv import _left_behind
from mxenv.errors import ModelError, UsageError
from mxenv.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

SCRIPTS = Path(__file__).parent / "_child"
OFTEN = 0.2
"""Seconds between two looks at the clock and at the memory."""
PART = 1 << 16
"""Bytes that are read at once, and of what is said on stderr the last that are kept."""
LONGEST = 256 << 20
"""Bytes of one answer."""
STARTING = 120.0
"""Seconds that a script has at least until its first answer, if each has a limit of its own."""
SHARE = 0.8
"""Of the machine's memory, what a child may hold."""
QUIET = {
    # Nothing is downloaded, and nothing is told but what is wrong.
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "DIFFUSERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}
OUTSIDE = ", which is sent from outside: by a system short of memory, or by somebody"
EXTRAS = {"transformers": "huggingface"}
"""The extras of mxenv by the module that each brings; torch is a platform's own, and in none."""

Answer = dict[str, object]


class ChildFell(ModelError):
    """A script did not come to a good end; ``how``: ``late``, ``large``, ``killed``, ``ended``."""

    def __init__(self, message: str, *, how: str, context: str, hint: str = "") -> None:
        """Say ``message``, which is true of what runs at ``context``."""
        super().__init__(message, context=context, hint=hint)
        self.how = how


def run_child(
    script: str, request: Mapping[str, object], *, python: str | None, seconds: float
) -> Answer:
    """Return the last answer of ``script``, a file of `SCRIPTS`, run under ``python``.

    It reads ``request`` as JSON from stdin and writes lines of JSON to the file descriptor that
    its first argument names; stdout is the model's. A line ``{"missing": MODULE}`` says that the
    interpreter lacks a module, ``{"failed": TEXT, "hint": TEXT}`` that it cannot be done.
    """
    last: Answer | None = None
    for answer in answers(script, request, python=python, seconds=seconds):
        last = answer
    if last is None:
        raise ModelError("came to an end without an answer", context=_shown(script, python))
    return last


def answers(
    script: str,
    request: Mapping[str, object],
    *,
    python: str | None,
    seconds: float,
    each: bool = False,
) -> Generator[Answer, None, None]:
    """Yield every answer of ``script`` as it comes; see `run_child`.

    It is ended, with all that it started, when its time or the machine's memory is up, when it is
    no longer listened to, and when it has come to its end. With ``each``, its time begins anew
    with every answer; until the first it has `STARTING`, since torch has to be imported.
    """
    program, shown = interpreter(python), _shown(script, python)
    with tempfile.TemporaryFile() as asked:
        asked.write(json.dumps(request).encode())
        asked.seek(0)
        ours, theirs = os.pipe()
        mark = os.urandom(8).hex()
        with os.fdopen(ours, "rb", buffering=0) as answering:
            try:
                process = _start(program, script, asked, theirs, mark)
            finally:
                os.close(theirs)
            try:
                for line in _Talk(process, answering, seconds, shown, each=each).lines():
                    yield _understood(line, shown, program, python)
            finally:
                _end(process, mark)


def interpreter(python: str | None) -> str:
    """Return the path of the interpreter that ``python`` names; its own, if it names none."""
    if python is None:
        return sys.executable
    found = shutil.which(python)
    if found is None:
        hint = "name a program, as --python /opt/venv/bin/python3"
        raise UsageError(f"{python!r} is no interpreter that can be run", hint=hint)
    return found


def _shown(script: str, python: str | None) -> str:
    return f"{python or sys.executable} {script}"


def _start(
    program: str, script: str, asked: IO[bytes], theirs: int, mark: str
) -> subprocess.Popen[bytes]:
    try:
        # An argv list; the user named the interpreter, and the script is mxenv's own.
        return subprocess.Popen(  # noqa: S603 - see above
            [program, str(SCRIPTS / script), str(theirs)],
            stdin=asked,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **QUIET, _left_behind.MARK: mark},
            pass_fds=(theirs,),
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"cannot be run: {error.strerror}", context=program) from None


class _Talk:
    """What is read from a child while it runs: its answers, and its last words."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        answering: IO[bytes],
        seconds: float,
        shown: str,
        *,
        each: bool,
    ) -> None:
        self.process, self.seconds, self.shown, self.each = process, seconds, shown, each
        self.streams = {"answer": answering, "stderr": cast("IO[bytes]", process.stderr)}
        self.said = b""
        self.pending = bytearray()
        self.memory = int(psutil.virtual_memory().total * SHARE)

    def lines(self) -> Iterator[bytes]:
        """Yield each line of the answers; raise if the child does not come to a good end."""
        first = max(self.seconds, STARTING) if self.each else self.seconds
        until = time.monotonic() + first
        with selectors.DefaultSelector() as waiting, self.streams["stderr"]:
            for name, stream in self.streams.items():
                os.set_blocking(stream.fileno(), False)
                waiting.register(stream, selectors.EVENT_READ, name)
            while waiting.get_map():
                ended = self.process.poll() is not None
                ready = waiting.select(timeout=0 if ended else OFTEN)
                for key, _ in ready:
                    if not self._take(key.data):
                        waiting.unregister(key.fileobj)
                for line in self._whole():
                    yield line
                    until = time.monotonic() + self.seconds if self.each else until
                if ended and not ready:
                    break  # what it started may hold the pipes open, and has nothing to say
                self._judge(until)
        self._farewell(until)

    def _take(self, name: str) -> bool:
        """Take what has come; return whether more can."""
        part = self.streams[name].read(PART)
        if name == "stderr":
            self.said = (self.said + (part or b""))[-PART:]
        else:
            self.pending += part or b""
        return part != b""

    def _whole(self) -> Iterator[bytes]:
        if len(self.pending) > LONGEST:
            raise ModelError(f"answered with more than {LONGEST >> 20} MiB", context=self.shown)
        while (end := self.pending.find(b"\n")) >= 0:
            line = bytes(self.pending[:end])
            del self.pending[: end + 1]
            yield line

    def _judge(self, until: float) -> None:
        """Raise if the child has taken too long, or too much memory."""
        if time.monotonic() > until:
            raise ChildFell(
                f"did not come to an end in {self.seconds:.0f} seconds",
                how="late",
                context=self.shown,
                hint="give it more with --seconds, or name a smaller model",
            )
        if self.process.poll() is None and _memory(self.process.pid) > self.memory:
            raise ChildFell(
                f"took more than {self.memory >> 30} GiB of memory",
                how="large",
                context=self.shown,
                hint="name a smaller model, or use a machine with more memory",
            )

    def _farewell(self, until: float) -> None:
        try:
            status = self.process.wait(timeout=max(1.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._judge(0.0)
            return
        if status < 0:
            killed = status == -signal.SIGKILL
            with suppress(ValueError):
                raise ChildFell(
                    f"was ended by {signal.Signals(-status).name}"
                    f"{OUTSIDE if killed else self._last_words()}",
                    how="killed" if killed else "ended",
                    context=self.shown,
                    hint="see whether the model needs a card, or more memory",
                )
        if status:
            said = f"ended with status {status}{self._last_words()}"
            raise ChildFell(said, how="ended", context=self.shown)

    def _last_words(self) -> str:
        lines = clean(self.said.decode(errors="replace")).split("\n")
        said = [" ".join(line.split()) for line in lines if line.strip()]
        return f": {said[-1][:300]}" if said else ""


def _memory(pid: int) -> int:
    """Return the memory in bytes that a process and all that it started hold."""
    try:
        process = psutil.Process(pid)
        family = (process, *process.children(recursive=True))
    except psutil.Error:
        return 0
    total = 0
    for one in family:
        with suppress(psutil.Error):
            total += one.memory_info().rss
    return total


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """End a child and all that it started; what has ended is left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # What has made a session of its own is in no group of ours.
    _left_behind.end_marked({mark: process.pid})
    if process.stderr is not None:
        process.stderr.close()


def _understood(line: bytes, shown: str, program: str, python: str | None) -> Answer:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise ModelError("answered with what is not JSON", context=shown) from None
    if not isinstance(answer, dict):
        raise ModelError("answered with no JSON object", context=shown)
    if "missing" in answer:
        module = _line(answer["missing"])
        install = f"{program} -m pip install {module}"
        extra = EXTRAS.get(module) if python is None else None
        own = f"pip install 'mxenv[{extra}]'" if extra else install
        hint = f"{own}, or name an interpreter that has it: --python PATH"
        raise ModelError(f"{module} is not installed there", context=program, hint=hint)
    if "failed" in answer:
        raise ModelError(
            _line(answer["failed"]),
            context=_line(answer.get("where", "")) or shown,
            hint=_line(answer.get("hint", "")),
        )
    return answer


def _line(value: object, most: int = 400) -> str:
    return clean(" ".join(str(value).split()))[:most]
