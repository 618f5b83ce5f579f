"""How a recording is put on disk: whole, or not at all, and over nothing but another one."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from mxenv._files import unwritable, write_atomically
from mxenv.errors import UsageError
from mxenv.recording import MAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKED = (".tar.gz", ".tgz")
WRITABLE = "name a folder where you may write"


def refuse(out: Path) -> None:
    """Raise `UsageError` if ``out`` is something that a recording must not replace."""
    try:
        _refuse(out)
    except (OSError, ValueError) as error:
        raise unwritable(out, error, hint=WRITABLE) from error


def _refuse(out: Path) -> None:
    if out.name.endswith(PACKED):
        if out.exists() and not out.is_file():
            raise UsageError("is there and not a file", context=str(out), hint="name another file")
    elif out.is_symlink() or (out.exists() and not out.is_dir()):
        hint = "name a folder, or a file that ends in .tar.gz"
        raise UsageError("is there and not a folder", context=str(out), hint=hint)
    elif out.is_dir() and any(out.iterdir()) and not (out / MAIN).is_file():
        hint = "name a new folder; only an older recording is replaced"
        raise UsageError("a folder with other things in it", context=str(out), hint=hint)


def write(files: Mapping[str, bytes], out: Path) -> None:
    """Write ``files`` to ``out``: packed if its name says so, else as a folder."""
    refuse(out)
    if out.name.endswith(PACKED):
        write_atomically(out, pack(files, out.name.removesuffix(".tgz").removesuffix(".tar.gz")))
        return
    try:
        _write_folder(files, out)
    except (OSError, ValueError) as error:
        raise unwritable(out, error, hint=WRITABLE) from error


def _write_folder(files: Mapping[str, bytes], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    # One temporary folder holds the new one and then the old one, and goes in the end.
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
        new, old = Path(folder, "new"), Path(folder, "old")
        new.mkdir()
        for name, content in sorted(files.items()):
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if out.exists():
            out.rename(old)
        try:
            new.rename(out)
        except BaseException:
            with suppress(OSError):
                old.rename(out)
            raise
        shutil.rmtree(old, ignore_errors=True)


def pack(files: Mapping[str, bytes], folder: str) -> bytes:
    """Return ``files`` as a tar.gz of ``folder``: equal files give equal bytes."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(str(PurePosixPath(folder, name)))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
