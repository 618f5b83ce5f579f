"""One Python environment, put together from what was found below its prefix."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mxenv.facts import Reading, Unreadable
    from mxenv.probes._distributions import Distribution

INTERPRETER = re.compile(r"(?P<prefix>/.+?)/bin/python3(?:\.(?P<minor>\d+))?")


@dataclass(slots=True)
class Environment:
    """What was found below one prefix."""

    prefix: str
    interpreters: dict[str, str] = field(default_factory=dict)
    """By path, where each leads."""
    versions: list[tuple[Reading, str]] = field(default_factory=list)
    """With their sources."""
    distributions: list[Distribution] = field(default_factory=list)
    closed: list[tuple[str, str, Unreadable]] = field(default_factory=list)
    """Directories of it that could not be looked into: the key that lacks them, path, reason."""

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
        found = {d.series for d in self.distributions if d.series != "3"}
        return found.pop() if len(found) == 1 else ""

    def visible(self) -> list[Distribution]:
        """Return the distributions that its Python sees: those of other series are not its own."""
        series = self.series
        return [d for d in self.distributions if not series or d.series in {series, "3"}]
