"""What an image in a registry is called."""

from __future__ import annotations

import re
from ipaddress import ip_address

from mxenv.credential import without_login
from mxenv.errors import UsageError
from mxenv.frozen import frozen
from mxenv.stores._digests import is_digest

_HOST = re.compile(
    r"(?:localhost|\[[0-9a-fA-F:]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::[0-9]{1,5})?"
)
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_LONGEST = 255
"""How long a repository's name may be, as the reference grammar of registries has it."""

DOCKER_HUB = "docker.io"


@frozen
class Reference:
    """``host[:port]/repository[:tag][@digest]``, taken apart."""

    host: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """Return what a manifest is asked for by: the digest, or else the tag."""
        return self.digest or self.tag or "latest"

    @property
    def place(self) -> str:
        """Return the host and the repository."""
        return f"{self.host}/{self.repository}"

    def __str__(self) -> str:
        """Return the reference as it is written."""
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.place}{tag}{f'@{self.digest}' if self.digest else ''}"


def parse(text: str) -> Reference:
    """Return what ``text`` names; nothing is filled in for a registry that is not named."""
    if (masked := without_login(text)) != text:
        raise UsageError(
            f"{masked!r} holds a login",
            hint="`docker login` keeps it, and mxenv reads the same configuration",
        )
    rest, at, digest = text.partition("@")
    if at and not is_digest(digest):
        raise UsageError(
            f"{text!r} does not end in a digest", hint="write @sha256: and 64 hexadecimal digits"
        )
    host, slash, path = rest.partition("/")
    if not slash or not _is_host(host):
        raise UsageError(
            f"{text!r} names no registry",
            hint="write the host first, as in registry.example.com/team/image:tag",
        )
    repository, colon, tag = path.partition(":")
    if host == DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    if len(repository) > _LONGEST or not _REPOSITORY.fullmatch(repository):
        raise UsageError(
            f"{text!r}: {repository!r} is no repository's name",
            hint="lower-case letters, digits and single '.', '_', '-' between them",
        )
    if colon and not _TAG.fullmatch(tag):
        raise UsageError(
            f"{text!r}: {tag!r} is no tag", hint="as in registry.example.com/image:1.0"
        )
    return Reference(host=host, repository=repository, tag=tag, digest=digest)


def _is_host(text: str) -> bool:
    """Return whether this is a host: by the rule that tells ``team/image`` from ``host/image``."""
    if not _HOST.fullmatch(text) or not ("." in text or ":" in text or text == "localhost"):
        return False
    port = text.rpartition("]")[2].rpartition(":")[2] if ":" in text.rpartition("]")[2] else "1"
    return 0 < int(port) < 1 << 16


def hostname(host: str) -> str:
    """Return ``host`` without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def without_tls(host: str, insecure: str, *, certified: bool = False) -> bool:
    """Return whether ``host`` is spoken to without encryption, as a user has named some.

    So is loopback, unless it is ``certified``: who keeps certificates for it means them.
    """
    name = hostname(host)
    named = insecure.replace(",", " ").split()
    if host in named or name in named:
        return True
    if certified:
        return False
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
