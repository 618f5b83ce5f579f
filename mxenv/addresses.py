"""What nodes are called: in a list of them, and in the names of the files that are kept of each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.errors import InvalidFile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9_+.-]*):(?://)?(.*)", re.DOTALL)
"""``scheme:rest`` or ``scheme://rest``."""
HOST = re.compile(r"(?:(?!-)[\w.-]+@)?(?!-)[\w.-]+(?::[0-9]{1,5})?", re.ASCII)
"""A host name, with a user and a port or without; ``-`` begins an option in disguise."""
IPV6 = re.compile(
    r"((?:(?!-)[\w.-]+@)?)([0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:%\w+)?)", re.ASCII
)
IN_BRACKETS = re.compile(r"(?:(?!-)[\w.-]+@)?\[[0-9A-Fa-f:.%\w]+\](?::[0-9]{1,5})?", re.ASCII)
REMOTE = "ssh"
"""How a host is reached that is only named."""
COMMENT = re.compile(r"(?:^|\s)#.*")
UNSAFE = re.compile(r"[^A-Za-z0-9._@+-]+")
LONGEST = 100
"""Bytes in a name; file systems take 255, and endings are to follow."""


def parts(address: str) -> tuple[str, str]:
    """Return the scheme of ``address`` and the rest; without a colon there is only a scheme."""
    match = ADDRESS.fullmatch(address)
    return (match[1], match[2]) if match else (address, "")


def listed(text: str, *, context: str, schemes: Collection[str]) -> tuple[str, ...]:
    """Return the addresses in a list of nodes, one a line, each once.

    A line is an address or the name of a host, which is reached over ssh; ``#`` begins a comment.
    """
    found: dict[str, None] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        entry = COMMENT.sub("", line).strip()
        if entry:
            found[_address(entry, f"{context}:{number}", schemes)] = None
    if not found:
        hint = "write one address or host name a line"
        raise InvalidFile("names no node", context=context, hint=hint)
    return tuple(found)


def _address(entry: str, place: str, schemes: Collection[str]) -> str:
    scheme, rest = parts(entry)
    if scheme in schemes and scheme != entry:
        return f"{scheme}:{rest}"
    if HOST.fullmatch(entry) or IN_BRACKETS.fullmatch(entry):
        return f"{REMOTE}:{entry}"
    if match := IPV6.fullmatch(entry):
        return f"{REMOTE}:{match[1]}[{match[2]}]"
    known = ", ".join(f"{name}:" for name in sorted(schemes))
    raise InvalidFile(
        f"{entry!r} is neither an address nor the name of a host",
        context=place,
        hint=f"an address begins with one of {known}",
    )


def once(addresses: Iterable[str]) -> tuple[str, ...]:
    """Return each address once, in its order, whichever way it is written."""
    found: dict[str, None] = {}
    for address in addresses:
        match = ADDRESS.fullmatch(address)
        found[f"{match[1]}:{match[2]}" if match else address] = None
    return tuple(found)


def file_names(addresses: Iterable[str]) -> Mapping[str, str]:
    """Return a name for the file of each address: safe, short, and no two that are alike.

    Names are alike if only upper and lower case tell them apart, since some disks cannot.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for address in once(addresses):
        scheme, rest = parts(address)
        last = rest.rstrip("/").rpartition("/")[2] if scheme != REMOTE else rest
        wishes = [_safe(last) or _safe(scheme) or "node", _safe(f"{scheme}-{_safe(rest)}")]
        name = next((wish for wish in wishes if wish and wish.lower() not in taken), "")
        number = 2
        while not name or name.lower() in taken:
            name = f"{wishes[0]}-{number}"
            number += 1
        taken.add(name.lower())
        names[address] = name
    return names


def _safe(text: str) -> str:
    # A name that begins with a point is hidden, with a dash an option.
    return UNSAFE.sub("-", text)[-LONGEST:].strip(".-")
