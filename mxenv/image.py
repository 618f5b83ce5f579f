"""What a team wants in one image: the content of ``images/<name>/image.toml``."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv import table
from mxenv.errors import ImageError
from mxenv.verdict import Waiver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.table import Table

SCHEMA = "mxenv.image/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedFile:
    """A file of the project that goes into the image as it is."""

    source: str
    """Relative to the folder of ``image.toml``; it may not leave that folder."""
    target: str
    """Absolute, inside the image."""
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One image, as people describe it: what they want, not which bytes that is."""

    name: str
    """Also the ``<name>`` of ``lockfiles/pylock.<name>.toml``; no dot in it (PEP 751)."""
    base: str
    """``scratch``, an image reference (``host/repository:tag`` or ``@sha256:…``), ``oci:DIR``."""
    accelerator: str = "metax"
    """The vendor the image is for; ``none`` if it holds nothing for an accelerator."""
    platform: str = "linux/amd64"
    python: str = ""
    """``3.11``; empty: that of the base's environment. Required on ``scratch``."""
    environment: str = ""
    """The prefix of the base's Python environment to install into; empty: the one in use."""
    requires: tuple[str, ...] = ()
    """Python requirements (PEP 508)."""
    system: tuple[str, ...] = ()
    """System packages, by the base's package manager; only an engine that can RUN takes them."""
    variables: tuple[tuple[str, str], ...] = ()
    files: tuple[AddedFile, ...] = ()
    models: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    """Constraints (see `mxenv.constraint`) that a node must meet before the image may start."""
    waivers: tuple[Waiver, ...] = ()


SCRATCH = "scratch"
LAYOUT = "oci:"
"""What a base begins with that lies in an OCI image layout."""
PLATFORMS = ("linux/amd64", "linux/arm64")

_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_HOST = r"(?:localhost|\[[0-9a-fA-F:]+\]|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:))"
_REFERENCE = re.compile(
    rf"{_HOST}(?::[0-9]+)?"
    r"(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)+"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@sha256:[0-9a-f]{64})?"
)
"""The grammar of the OCI distribution specification, with the registry's host always named."""
_SYSTEM = re.compile(r"[a-z0-9][a-z0-9+.-]+(?:=[A-Za-z0-9.+:~-]+)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|PASSWORD|PASSWD|SECRET|CREDENTIALS?|APIKEY|(?:API|ACCESS|PRIVATE)_KEY)(?:_|$)",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"://[^/\s@]+@")


def parse(text: str, *, context: str) -> Image:
    """Return the image that ``text`` describes; `ImageError` names ``context`` and the place."""
    root = table.document(text, context=context, error=ImageError)
    if (schema := root.text("schema")) != SCHEMA:
        root.fail("schema", f"{schema!r} is not a schema of this mxenv", hint=f"write {SCHEMA!r}")
    root.only(
        *("schema", "name", "base", "accelerator", "platform", "python", "system", "variables"),
        *("files", "models", "host", "waivers"),
    )
    python, system, host = root.table("python"), root.table("system"), root.table("host")
    python.only("version", "environment", "requires")
    system.only("packages")
    host.only("requires")
    image = Image(
        name=_name(root),
        base=_base(root),
        accelerator=root.text("accelerator", "metax"),
        platform=_platform(root),
        python=python.text("version", ""),
        environment=_environment(python),
        requires=_requires(python),
        system=_system(system),
        variables=_variables(root),
        files=_files(root),
        models=root.texts("models"),
        host=host.texts("requires"),
        waivers=tuple(waiver(entry) for entry in root.tables("waivers")),
    )
    _check_python(image, python)
    if image.base == SCRATCH and image.system:
        system.fail("packages", "nothing can be installed on 'scratch'", hint="name another base")
    return image


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
        "system": image.system,
        "variables": image.variables,
        "files": [[f.target, file_hashes[f.source], f.mode] for f in image.files],
        "models": image.models,
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


def waiver(entry: Table) -> Waiver:
    """Return the waiver of one ``[[waivers]]`` entry: a reason, an owner and an end, always."""
    entry.only("code", "subject", "reason", "owner", "expires")
    return Waiver(
        code=entry.text("code"),
        subject=entry.text("subject", ""),
        reason=entry.text("reason"),
        owner=entry.text("owner"),
        expires=entry.day("expires"),
    )


