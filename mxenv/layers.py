"""Which layers an image is made of, where in them files lie, and whether they get along."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from typing import TYPE_CHECKING

from mxenv.errors import Incompatible
from mxenv.frozen import frozen
from mxenv.image import SCRATCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mxenv.lock import Lock, Package, Target

FORMAT = 3
"""Names every rule by which a wheel becomes bytes: of this module, of `mxenv.archive`, of
`mxenv.deflation`, and of the reading of wheels. Whoever changes one of them counts this up; old
layers are then made anew.

1: ustar with pax records, entries sorted by path, 1980-01-01, owner 0; gzip members, contents as
they lie deflated in the wheel, all else stored; no bytecode.
2: small wheels share layers always, and not only beyond the limit; bytecode, where it is asked for.
3: added files have a layer of their own; that of the lock is packed by `mxenv.deflation`.
"""

LIMIT = 120
"""The most layers that an image may have, the base's included (overlayfs takes 127 or so)."""

BUCKETS = 32
"""How many layers the small wheels are spread over, where the base leaves room for as many."""

SMALL = 64 * 1024
"""Wheels below this size share layers; to make such a layer anew costs no more than a request."""

SHARE = "/usr/share/mxenv"
"""The folder in an image that holds what mxenv says about it."""

START_GATE = f"{SHARE}/start-gate"

STANDARD = frozenset(
    f"/{name}"
    for name in """
        bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp
        usr usr/bin usr/lib usr/lib32 usr/lib64 usr/libx32 usr/sbin usr/share usr/local
        usr/local/bin usr/local/etc usr/local/games usr/local/include usr/local/lib
        usr/local/man usr/local/sbin usr/local/share usr/local/src
        var var/cache var/lib var/lock var/log var/run var/spool var/tmp
    """.split()  # noqa: SIM905 - a list of forty strings is no easier to read
)
"""Directories of the Filesystem Hierarchy Standard that a base has, with modes, and often links, of
its own (``/bin``, ``/var/run``, Debian's ``/usr/local/man``): a layer never has an entry for them.
What lies below them is put where the base's links lead, which the lock knows."""


@frozen
class Entry:
    """One regular file of a layer."""

    path: str
    """Absolute, inside the image."""
    sha256: str
    size: int
    mode: int


@frozen
class Layer:
    """A layer that is to be made: some wheels, and everything that its bytes depend on."""

    packages: tuple[Package, ...]
    """Sorted by name; more than one only where wheels share a layer."""
    key: str
    """SHA-256 over all that goes in: two layers with one key have equal bytes."""

    @property
    def title(self) -> str:
        """Return names and versions, for people and for the image's history."""
        return " ".join(f"{package.name}=={package.version}" for package in self.packages)


def plan(lock: Lock, *, base_layers: int, compiler: str = "") -> tuple[Layer, ...]:
    """Return the layers of the wheels of ``lock``, in the order in which they are stacked.

    ``compiler`` is the version of the Python that compiles their modules, if that is asked for.

    Each wheel has a layer of its own, but small ones, and the smallest where there are more than
    `LIMIT` allows: these share layers, by a hash of their names, so that one more package changes
    the layer that it comes to, and hardly ever another.
    """
    room = LIMIT - base_layers - len(above(lock))
    packages = sorted(lock.packages, key=lambda package: package.name)
    if room < min(1, len(packages)):
        raise Incompatible(
            f"the base has {base_layers} layers, and an image may have {LIMIT}",
            context=lock.name,
            hint="squash the base into fewer layers",
        )
    skipped = base_directories(lock)
    groups = sorted(_groups(packages, room), key=lambda group: group[0].name)
    return tuple(
        Layer(packages=group, key=_key(group, lock.target, skipped, compiler)) for group in groups
    )


def above(lock: Lock) -> tuple[str, ...]:
    """Return the titles of the layers that lie above those of the wheels, from the bottom up.

    One holds the added files, if there are any, and one the lock and the start gate.
    """
    files = (f"files {lock.name}",) if lock.files else ()
    return (*files, f"lock {lock.name}")


