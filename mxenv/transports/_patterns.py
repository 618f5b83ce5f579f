"""What the segments of a pattern of paths match."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def wild(segment: str) -> bool:
    """Return whether ``segment`` stands for several names."""
    return "*" in segment or "?" in segment or "[" in segment


@lru_cache(maxsize=4096)
def split(pattern: str) -> tuple[str, tuple[str, ...]]:
    """Return the directory before the first segment with a wildcard, and the segments after it."""
    segments = [segment for segment in pattern.split("/") if segment]
    fixed = next((n for n, segment in enumerate(segments) if wild(segment)), len(segments) - 1)
    return "".join(f"/{segment}" for segment in segments[:fixed]), tuple(segments[fixed:])


@cache
def pattern_of(segment: str) -> re.Pattern[str]:
    """Return what a name has to match that a segment with wildcards means."""
    return re.compile(translate(segment))


def matching(names: Iterable[str], segment: str) -> list[str]:
    """Return the names that a segment with wildcards means, as in sh(1)."""
    hidden = segment[0] == "."
    if segment[0] == "*" and not wild(segment[1:]):
        end = segment[1:]
        return [name for name in names if name.endswith(end) and name[0] != "."]
    matches = pattern_of(segment).match
    return [name for name in names if matches(name) and (hidden or name[0] != ".")]
