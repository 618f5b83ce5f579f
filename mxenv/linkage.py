"""Whether shared objects can be loaded where they are: what the verdict says of them.

What could not be read is no finding: this is evidence beside the versions of named components,
and many ways to a node cannot give it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.elf import NUMBER, order
from mxenv.environment import environments
from mxenv.facts import Observed, View, observed
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.facts import Fact, Snapshot

LIBC, LIBSTDCXX = "libc.so.6", "libstdc++.so.6"
FLOORS = (("elf.glibc", LIBC, "glibc"), ("elf.glibcxx", LIBSTDCXX, "libstdc++ (GLIBCXX)"))
"""What is needed, the library that provides it, what people call it."""
HOST = re.compile(r"lib(?:cuda|nvidia-[a-z-]+|nvcuvid|mxsml|mxcd|mxkwd?)\.so(?:\.\d+)*")
"""A library of the driver: the host brings it, an image does not have it."""
CORE = re.compile(r".*/torch/(?:_C\.[^/]*|lib/lib(?:c10|torch|shm)[a-z0-9_]*)\.so")
"""Of torch what is always loaded; other libraries of its folder are for what few people use."""
_MANY = 3


def findings(snapshot: Snapshot, env: str | None) -> Iterator[Finding]:
    """Yield what is wrong with the objects of ``env``, and with those of vendors."""
    yield from _foreign(snapshot, env)
    yield from _too_old(snapshot, env)
    sites = _sites(snapshot, env)
    for fact, value in observed(snapshot.of("elf.undefined")):
        if isinstance(value, tuple) and fact.instance.startswith(sites):
            yield _undefined(fact, tuple(map(str, value)))
    for fact, value in observed(snapshot.of("elf.missing")):
        if isinstance(value, tuple) and fact.instance.startswith(sites):
            yield from _missing(snapshot, fact, tuple(map(str, value)))


def _sites(snapshot: Snapshot, env: str | None) -> tuple[str, ...]:
    value = snapshot.reading("python.site", env or "")
    if env is None or not isinstance(value, Observed) or not isinstance(value.value, tuple):
        return ()
    return tuple(f"{site}/" for site in value.value)


def _counts(snapshot: Snapshot, owner: str, env: str | None) -> bool:
    """Tell whether an owner is a vendor's folder, or a distribution of ``env``."""
    prefix = owner.rpartition("/")[0]
    return prefix == env or prefix not in environments(snapshot)


def _foreign(snapshot: Snapshot, env: str | None) -> Iterator[Finding]:
    own = snapshot.reading("elf.machine", LIBC)
    if not isinstance(own, Observed):
        return
    for fact, value in observed(snapshot.of("elf.machine")):
        machines = str(value).split(", ")
        if own.value not in machines and _counts(snapshot, fact.instance, env):
            yield Finding(
                code="MX121",
                outcome=Outcome.INCOMPATIBLE,
                subject=fact.instance,
                found=f"its shared objects are for {value} ({fact.source})",
                expected=f"{own.value}, as the C library here",
                remedy="install the build for this machine",
            )


def _too_old(snapshot: Snapshot, env: str | None) -> Iterator[Finding]:
    for key, library, name in FLOORS:
        provided = _provided(snapshot, library, env)
        if not provided:
            continue
        for fact, value in observed(snapshot.of(key)):
            needed = str(value)
            if not NUMBER.fullmatch(needed) or not _counts(snapshot, fact.instance, env):
                continue
            if order(needed) > order(provided):
                yield Finding(
                    code="MX122",
                    outcome=Outcome.INCOMPATIBLE,
                    subject=fact.instance,
                    found=f"{fact.source} needs {name} {needed}, and {provided} is here",
                    expected=f"{name} {needed} or newer",
                    remedy="take a base image with a newer system, or a build for an older one",
                )


def _provided(snapshot: Snapshot, library: str, env: str | None) -> str:
    """Return the newest version that any ``library`` defines that could be the one loaded."""
    values = {fact.instance: str(value) for fact, value in observed(snapshot.of("elf.provides"))}
    own = (library, f"{env}/lib/{library}")
    numbers = [values[at] for at in own if NUMBER.fullmatch(values.get(at, ""))]
    return max(numbers, key=order, default="")


def _undefined(fact: Fact, symbols: tuple[str, ...]) -> Finding:
    more = f" and {len(symbols) - _MANY} more" if len(symbols) > _MANY else ""
    return Finding(
        code="MX123",
        outcome=Outcome.INCOMPATIBLE,
        subject=fact.instance,
        found=f"it needs {', '.join(symbols[:_MANY])}{more}, which nothing here defines",
        expected="an extension that was built against the framework beside it",
        remedy="install the build of this distribution for the framework that is there",
    )


def _missing(snapshot: Snapshot, fact: Fact, names: tuple[str, ...]) -> Iterator[Finding]:
    if "/torch/" in fact.instance and not CORE.fullmatch(fact.instance):
        return
    if snapshot.view is View.IMAGE:
        names = tuple(name for name in names if not HOST.fullmatch(name))
    if names:
        yield Finding(
            code="MX124",
            outcome=Outcome.UNKNOWN,
            subject=fact.instance,
            found=f"it needs {', '.join(names)}, found in no directory that is searched",
            expected="libraries that a dynamic linker finds",
            remedy="install what brings them, or name their directory in LD_LIBRARY_PATH",
        )
