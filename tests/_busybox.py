"""A root file system of busybox and the libraries it needs, as small as a container can be."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x")


def missing() -> str:
    """Return why there is none here, or nothing."""
    return "" if shutil.which("busybox") else "no program busybox"


def write(path: Path, files: Mapping[str, bytes], *, shell: bool) -> None:
    """Write the tar file of it, with ``files``; without a shell it has busybox and nothing else."""
    program = str(shutil.which("busybox"))
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    applets = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    with tarfile.open(path, "w") as tar:
        add(tar, "bin/busybox", Path(program).read_bytes(), 0o755)
        for library in LIBRARY.findall(told):
            add(tar, library.lstrip("/"), Path(library).read_bytes(), 0o755)
        for name in applets.stdout.split() if shell else ():
            if name != "busybox":
                member = tarfile.TarInfo(f"bin/{name}")
                member.type, member.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(member)
        for name, content in files.items():
            add(tar, name, content, 0o644)


def add(tar: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    """Add a file."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    tar.addfile(member, io.BytesIO(content))
