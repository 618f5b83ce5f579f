"""Which wheels fit a target: its compatibility tags, the best one first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.errors import Incompatible
from mxenv.lock import MACHINES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packaging.tags import Tag

SCRATCH_LIBC = "2.28"
"""What wheels may ask for where no base says it: most are built for manylinux_2_28."""
OLDEST = {"x86_64": (2, 5), "aarch64": (2, 17)}
"""The first glibc of each machine that a manylinux tag exists for (PEP 600)."""
LEGACY = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}
"""The older names of three manylinux tags (PEP 600)."""


def minor(version: str) -> tuple[int, int]:
    """Return the first two numbers of ``3.10.12``, ``2.35``."""
    major, _, rest = version.partition(".")
    return int(major), int(rest.partition(".")[0] or 0)


def supported(python: str, platform: str, libc: str) -> tuple[Tag, ...]:
    """Return every tag that CPython ``python`` takes on ``platform`` with glibc ``libc``."""
    from packaging import tags  # noqa: PLC0415 - imported late: only a resolution needs it

    version, platforms = minor(python), tuple(_platforms(MACHINES[platform], libc))
    interpreter = f"cp{version[0]}{version[1]}"
    return (
        *tags.cpython_tags(version, abis=[interpreter], platforms=platforms),
        *tags.compatible_tags(version, interpreter, platforms),
    )


def best(names: Iterable[str], fitting: tuple[Tag, ...]) -> str | None:
    """Return the name of the wheel that fits best; equal ones are told apart by name."""
    from packaging.utils import parse_wheel_filename  # noqa: PLC0415 - the same

    rank = {tag: index for index, tag in reversed(list(enumerate(fitting)))}
    ranked = []
    for name in names:
        _, _, build, tags = parse_wheel_filename(name)
        places = [rank[tag] for tag in tags if tag in rank]
        if places:
            # A higher build number is the later build of the same version (PEP 427).
            ranked.append((min(places), (-build[0], build[1]) if build else (0, ""), name))
    return min(ranked)[-1] if ranked else None


def _platforms(machine: str, libc: str) -> Iterator[str]:
    major, newest = minor(libc or SCRATCH_LIBC)
    oldest = OLDEST[machine]
    if (major, newest) < oldest:
        raise Incompatible(f"no wheel is built for glibc {libc} on {machine}")
    for number in range(newest, oldest[1] - 1, -1):
        yield f"manylinux_{major}_{number}_{machine}"
        if (older := LEGACY.get((major, number))) is not None:
            yield f"{older}_{machine}"
    yield f"linux_{machine}"
