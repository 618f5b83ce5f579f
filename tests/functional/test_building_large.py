"""What a build needs of memory, and of time, by how large its wheels are."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from _peak import PEAK
from _wheels import lock_of, package_of

from mxenv import lock as locks

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024
BUILD = (
    PEAK
    + """
import os, sys
from pathlib import Path
from mxenv.api.building import build
lock, folder = Path(sys.argv[1]), Path(sys.argv[2])
for compression in sys.argv[3:]:
    began = os.times()
    build(lock, out=folder / compression, cache=folder / "cache", compression=compression)
    ended = os.times()
    print(peak(), ended.user + ended.system - began.user - began.system)
"""
)


def large(folder: Path, size: int) -> Path:
    """Lay out a lock of one wheel that unpacks to so many MiB, an eighth of it stored."""
    house = folder / "wheelhouse"
    house.mkdir(parents=True)
    path = house / "pkg-1.0-py3-none-any.whl"
    noise = sha256(b"seed").digest() * (MIB // 32)
    pattern = b"".join(b"line %d of a file that is not all the same\n" % n for n in range(24_000))
    rows = []
    with zipfile.ZipFile(path, "w", compresslevel=1) as archive:

        def add(name: str, piece: bytes, times: int, kind: int) -> None:
            info = zipfile.ZipInfo(name)
            info.compress_type = kind
            digest, length = sha256(), 0
            with archive.open(info, "w") as member:
                for _ in range(times):
                    member.write(piece)
                    digest.update(piece)
                    length += len(piece)
            value = urlsafe_b64encode(digest.digest()).decode().rstrip("=")
            rows.append(f"{name},sha256={value},{length}\n")

        add("pkg/stored.bin", noise, size // 8, zipfile.ZIP_STORED)
        add("pkg/deflated.txt", pattern, size * 7 // 8 * MIB // len(pattern), zipfile.ZIP_DEFLATED)
        info = "pkg-1.0.dist-info"
        stored = zipfile.ZIP_STORED
        add(f"{info}/METADATA", b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n", 1, stored)
        add(f"{info}/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\n", 1, stored)
        archive.writestr(f"{info}/RECORD", "".join([*rows, f"{info}/RECORD,,\n"]))
    lock = folder / "pylock.demo.toml"
    lock.write_text(locks.render(lock_of(package_of(path, "pkg", "1.0"))))
    return lock


def cost(folder: Path, size: int, *compressions: str) -> tuple[int, float]:
    """Return MiB at most, and seconds of CPU, of building it."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, large(folder, size), folder, *compressions],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    peak, seconds = done.stdout.split()[-2:]
    return int(peak), float(seconds)


def test_memory_does_not_grow_with_a_wheel(tmp_path: Path) -> None:
    small, _ = cost(tmp_path / "small", 16, "gzip")
    big, _ = cost(tmp_path / "big", 400, "gzip")
    assert big <= small + 16
    assert big <= 200


def test_memory_does_not_grow_with_zstd_either(tmp_path: Path) -> None:
    big, _ = cost(tmp_path, 150, "gzip", "zstd")
    assert big <= 200


def test_time_grows_as_a_wheel_does(tmp_path: Path) -> None:
    # Of CPU time, which says nothing of who else is busy; starting takes the same for both.
    _, small = cost(tmp_path / "small", 96, "gzip")
    _, big = cost(tmp_path / "big", 384, "gzip")
    assert big <= 1.2 * 4 * small
