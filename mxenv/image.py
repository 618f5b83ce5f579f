"""What a team wants in one image: the content of ``images/<name>/image.toml``."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.verdict import Waiver

SCHEMA = "mxenv.image/1"


@frozen
class AddedFile:
    """A file of the project that goes into the image as it is."""

    source: str
    """Relative to the folder of ``image.toml``; it may not leave that folder."""
    target: str
    """Absolute, inside the image."""
    mode: int = 0o644


@frozen
class Image:
    """One image, as people describe it: what they want, not which bytes that is."""

    name: str
    """Also the ``<name>`` of ``lockfiles/pylock.<name>.toml``; no dot in it (PEP 751)."""
    base: str
    """``scratch``, an image reference (``host/repository:tag`` or ``@sha256:…``), ``oci:DIR``,
    ``docker-archive:FILE``."""
    accelerator: str = "metax"
    """The vendor the image is for; ``none`` if it holds nothing for an accelerator."""
    platform: str = "linux/amd64"
    python: str = ""
    """``3.11``; empty: that of the base's environment. Required on ``scratch``."""
    environment: str = ""
    """The prefix of the base's Python environment to install into; empty: the one in use."""
    requires: tuple[str, ...] = ()
    """Python requirements (PEP 508)."""
    bytecode: bool = False
    """Compile their modules, so that containers need not when they start."""
    system: tuple[str, ...] = ()
    """System packages, by the base's package manager; only an engine that can RUN takes them."""
    run: tuple[str, ...] = ()
    """Scripts for ``/bin/sh``, run after those, each with the added files there, no wheel yet."""
    variables: tuple[tuple[str, str], ...] = ()
    files: tuple[AddedFile, ...] = ()
    models: tuple[str, ...] = ()
    """Inventories: what each model asks for that the image serves."""
    operators: str = ""
    """The snapshot of a container of the image whose torch was asked what it has."""
    host: tuple[str, ...] = ()
    """Constraints (see `mxenv.constraint`) that a node must meet before the image may start."""
    waivers: tuple[Waiver, ...] = ()


SCRATCH = "scratch"
LAYOUT, ARCHIVE = "oci:", "docker-archive:"
"""What a base begins with that lies in an OCI image layout, or in what ``docker save`` wrote."""
IN_FILES = (LAYOUT, ARCHIVE)


def parse(text: str, *, context: str) -> Image:
    """Return the image that ``text`` describes; `ImageError` names ``context`` and the place."""
    from mxenv import image_reader  # noqa: PLC0415 - it knows this module, not the reverse

    return image_reader.parse(text, context=context)


def digest(image: Image, file_hashes: Mapping[str, str]) -> str:
    """Return ``sha256:…`` of what ``image`` asks for, with the SHA-256 of each file by source.

    Only what is said counts: a field that a later mxenv adds changes no digest until it is used.
    """
    parts: dict[str, object] = {
        "schema": SCHEMA,
        "name": image.name,
        "base": image.base,
        "accelerator": image.accelerator,
        "platform": image.platform,
        "python": image.python,
        "environment": image.environment,
        "requires": image.requires,
        "bytecode": image.bytecode,
        "system": image.system,
        "run": image.run,
        "variables": image.variables,
        "files": [[f.target, file_hashes[f.source], f.mode] for f in image.files],
        "models": image.models,
        "operators": image.operators,
        "host": image.host,
        "waivers": [
            [w.code, w.subject, w.reason, w.owner, w.expires.isoformat()] for w in image.waivers
        ],
    }
    said = {name: value for name, value in parts.items() if value}
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def pinned(base: str) -> str:
    """Return the digest that the reference ``base`` itself names, or nothing."""
    _, _, found = base.rpartition("@")
    return found if found.startswith("sha256:") else ""
