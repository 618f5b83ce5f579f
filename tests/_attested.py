"""A lock with some of everything, and the keys that tests sign with."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from _locked import DEBIAN

from mxenv.image import AddedFile
from mxenv.lock import Base, Lock, Package, Provided, Wheel

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64
BASE = "sha256:" + "b" * 64
LOCK_DIGEST = "sha256:" + "d" * 64


def wheel(name: str, version: str, sha256: str) -> Package:
    file = f"{name}-{version}-py3-none-any.whl"
    return Package(name=name, version=version, wheel=Wheel(name=file, sha256=sha256 * 64))


WHOLE = Lock(
    name="demo",
    inputs="sha256:" + "0" * 64,
    accelerator="metax",
    base=Base(reference="registry.example.com:5000/Team/vllm:0.17", digest=BASE),
    target=DEBIAN,
    packages=(wheel("alpha", "1.0", "a"), wheel("beta", "2.0+metax3.5", "c")),
    provided=(Provided(name="torch", version="2.8.0+metax3.5.3.9"),),
    facts=(("metax.sdk", "3.5.3.20"), ("python.version", "3.11.2")),
    files=((AddedFile(source="run.sh", target="/opt/run.sh"), "e" * 64),),
    system=("jq",),
)
SCRATCH = Lock(
    name="demo",
    inputs="sha256:" + "0" * 64,
    accelerator="none",
    base=Base(reference="scratch"),
    target=DEBIAN,
    packages=(),
)


def key_pair(folder: Path, name: str) -> tuple[Path, Path]:
    """Make an Ed25519 key with OpenSSL; return the private and the public file."""
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    make = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", private]
    subprocess.run(make, check=True, capture_output=True)
    show = ["openssl", "pkey", "-in", private, "-pubout", "-out", public]
    subprocess.run(show, check=True, capture_output=True)
    return private, public
