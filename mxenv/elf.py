"""What a shared object asks of the system that loads it, and what it offers to others."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GLIBC = "GLIBC_"
GLIBCXX = "GLIBCXX_"
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+){0,3}")
"""What follows in the name of a version that is one; ``GLIBC_PRIVATE`` is none."""
NAMES = ("soname", "machine", "cxx11")
LISTS = ("needed", "rpath", "runpath", "provides")


@frozen
class Elf:
    """The part of a shared object, or of a program, that a dynamic linker reads first."""

    machine: str
    """As ``uname -m`` has it."""
    bits: int = 64
    soname: str = ""
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    """Where to look first, ``$ORIGIN`` and all; does not count beside a `runpath`."""
    runpath: tuple[str, ...] = ()
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """By library, the versions of it that must be there: ``libc.so.6``, ``GLIBC_2.34``."""
    provides: tuple[str, ...] = ()
    """The versions that it defines itself."""
    cxx11: str = ""
    """The C++ ABI that its names show, ``_GLIBCXX_USE_CXX11_ABI``: ``0``, ``1``; empty if none."""

    @property
    def needed_versions(self) -> tuple[str, ...]:
        """Return every version that must be there, whosever it is."""
        return tuple(name for _, names in self.needs for name in names)


def render(elf: Elf) -> str:
    """Return ``elf`` as text: equal values give equal texts, and what is empty is left out."""
    fields: dict[str, object] = {"bits": elf.bits}
    fields |= {name: getattr(elf, name) for name in (*NAMES, *LISTS)}
    fields["needs"] = dict(elf.needs)
    return compact({name: value for name, value in fields.items() if value})


def compact(fields: Mapping[str, object]) -> str:
    """Return a table as JSON in one line, its names sorted."""
    return json.dumps(fields, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def parse(text: str) -> Elf | None:
    """Return the value that `render` made ``text`` of, `None` if it made nothing like it."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    try:
        return _elf(fields)
    except TypeError:
        return None


def _elf(fields: object) -> Elf:
    if not isinstance(fields, dict) or fields.get("bits") not in {32, 64}:
        raise TypeError
    if not fields.get("machine"):
        raise TypeError
    needs = fields.get("needs", {})
    if not isinstance(needs, dict):
        raise TypeError
    return Elf(
        machine=_text(fields.get("machine")),
        bits=fields["bits"],
        soname=_text(fields.get("soname", "")),
        needed=_texts(fields.get("needed", [])),
        rpath=_texts(fields.get("rpath", [])),
        runpath=_texts(fields.get("runpath", [])),
        needs=tuple(sorted((library, _texts(names)) for library, names in needs.items())),
        provides=_texts(fields.get("provides", [])),
        cxx11=_text(fields.get("cxx11", "")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(map(_text, value))


def numbers(versions: Iterable[str], prefix: str) -> list[str]:
    """Return what follows ``prefix`` in those versions that are numbered, lowest first."""
    starts = (name.removeprefix(prefix) for name in versions if name.startswith(prefix))
    return sorted({number for number in starts if NUMBER.fullmatch(number)}, key=order)


def order(number: str) -> tuple[int, ...]:
    """Return ``2.34`` as something that orders as versions do."""
    return tuple(map(int, number.split(".")))


def search_path(elf: Elf, origin: str) -> tuple[str, ...]:
    """Return the directories in which it says that what it needs lies; it lies in ``origin``."""
    told = elf.runpath or elf.rpath
    placed = (re.sub(r"\$(?:ORIGIN\b|\{ORIGIN\})", lambda _: origin, at) for at in told)
    normal = (_normal(at) for at in placed if at.startswith("/") and "$" not in at)
    return tuple(dict.fromkeys(normal))


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)
