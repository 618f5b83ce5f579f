"""Wheels, made as they are needed: right ones, and ones that no installer should take."""

from __future__ import annotations

import hashlib
import stat
import zipfile
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv.lock import Base, Lock, Package, Target, Wheel

if TYPE_CHECKING:
    from pathlib import Path


def target(prefix: str = "/opt/env", python: str = "3.11") -> Target:
    """Return a target below ``prefix``."""
    site = f"{prefix}/lib/python{python}/site-packages"
    return Target(
        platform="linux/amd64",
        python=python,
        prefix=prefix,
        interpreter=f"{prefix}/bin/python3",
        purelib=site,
        platlib=site,
        scripts=f"{prefix}/bin",
        data=prefix,
    )


def lock_of(*packages: Package, base: str = "scratch", digest: str = "") -> Lock:
    """Return a lock of these packages."""
    return Lock(
        name="demo",
        inputs="sha256:" + "0" * 64,
        accelerator="none",
        base=Base(reference=base, digest=digest),
        target=target(),
        packages=packages,
    )


@dataclass(kw_only=True)
class Made:
    """What goes into a wheel, and how it may be wrong."""

    name: str = "pkg"
    version: str = "1.0"
    files: dict[str, bytes] = field(default_factory=lambda: {"pkg/__init__.py": b"X = 1\n" * 50})
    """By member; those that are not about the distribution itself."""
    executable: frozenset[str] = frozenset()
    wheel: str = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    entry_points: str = ""
    unrecorded: frozenset[str] = frozenset()
    misrecorded: frozenset[str] = frozenset()
    algorithm: str = "sha256"
    compression: int = zipfile.ZIP_DEFLATED
    metadata: str = ""

    @property
    def info(self) -> str:
        """The metadata folder."""
        return f"{self.name}-{self.version}.dist-info"

    def contents(self) -> dict[str, bytes]:
        """Return every member but RECORD."""
        metadata = self.metadata or f"Metadata-Version: 2.1\nName: {self.name}\nVersion: 1.0\n"
        about = {
            f"{self.info}/METADATA": metadata.encode(),
            f"{self.info}/WHEEL": self.wheel.encode(),
        }
        if self.entry_points:
            about[f"{self.info}/entry_points.txt"] = self.entry_points.encode()
        return self.files | about

    def record(self) -> str:
        """Return RECORD."""
        rows = []
        for path, data in self.contents().items():
            if path not in self.unrecorded:
                wrong = b"!" if path in self.misrecorded else b""
                digest = hashlib.new(self.algorithm, data + wrong).digest()
                hash_ = urlsafe_b64encode(digest).decode().rstrip("=")
                quoted = f'"{path}"' if "," in path else path
                rows.append(f"{quoted},{self.algorithm}={hash_},{len(data)}\n")
        return "".join([*rows, f"{self.info}/RECORD,,\n"])

    def write(self, folder: Path) -> Package:
        """Write the wheel, and return it as a lock would name it."""
        path = folder / f"{self.name}-{self.version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", self.compression) as archive:
            members = {**self.contents(), f"{self.info}/RECORD": self.record().encode()}
            for member, data in members.items():
                info = zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0))
                mode = 0o755 if member in self.executable else 0o644
                info.external_attr = (stat.S_IFREG | mode) << 16
                info.compress_type = self.compression
                archive.writestr(info, data)
        return package_of(path, self.name, "1.0")


def package_of(path: Path, name: str, version: str) -> Package:
    """Return the wheel at ``path`` as a lock names it."""
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    wheel = Wheel(name=path.name, sha256=sha256, size=len(content))
    return Package(name=name, version=version, wheel=wheel)
