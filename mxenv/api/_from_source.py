"""Wheels of what has a source distribution only: built once when locking, and again elsewhere."""

from __future__ import annotations

import io
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import wheel_tags
from mxenv._hashing import sha256_of
from mxenv.elf import GLIBC, numbers, order
from mxenv.errors import Incompatible, WheelError
from mxenv.lock import Package, Source, Wheel
from mxenv.resolvers import Order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv._download import Line
    from mxenv.api.bases import Ground
    from mxenv.elf import Elf
    from mxenv.lock import Lock, Target
    from mxenv.resolvers import Indexes, Made, Resolver, Sdist

MAGIC = b"\x7fELF"


def locked(  # noqa: PLR0913 - what a wheel is built from, for what, with what
    sdist: Sdist,
    ground: Ground,
    before: Lock | None,
    *,
    house: Path,
    resolver: Resolver,
    indexes: Indexes,
    line: Line,
) -> tuple[Package, str]:
    """Return ``sdist`` as a package of the lock, its wheel in ``house``, and what to say of it.

    One that was built before for this target stays as it is.
    """
    kept = _built_before(sdist, ground.target, before)
    if kept is not None:
        return kept, ""
    _put(sdist.file, sdist.sha256, sdist.location, house, line)
    with tempfile.TemporaryDirectory(prefix="mxenv-wheel-") as room:
        made = resolver.build(
            Order(
                sdist=house / sdist.file,
                name=sdist.name,
                version=sdist.version,
                python=ground.target.python,
                indexes=indexes,
                out=Path(room),
            )
        )
        _check(made, sdist, ground)
        sha256, size = sha256_of(made.wheel), made.wheel.stat().st_size
        _put(made.wheel.name, sha256, str(made.wheel), house, line)
    package = Package(
        name=sdist.name,
        version=sdist.version,
        wheel=Wheel(name=made.wheel.name, sha256=sha256, size=size),
        source=Source(
            name=sdist.file,
            sha256=sdist.sha256,
            size=(house / sdist.file).stat().st_size,
            builder=made.builder,
            python=made.python,
            epoch=made.epoch,
            requires=made.requires,
        ),
    )
    return package, _note(package, made, ground.target)


def rebuild(
    package: Package, target: Target, house: Path, resolver: Resolver, indexes: Indexes
) -> None:
    """Build the wheel of ``package`` again from the source in ``house``, and put it there.

    Another wheel than the one that was locked is a `WheelError`.
    """
    source, wheel = package.source, package.wheel
    if source is None:
        msg = f"{package.name} was not built from source"
        raise ValueError(msg)
    with tempfile.TemporaryDirectory(prefix="mxenv-wheel-") as room:
        made = resolver.build(
            Order(
                sdist=house / source.name,
                name=package.name,
                version=package.version,
                python=target.python,
                requires=source.requires,
                epoch=source.epoch,
                indexes=indexes,
                out=Path(room),
            )
        )
        sha256 = sha256_of(made.wheel)
        if (made.wheel.name, sha256) != (wheel.name, wheel.sha256):
            raise WheelError(
                f"built here by {made.builder} with Python {made.python}, {source.name} becomes "
                f"{made.wheel.name} with sha256 {sha256}; locked is {wheel.name} with "
                f"{wheel.sha256}, built by {source.builder} with Python {source.python}",
                context=wheel.name,
                hint="take the wheel from where the lock was made (lockfiles/wheelhouse): copy it, "
                "or name a folder or an index that has it with --find-links or --index",
            )
        _put(wheel.name, wheel.sha256, str(made.wheel), house, _silent())


def _built_before(sdist: Sdist, target: Target, before: Lock | None) -> Package | None:
    if before is None:
        return None
    then = before.target
    if (then.python, then.platform, then.libc) != (target.python, target.platform, target.libc):
        return None
    return next(
        (p for p in before.packages if p.source is not None and p.source.sha256 == sdist.sha256),
        None,
    )


def _check(made: Made, sdist: Sdist, ground: Ground) -> None:
    """Refuse a wheel that does not run on the target."""
    target = ground.target
    fitting = wheel_tags.supported(ground.python, target.platform, target.libc)
    elsewhere = (
        f"build its wheel where Python {target.python} runs on {target.platform} (`pip wheel "
        f"{sdist.name}=={sdist.version}`), and add its folder with --find-links"
    )
    if wheel_tags.best([made.wheel.name], fitting) is None:
        raise Incompatible(
            f"{sdist.name} {sdist.version} has no wheel for Python {target.python} on "
            f"{target.platform}, and built here by Python {made.python} it is {made.wheel.name}",
            hint=elsewhere,
        )
    libc = target.libc or wheel_tags.SCRATCH_LIBC
    for member, needed in _libcs(made.wheel):
        if order(needed) > order(libc):
            raise Incompatible(
                f"{sdist.name} {sdist.version}, built here, needs glibc {needed} ({member}); the "
                f"image has {libc}",
                hint=elsewhere,
            )


def _libcs(wheel: Path) -> Iterator[tuple[str, str]]:
    """Yield each shared object in ``wheel``, with the newest glibc that it asks for."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            with archive.open(member) as file:
                content = file.read(len(MAGIC))
                content = content + file.read() if content == MAGIC else b""
            if content:
                needed = numbers(_read(member, content).needed_versions, GLIBC)
                yield from ((member, number) for number in needed[-1:])


def _read(member: str, content: bytes) -> Elf:
    from mxenv.transports import _elf  # noqa: PLC0415 - imported late: only who builds needs it

    try:
        return _elf.read(io.BytesIO(content))
    except (_elf.Damaged, ValueError) as fault:
        raise WheelError(f"no shared object that can be read: {fault}", context=member) from None


def _note(package: Package, made: Made, target: Target) -> str:
    what = (
        f"{package.name} {package.version} has no wheel that fits: {package.wheel.name} was built"
    )
    if made.python.rpartition(".")[0] == target.python:
        return f"{what} from source, by Python {made.python}"
    # What a setup.py asks for may depend on the Python that runs it.
    return (
        f"{what} from source by Python {made.python}, for there is no {target.python} here; see "
        "that what it needs is the same"
    )


def _put(name: str, sha256: str, location: str, house: Path, line: Line) -> None:
    from mxenv import _download  # noqa: PLC0415 - imported late: it needs requests

    house.mkdir(parents=True, exist_ok=True)
    _download.put(_download.Wanted(name=name, sha256=sha256, location=location), house, line)


def _silent() -> Line:
    import requests  # noqa: PLC0415 - imported late: the same

    from mxenv._download import Line  # noqa: PLC0415 - the same

    return Line(
        session=requests.Session(), logins={}, stop=threading.Event(), progress=lambda _: None
    )
