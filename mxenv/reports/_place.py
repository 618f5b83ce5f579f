"""Which file a verdict speaks of, for formats that point at files."""

from __future__ import annotations

SUFFIXES = (".toml", ".json")
"""What the files that mxenv judges end with."""


def file_of(subject: str) -> str:
    """Return the path if ``subject`` is one, else an empty string."""
    return subject if subject.endswith(SUFFIXES) and "://" not in subject else ""
