"""Small locks of small wheels, and the images that are built from them."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from typing import TYPE_CHECKING

from _layouts import Entry, add_index, add_manifest, file, link, tar

from mxenv import lock as locks
from mxenv.lock import Base, Lock, Package, Provided, Target, Wheel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCRATCH = Target(
    platform="linux/amd64",
    python="3.11",
    prefix="/opt/mxenv",
    interpreter="/usr/bin/python3",
    purelib="/opt/mxenv/lib/python3.11/site-packages",
    platlib="/opt/mxenv/lib/python3.11/site-packages",
    scripts="/opt/mxenv/bin",
    data="/opt/mxenv",
)
DEBIAN = Target(
    platform="linux/amd64",
    python="3.11",
    prefix="/usr",
    interpreter="/usr/bin/python3",
    purelib="/usr/local/lib/python3.11/dist-packages",
    platlib="/usr/local/lib/python3.11/dist-packages",
    scripts="/usr/local/bin",
    data="/usr/local",
    libc="2.36",
)


def record_row(path: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{path},sha256={digest},{len(data)}\n"


def wheel(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Package:
    """Make a wheel with these modules, and a script; return how it is locked."""
    info = f"{name}-{version}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    rows = "".join(record_row(path, text.encode()) for path, text in content.items())
    path = folder / f"{name}-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in content.items():
            archive.writestr(member, text)
        archive.writestr(f"{info}/RECORD", rows + f"{info}/RECORD,,\n")
    data = path.read_bytes()
    return Package(
        name=name,
        version=version,
        wheel=Wheel(name=path.name, sha256=hashlib.sha256(data).hexdigest(), size=len(data)),
    )


def write_lock(project: Path, lock: Lock) -> Path:
    path = project / "lockfiles" / f"pylock.{lock.name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(locks.render(lock))
    return path


def packages(project: Path) -> tuple[Package, ...]:
    """Make the wheels of two packages in the wheelhouse of a project."""
    house = project / "lockfiles" / "wheelhouse"
    return (
        wheel(house, "alpha", "1.0", {"alpha/__init__.py": "A = 1\n", "alpha/big.py": "x = 0\n"}),
        wheel(house, "beta", "2.0+metax3.5.3", {"beta.py": "B = 2\n"}),
    )


def scratch_lock(project: Path) -> Lock:
    """A lock on nothing."""
    return Lock(
        name="small",
        inputs=f"sha256:{'0' * 64}",
        accelerator="none",
        base=Base(reference="scratch"),
        target=SCRATCH,
        packages=packages(project),
    )


def dist_info(site: str, name: str, version: str) -> list[Entry]:
    """What an installed distribution leaves for mxenv to find."""
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    return [file(f"{site}/{name}-{version}.dist-info/METADATA", metadata)]


def base(layout: Path) -> str:
    """Make a base that looks like Debian with a Python and one distribution; return its digest."""
    entries = [
        file("usr/bin/python3.11", "ELF", mode=0o755),
        link("usr/bin/python3", "python3.11"),
        link("bin", "usr/bin"),
        link("etc/os-release", "../usr/lib/os-release"),
        file("usr/lib/os-release", 'ID=debian\nVERSION_ID="12"\n'),
        file("usr/lib/python3.11/os.py", ""),
        *dist_info("usr/lib/python3/dist-packages", "gamma", "0.3"),
    ]
    entry = add_manifest(layout, [tar(entries)], config={"Env": ["PATH=/usr/bin"]})
    add_index(layout, [entry])
    return str(entry["digest"])


def debian_lock(project: Path, *host: str) -> Lock:
    """A lock on that base."""
    digest = base(project / "base")
    return Lock(
        name="small",
        inputs=f"sha256:{'0' * 64}",
        accelerator="none",
        base=Base(reference="oci:base", digest=digest),
        target=DEBIAN,
        packages=packages(project),
        provided=(Provided(name="gamma", version="0.3"),),
        host=host,
    )
