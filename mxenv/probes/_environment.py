"""One Python environment, put together from what was found below its prefix."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.facts import Absent
from mxenv.frozen import slotted
from mxenv.question import Found

if TYPE_CHECKING:
    from mxenv.facts import Reading, Unreadable
    from mxenv.question import Answer

INTERPRETER = re.compile(r"(?P<prefix>/.+?)/bin/python3(?:\.(?P<minor>\d+))?")
SYSTEM_SITE = re.compile(
    r"^[ \t]*include-system-site-packages[ \t]*=[ \t]*(\S+)[ \t\r]*$", re.MULTILINE
)
HOME = re.compile(r"^[ \t]*home[ \t]*=[ \t]*(/\S*?)/bin/?[ \t\r]*$", re.MULTILINE)


@slotted
class Environment:
    """What was found below one prefix."""

    prefix: str
    interpreters: dict[str, str] = field(default_factory=dict)
    """By path, where each leads."""
    versions: list[tuple[Reading, str]] = field(default_factory=list)
    """With their sources."""
    closed: list[tuple[str, str, Unreadable]] = field(default_factory=list)
    """Directories of it that could not be looked into: the key that lacks them, path, reason."""
    venv: Answer[str] = Absent()
    """Its pyvenv.cfg."""
    folders: set[str] = field(default_factory=set)
    """The series for which it has a directory of distributions."""

    @property
    def interpreter(self) -> str:
        """Return the path of its Python, the one that ``python3`` means if there is one."""
        return min(self.interpreters, key=lambda path: (len(path), path), default="")

    @property
    def series(self) -> str:
        """Return ``3.11``; empty if nothing tells."""
        path = self.interpreter
        for name in (path, self.interpreters.get(path, "")):
            match = INTERPRETER.fullmatch(name)
            if match and match["minor"]:
                return f"3.{match['minor']}"
        found = self.folders - {"3"}
        return next(iter(found)) if len(found) == 1 else ""

    @property
    def base(self) -> str | None:
        """Return the prefix whose distributions it sees beside its own, `None` if it sees no other.

        Empty if it sees those of another, and nothing tells which (see Python's ``site.py``).
        """
        if not isinstance(self.venv, Found):
            return None
        wanted = SYSTEM_SITE.search(self.venv.value)
        if wanted is not None and wanted[1].lower() != "true":
            return None
        home = HOME.search(self.venv.value)
        return home[1] if home else ""
