"""How requirements become exact wheels with uv, for a target that need not be this machine."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import wheel_tags
from mxenv.distribution import SDIST, project_of
from mxenv.errors import Incompatible, IndexFailed
from mxenv.lock import MACHINES, Package, Wheel, public_url
from mxenv.resolvers import (
    Request,
    Resolution,
    Resolver,
    Sdist,
    _build,
    _listing,
    _run,
    _stubs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from packaging.tags import Tag

    from mxenv.resolvers import Indexes, Places

LIBCS = ("2.17", "2.28", *(f"2.{number}" for number in range(31, 41)))
"""The glibc versions that ``--python-platform …-manylinux_2_N`` of uv 0.9 and later knows."""


def resolve(request: Request) -> Resolution:
    """Return the wheels to add; what is provided is constrained to itself and left out."""
    fitting = wheel_tags.supported(request.python, request.platform, request.libc)
    provided = {entry.name: entry.version for entry in request.provided}
    with tempfile.TemporaryDirectory(prefix="mxenv-lock-") as name:
        folder = Path(name)
        arguments = _prepare(folder, request, fitting)
        sources = None if request.only_binary else request.sources
        text, notes = _run.compile_pylock(folder, arguments, request.indexes, sources=sources)
        entries = tomllib.loads(text).get("packages", [])
        stubs = str(folder)
        added = [entry for entry in entries if entry["name"] not in provided]
        wheels = tuple(_package(entry, fitting) for entry in added if "wheels" in entry)
        sdists = tuple(_sdist(entry, request.indexes) for entry in added if "wheels" not in entry)
    used = tuple(sorted(entry["name"] for entry in entries if entry["name"] in provided))
    notes = tuple(note for note in notes if stubs not in note)
    return Resolution(packages=wheels, sdists=sdists, used=used, notes=notes)


def places(indexes: Indexes) -> Places:
    """Return where uv would look, its own configuration included."""
    with tempfile.TemporaryDirectory(prefix="mxenv-places-") as name:
        return _run.places(indexes, Path(name))


RESOLVER = Resolver(title="uv", resolve=resolve, places=places, build=_build.build)


def _prepare(folder: Path, request: Request, fitting: tuple[Tag, ...]) -> tuple[str, ...]:
    """Write what uv reads into ``folder``; return the arguments that say so."""
    stubs = folder / "stubs"
    stubs.mkdir()
    _stubs.write(stubs, request.provided, fitting[0])
    (folder / "requirements.in").write_text("".join(f"{text}\n" for text in request.requires))
    pins = "".join(f"{entry.name}=={entry.version}\n" for entry in request.provided)
    (folder / "provided.txt").write_text(pins)
    if request.preferred:
        # uv stays with the versions of the file that it is about to write.
        (folder / _run.OUTPUT).write_text(_listing.preferences(request.preferred))
    return (
        *("--python-version", request.python),
        *("--python-platform", _platform(request.platform, request.libc)),
        *("--constraints", str(folder / "provided.txt")),
        *(("--find-links", str(stubs)) if request.provided else ()),
        *(() if request.indexes.offline else _refreshed(request.refresh)),
    )


def _refreshed(names: tuple[str, ...]) -> tuple[str, ...]:
    if "*" in names:
        return ("--refresh",)
    return tuple(word for name in names for word in ("--refresh-package", name))


def _platform(platform: str, libc: str) -> str:
    """Return uv's name for the newest platform that wheels may be built for."""
    wanted = wheel_tags.minor(libc or wheel_tags.SCRATCH_LIBC)
    known = [libc for libc in LIBCS if wheel_tags.minor(libc) <= wanted]
    if not known:
        raise Incompatible(f"uv resolves for glibc {LIBCS[0]} and newer; the base has {libc}")
    return f"{MACHINES[platform]}-manylinux_{known[-1].replace('.', '_')}"


def _package(entry: Mapping[str, Any], fitting: tuple[Tag, ...]) -> Package:
    name = entry["name"]
    wheels = {_listing.file_name(wheel): wheel for wheel in reversed(entry["wheels"])}
    chosen = wheel_tags.best(wheels, fitting)
    if chosen is None:
        raise Incompatible(
            f"{name} {entry.get('version', '')} has no wheel for the target",
            hint="build one and add its folder with --find-links",
        )
    wheel = wheels[chosen]
    sha256 = wheel.get("hashes", {}).get("sha256", "")
    if not sha256:
        raise IndexFailed(f"no sha256 is known of {chosen}")
    return Package(
        name=name,
        version=entry["version"],
        wheel=Wheel(
            name=chosen,
            sha256=sha256,
            size=_listing.size(wheel),
            url=public_url(str(wheel.get("url", ""))),
        ),
    )


def _sdist(entry: Mapping[str, Any], indexes: Indexes) -> Sdist:
    name, source = entry["name"], entry.get("sdist", entry.get("archive", {}))
    if not source:
        raise Incompatible(f"{name} is not in a form that can be locked")
    sha256 = source.get("hashes", {}).get("sha256", "")
    file = _listing.file_name(source)
    if not sha256:
        raise IndexFailed(f"no sha256 is known of {file}")
    if project_of(file) != name or not file.endswith(SDIST):
        raise Incompatible(
            f"{name} {entry['version']} has no wheel that fits, and its source {file} is not one "
            "that can be built again elsewhere",
            hint=f"build a wheel of it (`pip wheel {name}`), and add its folder with --find-links",
        )
    location = _listing.location(source, indexes.directory)
    return Sdist(
        name=name,
        version=entry["version"],
        file=file,
        sha256=sha256,
        size=_listing.size(source),
        # Through the links to where the file lies for good.
        location=location if "://" in location else str(Path(location).resolve()),
    )