def base_directories(lock: Lock) -> frozenset[str]:
    """Return the directories that the base has: a layer leaves them as they are."""
    if lock.base.reference == SCRATCH:
        return frozenset()
    prefix, data = lock.target.prefix, lock.target.data
    return STANDARD | {prefix, data, *parents(prefix), *parents(data)}


def _groups(packages: Sequence[Package], room: int) -> Iterator[tuple[Package, ...]]:
    """Yield the packages of each layer: alone, or with others in one of the buckets."""
    buckets = max(1, min(BUCKETS, room // 2))
    shared = defaultdict(list)
    alone = []
    for package in sorted(packages, key=lambda package: (_size(package), package.name)):
        # From the smallest on: whatever is small shares, and then as few as have to.
        if _size(package) < SMALL:
            shared[_bucket(package, buckets)].append(package)
        else:
            alone.append(package)
    pushed = 0
    while len(alone) - pushed + len(shared) > room:
        shared[_bucket(alone[pushed], buckets)].append(alone[pushed])
        pushed += 1
    for group in (*([package] for package in alone[pushed:]), *shared.values()):
        yield tuple(sorted(group, key=lambda package: package.name))


def _size(package: Package) -> int:
    """Return how large a wheel is; one of unknown size is the smallest of those that are not."""
    return package.wheel.size or SMALL


def _bucket(package: Package, buckets: int) -> int:
    return int(_sha256(package.name)[:8], 16) % buckets


def _key(
    packages: Iterable[Package], target: Target, skipped: frozenset[str], compiler: str
) -> str:
    """Return the digest of everything that the bytes of a layer are a function of."""
    inputs: dict[str, object] = {
        "format": FORMAT,
        "wheels": [[package.wheel.name, package.wheel.sha256] for package in packages],
        "python": target.python,
        "interpreter": target.interpreter,
        "paths": [target.purelib, target.platlib, target.scripts, target.data],
        "skipped": sorted(skipped),
    }
    if target.links:
        inputs["links"] = target.links
    if compiler:
        inputs["bytecode"] = compiler
    return _sha256(json.dumps(inputs, sort_keys=True))


def _sha256(text: str) -> str:
    """Return the digest of ``text`` in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def parents(path: str) -> Iterator[str]:
    """Yield the directories above ``path``, the nearest first, without the root."""
    while (path := path.rpartition("/")[0].rstrip("/")) != "":
        yield path


def directories(paths: Iterable[str], *, skipped: frozenset[str]) -> tuple[str, ...]:
    """Return the directories that a layer with these files has entries for, sorted."""
    found: set[str] = set()
    for path in paths:
        for parent in parents(path):
            if parent in found:
                break
            found.add(parent)
    return tuple(sorted(found - skipped))


def check_union(owners: Iterable[tuple[str, Iterable[Entry]]]) -> None:
    """Refuse two owners of one path, unless bytes and mode are equal; directories are shared.

    What the base holds is not looked at: its layers are not fetched.
    """
    files: dict[str, tuple[str, Entry]] = {}
    folders: dict[str, str] = {}
    for owner, entries in owners:
        for entry in entries:
            other = files.setdefault(entry.path, (owner, entry))
            if other[1] != entry:
                raise _two_owners(entry.path, other[0], owner)
            for parent in parents(entry.path):
                # Then those above it are known as well.
                if parent in folders:
                    break
                folders[parent] = owner
    for path in files.keys() & folders.keys():
        raise _two_owners(path, files[path][0], folders[path])


def _two_owners(path: str, one: str, other: str) -> Incompatible:
    """Say that ``path`` belongs to both."""
    return Incompatible(
        f"{one} and {other} both bring it, and not the same",
        context=path,
        hint="leave one of them out of the image description, or choose another version",
    )
