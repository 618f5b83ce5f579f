"""A wheel that changed: rewritten with one more line, and the lock that names it."""

from __future__ import annotations

import base64
import hashlib
import shutil
import tomllib
import zipfile
from pathlib import Path

import tomlkit


def changed(lock: Path, folder: Path, *, number: int) -> Path:
    """Copy a lock and its wheels into a new ``folder`` with one wheel changed; return the lock.

    The first pure wheel gets a line with ``number`` in a module: the same name, another hash.
    """
    copy = folder / lock.name
    wheels = folder / "wheelhouse"
    wheels.mkdir(parents=True)
    for name in names(lock):
        shutil.copy(lock.parent / "wheelhouse" / name, wheels)
    document = tomlkit.parse(lock.read_text(encoding="utf-8"))
    # What the unchanged lock was built to is no longer true.
    document["tool"]["mxenv"].pop("image", None)
    wheel = next(
        wheel
        for package in document["packages"]
        for wheel in package["wheels"]
        if wheel["path"].endswith("-none-any.whl")
    )
    path = folder / wheel["path"]
    _rewrite(path, f"\nCHANGE = {number}\n".encode())
    wheel["hashes"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    if "size" in wheel:
        wheel["size"] = path.stat().st_size
    copy.write_text(tomlkit.dumps(document), encoding="utf-8")
    return copy


def _rewrite(path: Path, change: bytes) -> None:
    with zipfile.ZipFile(path) as wheel:
        files = {entry.filename: wheel.read(entry) for entry in wheel.infolist()}
    module = next(name for name in sorted(files) if name.endswith("/__init__.py"))
    files[module] += change
    digest = base64.urlsafe_b64encode(hashlib.sha256(files[module]).digest()).decode().rstrip("=")
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    lines = files[record].decode().splitlines()
    files[record] = "".join(
        f"{module},sha256={digest},{len(files[module])}\n"
        if line.startswith(f"{module},")
        else f"{line}\n"
        for line in lines
    ).encode()
    path.unlink()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            wheel.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)


def names(lock: Path) -> tuple[str, ...]:
    """Return the file names of a lock's wheels."""
    document = tomllib.loads(lock.read_text(encoding="utf-8"))
    return tuple(
        Path(wheel["path"]).name for package in document["packages"] for wheel in package["wheels"]
    )
