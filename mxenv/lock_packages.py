"""How the packages of a lock are read: one wheel each, and what it was built from, if it was."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv import distribution
from mxenv.lock import WHEELHOUSE, Package, Source, Wheel, public_url

if TYPE_CHECKING:
    from mxenv.table import Table

NORMALISED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""A name as PEP 503 has it."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PIN = re.compile(rf"{NORMALISED.pattern}==[^\s;,]+ --hash=sha256:{_SHA256.pattern}")


def packages(root: Table) -> tuple[Package, ...]:
    """Return what ``[[packages]]`` of a lock hold; each has one wheel."""
    if "packages" not in root.values:
        root.fail("packages", "missing")
    found: dict[str, Package] = {}
    for entry in root.tables("packages"):
        entry.only("name", "version", "requires-python", "wheels", "sdist", "tool")
        name = entry.text("name")
        if not NORMALISED.fullmatch(name):
            entry.fail("name", f"{name!r} is not normalised", hint="PEP 503: lower case, with -")
        if name in found:
            entry.fail("name", f"{name!r} is locked twice")
        wheels = entry.tables("wheels")
        if len(wheels) != 1:
            entry.fail("wheels", f"{len(wheels)} wheels for {name!r}; a lock is for one target")
        version = entry.text("version")
        found[name] = Package(
            name=name,
            version=version,
            wheel=_wheel(wheels[0], name, version),
            requires_python=entry.text("requires-python", ""),
            source=_source(entry, name),
        )
    return tuple(found.values())


def _wheel(entry: Table, package: str, version: str) -> Wheel:
    from packaging.utils import (  # noqa: PLC0415 - imported late: only who reads a lock needs it
        InvalidWheelFilename,
        parse_wheel_filename,
    )
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - the same

    entry.only("name", "path", "url", "size", "hashes")
    name = entry.text("name")
    try:
        held, held_version, _, _ = parse_wheel_filename(name)
        agree = held == package and held_version == Version(version)
    except InvalidWheelFilename as fault:
        entry.fail("name", str(fault))
    except InvalidVersion:
        entry.fail("name", f"not a wheel of {package} {version!r}, which is no version")
    if not agree or "/" in name:
        entry.fail("name", f"{name!r} is not a wheel of {package} {version}")
    url = _place(entry, name)
    hashes = entry.table("hashes", required=True)
    hashes.only("sha256")
    return Wheel(name=name, sha256=sha256(hashes), size=entry.integer("size", 0), url=url)


def _place(entry: Table, name: str) -> str:
    """Return the URL of a wheel; what has none lies in the wheelhouse."""
    if "url" not in entry.values:
        if (path := entry.text("path")) != f"{WHEELHOUSE}/{name}":
            entry.fail("path", f"{path!r} is not {WHEELHOUSE}/ and the file's name")
        return ""
    url = entry.text("url")
    if public_url(url) != url:
        # What is wrong with it may be a password, and is not repeated.
        hint = "https:// or http://, without a login, a question mark or a fragment"
        entry.fail("url", "is no URL that everybody may see", hint=hint)
    if "path" in entry.values:
        entry.fail("path", "stands beside a URL: installers would never look at that")
    return url


def _source(entry: Table, package: str) -> Source | None:
    if "sdist" not in entry.values and "tool" not in entry.values:
        return None
    sdist = entry.table("sdist", required=True)
    sdist.only("name", "path", "size", "hashes")
    name = sdist.text("name")
    if distribution.project_of(name) != package or name.endswith(".whl") or "/" in name:
        sdist.fail("name", f"{name!r} is not a source distribution of {package}")
    if (path := sdist.text("path")) != f"{WHEELHOUSE}/{name}":
        sdist.fail("path", f"{path!r} is not {WHEELHOUSE}/ and the file's name")
    hashes = sdist.table("hashes", required=True)
    hashes.only("sha256")
    tool = entry.table("tool", required=True)
    tool.only("mxenv")
    mxenv = tool.table("mxenv", required=True)
    mxenv.only("build")
    build = mxenv.table("build", required=True)
    build.only("builder", "python", "epoch", "requires")
    requires = build.texts("requires")
    for index, pin in enumerate(requires):
        if not _PIN.fullmatch(pin):
            hint = "as 'hatchling==1.27.0 --hash=sha256:' and 64 hexadecimal digits"
            build.fail(f"requires[{index}]", f"{pin!r} is no exact requirement", hint=hint)
    return Source(
        name=name,
        sha256=sha256(hashes),
        size=sdist.integer("size", 0),
        builder=build.text("builder"),
        python=build.text("python"),
        epoch=build.integer("epoch"),
        requires=requires,
    )


def sha256(entry: Table, name: str = "sha256") -> str:
    """Return the digest of a file as its lock has it: without the algorithm's name."""
    value = entry.text(name)
    if not _SHA256.fullmatch(value):
        entry.fail(name, f"{value!r} is not 64 hexadecimal digits")
    return value
