"""The stand-in for a vendor's image: the layer that makes a Debian base look like one release.

Only what a probe reads is there (``Version.txt``, links, distribution metadata), none of the code.
"""

from __future__ import annotations

import io
import tarfile
import tomllib
from pathlib import Path, PurePosixPath

RELEASE = Path(__file__).with_name("vllm-metax-0.17.0.toml")


def release() -> dict:
    """Return what the release brings."""
    return tomllib.loads(RELEASE.read_text(encoding="utf-8"))


def write_layer(path: Path, python: str) -> Path:
    """Write the layer as a tar file; ``python`` is the base's, as ``3.11``."""
    brought = release()
    prefix = brought["prefix"]
    site = f"{prefix}/lib/python{python}/site-packages"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        layer = _Layer(tar)
        layer.file(f"{brought['sdk_folder']}/Version.txt", f"Version:{brought['sdk']}\n")
        layer.file(f"{brought['sdk_folder']}/lib/libmcruntime.so", "a stand-in\n")
        layer.link("/opt/maca", brought["sdk_folder"])
        # A virtual environment where the vendor has conda: Debian's interpreter serves both.
        layer.file(f"{prefix}/pyvenv.cfg", f"home = /usr/bin\nversion = {python}\n")
        layer.link(f"{prefix}/bin/python{python}", f"/usr/bin/python{python}")
        layer.link(f"{prefix}/bin/python3", f"python{python}")
        layer.link(f"{prefix}/bin/python", "python3")
        for name, version in brought["packages"].items():
            _distribution(layer, site, name, version)
    return path


def _distribution(layer: _Layer, site: str, name: str, version: str) -> None:
    module = name.replace("-", "_")
    folder = f"{module}-{version}.dist-info"
    layer.file(
        f"{site}/{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )
    layer.file(f"{site}/{folder}/INSTALLER", "pip\n")
    layer.file(f"{site}/{module}/__init__.py", f"__version__ = {version!r}\n")
    listed = (
        f"{module}/__init__.py",
        *(f"{folder}/{part}" for part in ("METADATA", "INSTALLER", "RECORD")),
    )
    layer.file(f"{site}/{folder}/RECORD", "".join(f"{part},,\n" for part in listed))


class _Layer:
    """A tar file in which every folder stands before what lies in it."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        # Debian's own, which a layer must not change.
        self._folders = {"/", "/opt", "/usr"}

    def _parents(self, path: str) -> None:
        for folder in reversed(PurePosixPath(path).parents):
            if str(folder) not in self._folders:
                self._folders.add(str(folder))
                entry = self._entry(str(folder))
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                self._tar.addfile(entry)

    @staticmethod
    def _entry(path: str) -> tarfile.TarInfo:
        return tarfile.TarInfo(path.lstrip("/"))

    def file(self, path: str, text: str) -> None:
        self._parents(path)
        entry = self._entry(path)
        entry.size = len(text.encode())
        self._tar.addfile(entry, io.BytesIO(text.encode()))

    def link(self, path: str, target: str) -> None:
        self._parents(path)
        entry = self._entry(path)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        self._tar.addfile(entry)
