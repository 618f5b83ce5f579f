"""Small projects with an image and its lock, and the gate run on them."""

from __future__ import annotations

import json
from pathlib import Path

import _metax_base
from click.testing import CliRunner, Result

from mxenv import image as images
from mxenv import lock as locks
from mxenv.cli._front import FRONT
from mxenv.lock import Base, Lock, Package, Provided, Target, Wheel

RECORDINGS = Path(__file__).parent / "recordings"
RELEASE = _metax_base.release()
OF_ANOTHER_RELEASE = "0.4.6+maca3.7.1.5.torch2.8"
IMAGE = """\
schema = "mxenv.image/1"
name = "{name}"
base = "registry.example.org/vendor/vllm@sha256:{digest}"
accelerator = "{accelerator}"

[python]
requires = ["structlog >=24"]
"""
WAIVER = """
[[waivers]]
code = "MX110"
reason = "measured on our own node"
owner = "platform@example.org"
expires = {expires}
"""


def mxenv(*arguments: str | Path) -> Result:
    return CliRunner().invoke(FRONT, [str(argument) for argument in arguments])


def codes(*arguments: str | Path) -> tuple[int, dict[str, str]]:
    """Run the gate and return its status, and the worst outcome of each code."""
    result = mxenv("--format", "json", "gate", *arguments)
    worst: dict[str, str] = {}
    for verdict in json.loads(result.stdout)["verdicts"]:
        for finding in verdict["findings"]:
            said = "waived" if finding["waiver"] else finding["outcome"]
            worst[finding["code"]] = min(
                worst.get(finding["code"], "~"),
                said,
                key=("incompatible", "unknown", "waived", "compatible", "~").index,
            )
    return result.exit_code, worst


def project(  # noqa: PLR0913 - what one project differs in from another
    root: Path,
    *,
    name: str = "llm",
    accelerator: str = "metax",
    added: tuple[tuple[str, str], ...] = (("structlog", "24.4.0"),),
    replaced: dict[str, str] | None = None,
    extra: str = "",
    facts: tuple[tuple[str, str], ...] = (("metax.sdk", RELEASE["sdk"]),),
) -> Path:
    """Write an image description and a lock that was made from it; return the lock's path."""
    text = IMAGE.format(name=name, accelerator=accelerator, digest="ab" * 32) + extra
    folder = root / "images" / name
    folder.mkdir(parents=True)
    (folder / "image.toml").write_text(text, encoding="utf-8")
    image = images.parse(text, context="image.toml")
    brought = {**RELEASE["packages"], **(replaced or {})}
    lock = Lock(
        name=name,
        inputs=images.digest(image, {}),
        accelerator=accelerator,
        base=Base(reference=image.base, digest="sha256:" + "ab" * 32),
        target=Target(
            platform="linux/amd64",
            python="3.10",
            prefix="/opt/conda",
            interpreter="/opt/conda/bin/python3",
            purelib="/opt/conda/lib/python3.10/site-packages",
            platlib="/opt/conda/lib/python3.10/site-packages",
            scripts="/opt/conda/bin",
            data="/opt/conda",
        ),
        requires=image.requires,
        packages=tuple(
            Package(
                name=package,
                version=version,
                wheel=Wheel(name=f"{package}-{version}-py3-none-any.whl", sha256="cd" * 32, size=1),
            )
            for package, version in added
        ),
        provided=tuple(
            Provided(name=package.lower().replace("_", "-"), version=version)
            for package, version in brought.items()
        ),
        facts=facts,
        host=image.host,
        waivers=image.waivers,
    )
    path = root / "lockfiles" / f"pylock.{name}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(locks.render(lock), encoding="utf-8")
    return path
