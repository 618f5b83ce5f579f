"""Where the files of a wheel go, and what else an installation writes (PEP 427, PEP 376)."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import shlex
import unicodedata
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from posixpath import relpath
from typing import TYPE_CHECKING

from mxenv.distribution import normalised, same_version
from mxenv.engines._zip import Archive, Member, unsafe
from mxenv.errors import EngineError, WheelError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mxenv.engines._bytecode import Compiled, Modules
    from mxenv.lock import Package, Target

RECORD_LIMIT = 64 * 1024 * 1024
"""A RECORD of 200,000 files has some 30 MB."""

ALGORITHMS = frozenset({"sha256", "sha384", "sha512"})
"""What a RECORD may use: "sha256 or better"."""

_METADATA = re.compile(r"\.(?:dist|egg)-info$|\.egg(?:-link)?$", re.IGNORECASE)
"""How the names of files and folders end that tell Python of a distribution."""

LONGEST = 124
"""A longer interpreter's path, or one with a space, does not fit the first line of a script: with
``#!`` and the line's end that are the 127 bytes that every kernel reads."""

IMPORTED = re.compile(r"\.(?:py|pth|so)$|\.dist-info/")
"""What Python looks for by name, where two spellings of one name would be two modules of it."""

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
        self.info = self._dist_info(package)
        self.data = self.info.removesuffix(".dist-info") + ".data"
        self.root = self._root()

    def _refusal(self, member: str, message: str) -> WheelError:
        return WheelError(message, context=f"{self.archive.name}: {member}")

    def _dist_info(self, package: Package) -> str:
        """Return the one metadata folder; it must be that of the package that was locked."""
        tops = {name.partition("/")[0] for name in self.archive.members if "/" in name}
        folders = sorted(top for top in tops if top.endswith(".dist-info"))
        if len(folders) != 1:
            found = ", ".join(folders) or "none"
            raise self._refusal("*.dist-info", f"must be there once; found: {found}")
        metadata = self._headers(f"{folders[0]}/METADATA")
        name = normalised(metadata.get("name", ""))
        if name != package.name or not same_version(metadata.get("version", ""), package.version):
            raise self._refusal(
                f"{folders[0]}/METADATA",
                f"is {name} {metadata.get('version', '')}, "
                f"but {package.name} {package.version} was locked",
            )
        self._named(folders[0], package)
        return folders[0]

    def _named(self, folder: str, package: Package) -> None:
        """Refuse a metadata folder that is called after another distribution, or data of one."""
        name, _, version = folder.removesuffix(".dist-info").rpartition("-")
        if normalised(name) != package.name or not same_version(version, package.version):
            raise self._refusal(
                folder, f"is not named after {package.name} {package.version}, which was locked"
            )
        data = folder.removesuffix(".dist-info") + ".data"
        for top in {name.partition("/")[0] for name in self.archive.members if "/" in name}:
            if top.endswith(".data") and top != data:
                raise self._refusal(top, f"is a folder of data, and not {data}")

    def _headers(self, name: str) -> Mapping[str, str]:
        """Return the headers of ``METADATA`` or ``WHEEL``, their names in lower case."""
        text = self.archive.read(name, RECORD_LIMIT).decode("utf-8", "replace")
        head = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]
        lines = (line.partition(":") for line in head.splitlines() if line[:1].strip())
        return {key.strip().lower(): value.strip() for key, _, value in reversed(list(lines))}

    def _root(self) -> str:
        """Return where the root of the wheel goes."""
        wheel = self._headers(f"{self.info}/WHEEL")
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
        hashes = self._hashes()
        self._distinct()
        left_out = {
            f"{self.info}/{name}"
            # The first three are the installer's own to write; a signature is over the old RECORD.
            for name in ("RECORD", "INSTALLER", "direct_url.json", "RECORD.jws", "RECORD.p7s")
        }
        for member in self.archive.members.values():
            if member.name in left_out:
                continue
            hash_, size = hashes.get(member.name, (None, ""))
            if hash_ is None:
                raise self._refusal(member.name, "is not in RECORD")
            if size not in {"", str(member.size)}:
                raise self._refusal(member.name, f"has {member.size} bytes, RECORD says {size}")
            if hash_.partition("=")[0] not in ALGORITHMS:
                raise self._refusal(member.name, "has no SHA-256 or better in RECORD")
            # Bytecode belongs to the interpreter that made it; a wheel's could say anything.
            if "__pycache__" not in member.name.split("/"):
                yield self._placed(member, hash_)

    def _distinct(self) -> None:
        """Refuse two members whose names are one to people, or to Python on some disk.

        Names that differ in case alone are two on Linux, and headers of C have such names.
        """
        seen: dict[str, str] = {}
        for name in self.archive.members:
            plain = unicodedata.normalize("NFKC", name)
            keys = (plain, plain.casefold()) if IMPORTED.search(name) else (plain,)
            for key in dict.fromkeys(keys):
                other = seen.setdefault(key, name)
                if other != name:
                    raise self._refusal(name, f"is there twice, as {other} as well")

    def _hashes(self) -> Mapping[str, tuple[str, str]]:
        """Return what RECORD says of each file: hash and size."""
        name = f"{self.info}/RECORD"
        try:
            text = self.archive.read(name, RECORD_LIMIT).decode()
            rows = [row for row in csv.reader(io.StringIO(text)) if row]
            found = {path: (hash_.rstrip("="), size) for path, hash_, size in rows}
        except (ValueError, csv.Error) as error:
            raise self._refusal(name, "is no table of path, hash and size") from error
        said: dict[str, tuple[str, ...]] = {}
        for row in rows:
            if said.setdefault(row[0], tuple(row)) != tuple(row):
                raise self._refusal(name, f"says two things of {row[0]!r}")
        return found

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
