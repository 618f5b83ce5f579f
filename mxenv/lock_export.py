"""A lock in the words of other tools, with its hashes, and with no place on the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.lock import Lock, Package


def requirements(lock: Lock) -> str:
    """Return ``lock`` as a requirements file for ``pip install --require-hashes -r``."""
    return "".join(f"{line}\n" for line in _lines(lock))


def _lines(lock: Lock) -> Iterator[str]:
    target = lock.target
    libc = f", glibc {target.libc}" if target.libc else ""
    yield f"# The lock {lock.name}, for Python {target.python} on {target.platform}{libc}."
    if lock.provided:
        yield "# The base provides these, and they are never replaced:"
        yield from (f"#   {entry.name}=={entry.version}" for entry in lock.provided)
        # Vendor builds contradict each other there, and a resolver that looks finds no way out.
        yield "# Install with --no-deps: what is needed is here or there, whatever metadata says."
    for package in lock.packages:
        yield from _package(package, target.marker)


def _package(package: Package, marker: str) -> Iterator[str]:
    if package.source is not None:
        yield f"# No index has the next wheel: it was built from {package.source.name}."
    yield f"{package.name}=={package.version} ; {marker} \\"
    yield f"    --hash=sha256:{package.wheel.sha256}"


FORMATS = {"requirements": requirements}
"""Every format, by the name after ``--format``."""
