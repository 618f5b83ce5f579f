"""Which kind of place an address names, and the same place at a digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.stores import Source

LAYOUT, ARCHIVE, IMAGE = "oci", "docker-archive", "image"
"""The schemes, as transports have them."""
FILES = frozenset({LAYOUT, ARCHIVE})
"""Those that name something in the file system."""


def source_of(address: str) -> Source:
    """Open the image at ``oci:DIR``, ``docker-archive:FILE``, or in a registry at ``image:REF``.

    A reference without a scheme names an image in a registry as well.
    """
    scheme, rest = parts(address)
    if scheme == LAYOUT:
        from mxenv.stores import layout  # noqa: PLC0415 - imported late: only one of them

        return layout.open_source(rest)
    if scheme == ARCHIVE:
        from mxenv.stores import docker_archive  # noqa: PLC0415 - imported late: the same

        return docker_archive.open_source(rest)
    from mxenv.stores import registry  # noqa: PLC0415 - imported late: it brings requests

    return registry.open_source(rest)


def parts(address: str) -> tuple[str, str]:
    """Return the scheme and what follows it; a bare reference names an image in a registry."""
    scheme, colon, rest = address.partition(":")
    if not colon or scheme not in {*FILES, IMAGE}:
        return IMAGE, address
    return scheme, rest.removeprefix("//")


def pinned(address: str, digest: str) -> str:
    """Return ``address`` so that it names ``digest`` there, whatever its tag leads to by then."""
    scheme, rest = parts(address)
    if scheme not in FILES:
        return f"{scheme}:{rest.partition('@')[0]}@{digest}"
    return f"{scheme}:{path_of(address)[0]}@{digest}"


def path_of(address: str) -> tuple[Path, str]:
    """Return the folder or file that an address names, and the tag or digest in it."""
    from mxenv.stores import docker_archive, layout  # noqa: PLC0415 - imported late: as above

    scheme, rest = parts(address)
    return docker_archive.split(rest) if scheme == ARCHIVE else layout.split(rest)


def below(address: str, root: Path) -> str:
    """Return ``address`` with its path, if it has one, seen from ``root``."""
    scheme, rest = parts(address)
    return f"{scheme}:{root / rest}" if scheme in FILES else address
