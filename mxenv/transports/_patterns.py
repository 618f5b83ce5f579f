"""What the segments of a pattern of paths match."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache, lru_cache


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
