"""What a report was found to say, place by place, and that it says two things of one."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.facts import Unreadable
from mxenv.frozen import slotted
from mxenv.question import Completed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MISSING = Unreadable("not in the report")


def unclear(values: Iterable[str]) -> Unreadable:
    """Return the answer where a report says several things."""
    first, second, *_ = sorted(set(values))
    return Unreadable(f"the report says both {first} and {second}")


@slotted
class Values:
    """What was said of many places; each may be said again, and otherwise."""

    said: dict[str, list[str]] = field(default_factory=dict)

    def add(self, place: str, value: str) -> None:
        """Take down that ``value`` was said of ``place``."""
        known = self.said.setdefault(place, [])
        if value not in known:
            known.append(value)

    def __iter__(self) -> Iterator[tuple[str, str | Unreadable]]:
        """Yield every place with what is said of it, if that is one thing."""
        for place, values in self.said.items():
            yield place, values[0] if len(values) == 1 else unclear(values)

    def one(self, place: str) -> str | None:
        """Return what is said of ``place``, if it is one thing."""
        values = self.said.get(place, [])
        return values[0] if len(values) == 1 else None


@slotted
class Said:
    """Everything that a report was found to say."""

    files: Values = field(default_factory=Values)
    links: Values = field(default_factory=Values)
    variables: Values = field(default_factory=Values)
    words: Values = field(default_factory=Values)
    """Versions that are written beside a label, by the label."""
    directories: set[str] = field(default_factory=set)
    outputs: dict[tuple[str, ...], list[Completed]] = field(default_factory=dict)
    """What a command printed, each time that it was run."""
    hosts: set[str] = field(default_factory=set)
    """The machines that prompts name."""
    typed: dict[str, set[str]] = field(default_factory=dict)
    """Which programs were run there, by the first part of a machine's name."""
    dates: list[str] = field(default_factory=list)

    def printed(self, argv: tuple[str, ...], text: str, returncode: int = 0) -> None:
        """Take down what a command printed."""
        self.outputs.setdefault(argv, []).append(Completed(returncode, text))
