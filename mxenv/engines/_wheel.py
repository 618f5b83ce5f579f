"""Where the files of a wheel go, and what else an installation writes (PEP 427, PEP 376)."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import shlex
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from posixpath import relpath
from typing import TYPE_CHECKING

from mxenv.engines._wheel_metadata import RECORD_LIMIT, distinct, folder, hashes, headers, refusal
from mxenv.engines._zip import Archive, Member, unsafe
from mxenv.errors import EngineError, WheelError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mxenv.engines._bytecode import Compiled, Modules
    from mxenv.lock import Package, Target

ALGORITHMS = frozenset({"sha256", "sha384", "sha512"})
"""What a RECORD may use: "sha256 or better"."""

_METADATA = re.compile(r"\.(?:dist|egg)-info$|\.egg(?:-link)?$", re.IGNORECASE)
"""How the names of files and folders end that tell Python of a distribution."""

LONGEST = 124
"""A longer interpreter's path, or one with a space, does not fit the first line of a script: with
``#!`` and the line's end that are the 127 bytes that every kernel reads."""

SCRIPT = """\
{shebang}
import sys

from {module} import {name}

if __name__ == "__main__":
    sys.exit({attribute}())
"""


@frozen
class Installed:
    """One file as it will be in the image: a member of the wheel, or written for it."""

    path: str
    mode: int
    size: int
    hash: str
    """As a RECORD has it: ``sha256=…``."""
    member: Member | None = None
    """Where the content lies, unless `data` holds it."""
    data: bytes = b""
    compiled: Compiled | None = None
    """Where its bytecode lies, if it is a module's."""


@frozen
class Unpacked:
    """A wheel that is open, and the files that it becomes."""

    archive: Archive
    files: tuple[Installed, ...]


@contextmanager
def opened(
    path: Path, package: Package, target: Target, modules: Modules | None = None
) -> Iterator[Unpacked]:
    """Open the wheel of ``package``, which must be the one that was locked.

    ``modules`` compiles what is to have bytecode.
    """
    name = package.wheel.name
    if path.exists() and not path.is_file():
        # To open a FIFO would wait for ever.
        raise WheelError("is not a file", context=str(path))
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise WheelError(
            "is not in the wheelhouse", context=str(path), hint="run `mxenv fetch LOCK`"
        ) from None
    except OSError as error:
        raise WheelError(f"cannot be read: {error.strerror}", context=str(path)) from error
    with file:
        try:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EngineError(f"cannot be read: {error.strerror}", context=str(path)) from error
        if found != package.wheel.sha256:
            raise WheelError(
                f"has the SHA-256 {found}, not {package.wheel.sha256} as locked",
                context=str(path),
                hint="delete it and run `mxenv fetch LOCK`",
            )
        archive = Archive(file, name)
        plan = _Plan(archive, package, target, modules)
        yield Unpacked(archive=archive, files=plan.files())