def _name(root: Table) -> str:
    name = root.text("name")
    if not _NAME.fullmatch(name):
        root.fail(
            "name",
            f"{name!r} cannot be part of a lockfile's name",
            hint="lower-case letters and digits, with - or _ between them; PEP 751 allows no dot",
        )
    return name


def _base(root: Table) -> str:
    base = root.text("base")
    if base == SCRATCH or (base.startswith(LAYOUT) and base != LAYOUT):
        return base
    if not _REFERENCE.fullmatch(base):
        root.fail(
            "base",
            f"{base!r} is no image reference",
            hint="'scratch', 'oci:DIR', or 'host/repository:tag' with the registry's host named",
        )
    return base


def _platform(root: Table) -> str:
    platform = root.text("platform", PLATFORMS[0])
    if platform not in PLATFORMS:
        root.fail("platform", f"{platform!r} is not known", hint=f"known: {', '.join(PLATFORMS)}")
    return platform


def _environment(python: Table) -> str:
    environment = python.text("environment", "")
    if environment and not is_absolute(environment):
        python.fail("environment", f"{environment!r} is not an absolute, normalised path")
    return environment


def _check_python(image: Image, python: Table) -> None:
    if image.python and not re.fullmatch(r"3\.[0-9]{1,2}", image.python):
        python.fail("version", f"{image.python!r} is no Python version", hint="as '3.11'")
    if image.base != SCRATCH:
        return
    if not image.python:
        python.fail("version", "missing", hint="'scratch' has no Python to take it from")
    if image.environment:
        python.fail("environment", "'scratch' has no environment", hint="remove this line")


def _requires(python: Table) -> tuple[str, ...]:
    from packaging.requirements import (  # noqa: PLC0415 - imported late: only a file needs it
        InvalidRequirement,
        Requirement,
    )

    texts = python.texts("requires")
    for index, text in enumerate(texts):
        place = f"requires[{index}]"
        try:
            requirement = Requirement(text)
        except InvalidRequirement as fault:
            python.fail(place, f"{text!r}: {str(fault).splitlines()[0]}")
        if requirement.url:
            python.fail(
                place,
                f"{requirement.name!r} is asked for by URL",
                hint="name a version; where it comes from is configuration (--find-links, --index)",
            )
    return tuple(text.strip() for text in texts)


def _system(system: Table) -> tuple[str, ...]:
    names = system.texts("packages")
    for index, name in enumerate(names):
        if not _SYSTEM.fullmatch(name):
            system.fail(f"packages[{index}]", f"{name!r} is no package's name")
    return names


def _variables(root: Table) -> tuple[tuple[str, str], ...]:
    variables = root.pairs("variables")
    inner = root.table("variables")
    for name, value in variables:
        if not _VARIABLE.fullmatch(name):
            inner.fail(name, "not the name of an environment variable")
        if "\0" in value or "\n" in value:
            inner.fail(name, "holds a line break or a NUL")
        if _SECRET_NAME.search(name) or _SECRET_VALUE.search(value):
            inner.fail(
                name,
                "looks like a credential, which everybody who has the image could read",
                hint="give it to the container when it starts",
            )
    return variables


def _files(root: Table) -> tuple[AddedFile, ...]:
    targets: set[str] = set()
    for entry in root.tables("files"):
        entry.only("source", "target", "mode")
        if (target := entry.text("target")) in targets:
            entry.fail("target", f"{target!r} is the target of two files")
        targets.add(target)
    return tuple(added_file(entry) for entry in root.tables("files"))


def added_file(entry: Table) -> AddedFile:
    """Return the file of one ``[[files]]`` entry; it cannot leave its folder."""
    source, target = entry.text("source"), entry.text("target")
    if not _inside(source):
        entry.fail("source", f"{source!r} leaves the folder of the image description")
    if not is_absolute(target):
        entry.fail("target", f"{target!r} is not an absolute, normalised path")
    mode = entry.integer("mode", 0o644)
    if mode > 0o777:  # noqa: PLR2004 - the permission bits
        entry.fail("mode", "more than permission bits", hint="as 0o644 or 0o755")
    return AddedFile(source=source, target=target, mode=mode)


def is_absolute(path: str) -> bool:
    """Return whether ``path`` is absolute and normalised, so that it can be compared as text."""
    return path.startswith("/") and _inside(path[1:])


def _inside(path: str) -> bool:
    plain = not any(ord(character) < ord(" ") for character in path)
    return plain and not any(part in {"", ".", ".."} for part in path.split("/"))
