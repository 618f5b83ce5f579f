"""How modules are compiled for the Python of an image: to the same bytes by whoever does it.

A process of that Python's own version compiles what it is given, and imports and runs none of it.
Its hash seed is fixed, it sees no variable and no file of the user, each module has the name that
it has in the image, and what is written holds no references, whose number depends on what else a
process holds. Another patch level may compile otherwise: it is part of a layer's key.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from mxenv.errors import EngineError, UsageError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.engines import Order

NEWEST = (3, 13)
"""From 3.14 on, code can be written with references only (slices are constants of it)."""

PATIENCE = 600.0
"""Seconds for all modules of a layer."""

PROGRAM = r"""
import sys, marshal, _imp, _frozen_importlib_external as loader
take, give = sys.stdin.buffer, sys.stdout.buffer
key = int.from_bytes(loader.MAGIC_NUMBER, "little")
give.write(b"%s %s %d.%d.%d\n" % (sys.implementation.name.encode(),
    sys.version_info.releaselevel.encode(), *sys.version_info[:3]))
give.flush()

def settled(value):
    # Before 3.11, sets are written in the order in which they lie in memory; where None lies
    # in them, that depends on its address.
    if isinstance(value, frozenset):
        return all(type(each) in (str, bytes, int, bool, float) for each in value)
    if isinstance(value, tuple):
        return all(map(settled, value))
    return all(map(settled, getattr(value, "co_consts", ())))

while True:
    head = take.readline().split()
    if not head:
        break
    name, source = take.read(int(head[0])).decode(), take.read(int(head[1]))
    try:
        code = compile(source, name, "exec", dont_inherit=True, optimize=0)
        if sys.version_info < (3, 11) and not settled(code):
            raise ValueError
        data = loader.MAGIC_NUMBER + b"\1\0\0\0" + _imp.source_hash(key, source)
        data += marshal.dumps(code, 2)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        give.write(b"-1\n")
    else:
        give.write(b"%d\n" % len(data) + data)
    give.flush()
"""
"""Flag 1 in a header: found by its source's hash, which nobody compares (PEP 552, unchecked)."""


@frozen
class Interpreter:
    """A Python that can compile for an image."""

    path: str
    version: str
    """All three numbers."""


@frozen
class Compiled:
    """Where the bytecode of a module lies."""

    start: int
    size: int


class Modules:
    """Compiles modules one by one, and keeps what comes out in a file without a name."""

    def __init__(self, process: subprocess.Popen[bytes], file: IO[bytes]) -> None:
        """Talk to a process that has said who it is."""
        self._process = process
        self._file = file
        self._size = 0

    def compile(self, path: str, source: bytes) -> Compiled | None:
        """Compile a module; one that this Python does not take has no bytecode, as with pip."""
        name = path.encode()
        into, out = _pipes(self._process)
        try:
            into.write(b"%d %d\n" % (len(name), len(source)) + name + source)
            into.flush()
            size = int(out.readline())
            data = out.read(max(size, 0))
        except (OSError, ValueError) as error:
            raise EngineError("ended while it compiled", context=path) from error
        if size < 0:
            return None
        found = Compiled(start=self._size, size=size)
        self._file.write(data)
        self._size += size
        return found

    def read(self, found: Compiled) -> bytes:
        """Return the bytecode of a module."""
        self._file.seek(found.start)
        return self._file.read(found.size)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise EngineError("has no pipes", context="interpreter")
    return process.stdin, process.stdout


def interpreter(order: Order) -> Interpreter:
    """Return the Python that compiles for the order's image; refuse one that writes other bytes."""
    wanted = order.lock.target.python
    remedy = f"name a Python {wanted} with --interpreter, or leave 'bytecode' out of the image"
    if tuple(map(int, wanted.split("."))) > NEWEST:
        newest = ".".join(map(str, NEWEST))
        raise UsageError(
            f"modules for Python {wanted} cannot be compiled to the same bytes everywhere",
            context=order.lock.name,
            hint=f"leave 'bytecode' out of the image: it is known how up to {newest}",
        )
    path = _found(order.interpreter) if order.interpreter else sys.executable
    with _running(path) as (_, said):
        kind, level, version = said
    if kind != "cpython" or level != "final" or version.rpartition(".")[0] != wanted:
        raise UsageError(
            f"the image's modules are for CPython {wanted}, and {path} is {kind} {version} {level}",
            context=order.lock.name,
            hint=remedy,
        )
    built = order.lock.built
    if built is not None and built.compiler and built.compiler != version:
        raise UsageError(
            f"the lock's image was compiled by Python {built.compiler}, and {path} is {version}",
            context=order.lock.name,
            hint="name the same with --interpreter; or remove [tool.mxenv.image] from the lock",
        )
    return Interpreter(path=path, version=version)


def _found(name: str) -> str:
    """Return where a program is, as the user would find it."""
    found = shutil.which(name)
    if found is None:
        raise _no_python(name, "there is no such program")
    return str(Path(found).absolute())


@contextmanager
def modules(chosen: Interpreter) -> Iterator[Modules]:
    """Yield what compiles, until the end of the block."""
    with _running(chosen.path) as (process, _), TemporaryFile() as file:
        yield Modules(process, file)


@contextmanager
def _running(path: str) -> Iterator[tuple[subprocess.Popen[bytes], tuple[str, str, str]]]:
    """Start a Python that sees nothing of the user, and yield it and what it says that it is."""
    # Not -I: it would not see the hash seed. Of the modules that it imports none is a file.
    argv = (path, "-s", "-S", "-B", "-W", "ignore", "-c", PROGRAM)
    environment = {"PYTHONHASHSEED": "0", "LC_ALL": "C"}
    try:
        process = subprocess.Popen(  # noqa: S603 - an interpreter that the user named, or this one
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
        )
    except OSError as error:
        raise _no_python(path, error.strerror or str(error)) from error
    watch = threading.Timer(PATIENCE, process.kill)
    watch.daemon = True
    watch.start()
    try:
        said = _pipes(process)[1].readline().decode("ascii", "replace").split()
        if len(said) != 3:  # noqa: PLR2004 - as PROGRAM says it
            raise _no_python(path, "it does not say which Python it is")
        yield process, (said[0], said[1], said[2])
    finally:
        watch.cancel()
        for pipe in _pipes(process):
            with suppress(OSError):
                pipe.close()
        process.kill()
        process.wait()


def _no_python(path: str, reason: str) -> UsageError:
    return UsageError(
        f"cannot compile modules: {reason}",
        context=path or "this Python",
        hint="name a Python of the image's version with --interpreter",
    )