class _Plan:
    """Decides for one wheel; a class only because every step needs the same five things."""

    def __init__(
        self, archive: Archive, package: Package, target: Target, modules: Modules | None
    ) -> None:
        self.archive = archive
        self.modules = modules
        self.target = target
        self.distribution = package.wheel.name.split("-")[0]
        self.info = folder(archive, package)
        self.data = self.info.removesuffix(".dist-info") + ".data"
        self.root = self._root()

    def _refusal(self, member: str, message: str) -> WheelError:
        return refusal(self.archive, member, message)

    def _root(self) -> str:
        """Return where the root of the wheel goes."""
        wheel = headers(self.archive, f"{self.info}/WHEEL")
        version = wheel.get("wheel-version", "")
        if not version.startswith("1."):
            raise self._refusal(f"{self.info}/WHEEL", f"has Wheel-Version {version!r}, not 1.x")
        pure = wheel.get("root-is-purelib", "").lower() == "true"
        return self.target.purelib if pure else self.target.platlib

    def files(self) -> tuple[Installed, ...]:
        """Return everything that is installed, sorted by path, RECORD included."""
        files: dict[str, Installed] = {}
        for file in (*self._scripts(), *self._members(), self._installer()):
            if file.path in files:
                raise self._refusal(file.path, "would be written twice")
            files[file.path] = file
        self._alone(files)
        if self.modules is not None:
            for compiled in tuple(self._bytecode(files, self.modules)):
                files[compiled.path] = compiled
        record = self._record(files)
        files[record.path] = record
        return tuple(files[path] for path in sorted(files))

    def _alone(self, files: Iterable[str]) -> None:
        """Refuse metadata of another distribution, which no lock would name."""
        for path in files:
            for site in {self.target.purelib, self.target.platlib}:
                top = path.removeprefix(f"{site}/").partition("/")[0]
                if path.startswith(f"{site}/") and top != self.info and _METADATA.search(top):
                    raise self._refusal(top, "is the metadata of another distribution")

    def _bytecode(self, files: Mapping[str, Installed], modules: Modules) -> Iterator[Installed]:
        """Yield the bytecode of every module that has one."""
        sites = (f"{self.target.purelib}/", f"{self.target.platlib}/")
        for path, file in sorted(files.items()):
            if not path.endswith(".py") or not path.startswith(sites):
                continue
            if file.size > RECORD_LIMIT:
                continue
            member = file.member
            source = self.archive.read(member.name, RECORD_LIMIT) if member else file.data
            compiled = modules.compile(path, source)
            if compiled is not None:
                digest = text_of(hashlib.sha256(modules.read(compiled)).digest(), "sha256")
                yield Installed(
                    path=cached(path, self.target.python),
                    mode=0o644,
                    size=compiled.size,
                    hash=digest,
                    compiled=compiled,
                )

    def _scripts(self) -> Iterator[Installed]:
        """Yield the scripts of ``entry_points.txt``."""
        name = f"{self.info}/entry_points.txt"
        if name not in self.archive.members:
            return
        from mxenv.engines import _entry_points  # noqa: PLC0415 - imported late: seldom any

        try:
            points = list(_entry_points.scripts(self.archive.read(name).decode()))
        except ValueError as error:
            raise self._refusal(name, f"is not understood: {error}") from error
        for script, module, attribute in points:
            if unsafe(script) or "/" in script:
                raise self._refusal(name, f"{script!r} is no name for a script")
            text = SCRIPT.format(
                shebang=shebang(self.target.interpreter),
                module=module,
                name=attribute.partition(".")[0],
                attribute=attribute,
            )
            yield _written(f"{self.target.scripts}/{script}", text.encode(), mode=0o755)

    def _members(self) -> Iterator[Installed]:
        """Yield the files of the wheel, each checked to be in its RECORD."""
        hashed = hashes(self.archive, self.info)
        distinct(self.archive)
        left_out = {
            f"{self.info}/{name}"
            # The first three are the installer's own to write; a signature is over the old RECORD.
            for name in ("RECORD", "INSTALLER", "direct_url.json", "RECORD.jws", "RECORD.p7s")
        }
        for member in self.archive.members.values():
            if member.name in left_out:
                continue
            hash_, size = hashed.get(member.name, (None, ""))
            if hash_ is None:
                raise self._refusal(member.name, "is not in RECORD")
            if size not in {"", str(member.size)}:
                raise self._refusal(member.name, f"has {member.size} bytes, RECORD says {size}")
            if hash_.partition("=")[0] not in ALGORITHMS:
                raise self._refusal(member.name, "has no SHA-256 or better in RECORD")
            # Bytecode belongs to the interpreter that made it; a wheel's could say anything.
            if "__pycache__" not in member.name.split("/"):
                yield self._placed(member, hash_)

    def _placed(self, member: Member, hash_: str) -> Installed:
        """Return where a file goes, by the folder that it lies in."""
        top, _, rest = member.name.partition("/")
        if top != self.data:
            path = self.target.real(f"{self.root}/{member.name}")
            mode = 0o755 if member.executable else 0o644
            return Installed(path=path, mode=mode, size=member.size, hash=hash_, member=member)
        scheme, _, relative = rest.partition("/")
        folders = {
            "purelib": self.target.purelib,
            "platlib": self.target.platlib,
            "scripts": self.target.scripts,
            "data": self.target.data,
            "headers": f"{self.target.data}/include/python{self.target.python}/{self.distribution}",
        }
        if scheme not in folders or not relative:
            raise self._refusal(member.name, f"lies in none of {', '.join(folders)}")
        path = self.target.real(f"{folders[scheme]}/{relative}")
        mode = 0o755 if member.executable or scheme == "scripts" else 0o644
        if scheme == "scripts":
            data = self._checked(member, hash_) if member.size <= RECORD_LIMIT else b""
            if data.startswith(b"#!python"):
                line = f"{shebang(self.target.interpreter)}\n".encode()
                return _written(path, line + data.partition(b"\n")[2], mode=mode)
        return Installed(path=path, mode=mode, size=member.size, hash=hash_, member=member)

    def _checked(self, member: Member, hash_: str) -> bytes:
        """Return the content of a member, which must have the hash of its RECORD."""
        data = self.archive.read(member.name, RECORD_LIMIT)
        algorithm = hash_.partition("=")[0]
        if text_of(hashlib.new(algorithm, data).digest(), algorithm) != hash_:
            raise self._refusal(member.name, "does not have the hash that RECORD says")
        return data

    def _installer(self) -> Installed:
        """Return the file that says who installed the wheel."""
        return _written(f"{self.root}/{self.info}/INSTALLER", b"mxenv\n")

    def _record(self, files: Mapping[str, Installed]) -> Installed:
        """Return the RECORD of what is installed, itself without a hash."""
        own = f"{self.root}/{self.info}/RECORD"
        root = f"{self.root}/"
        rows = [
            (
                path[len(root) :] if path.startswith(root) else relpath(path, self.root),
                # As pip: nobody else could make the same bytecode and compare.
                *(("", "") if file.compiled else (file.hash, str(file.size))),
            )
            for path, file in files.items()
        ]
        rows.append((relpath(own, self.root), "", ""))
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(sorted(rows))
        return _written(own, text.getvalue().encode())


def shebang(interpreter: str) -> str:
    """Return how a script begins that this interpreter runs.

    Where its path does not fit, ``sh`` hands over to it: what tells it so is a string to Python.
    """
    if " " not in interpreter and len(interpreter.encode()) <= LONGEST:
        return f"#!{interpreter}"
    return f"#!/bin/sh\n'''exec' {shlex.quote(interpreter)} \"$0\" \"$@\"\n' '''"


def cached(path: str, python: str) -> str:
    """Return where Python looks for the bytecode of the module at ``path`` (PEP 3147)."""
    folder, _, name = path.rpartition("/")
    tag = f"cpython-{python.replace('.', '')}"
    return f"{folder}/__pycache__/{name.removesuffix('.py')}.{tag}.pyc"


def text_of(digest: bytes, algorithm: str) -> str:
    """Return a digest as a RECORD has it."""
    return f"{algorithm}={urlsafe_b64encode(digest).decode().rstrip('=')}"


def _written(path: str, data: bytes, *, mode: int = 0o644) -> Installed:
    """Return a file that is not in the wheel as it is."""
    hash_ = text_of(hashlib.sha256(data).digest(), "sha256")
    return Installed(path=path, mode=mode, size=len(data), hash=hash_, data=data)
