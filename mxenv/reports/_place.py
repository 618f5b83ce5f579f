"""Which file, and which line of it, a finding speaks of, for formats that point at files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.verdict import Place

if TYPE_CHECKING:
    from mxenv.verdict import Finding, Verdict

SUFFIXES = (".toml", ".json", ".txt", ".in")
"""What the files that mxenv judges end with."""
CONTAINERFILES = ("containerfile", "dockerfile")
"""What those are called, or begin or end with, that end with nothing."""


def file_of(subject: str) -> str:
    """Return the path if ``subject`` is one, else an empty string."""
    name = subject.rpartition("/")[2].lower()
    known = name.endswith((*SUFFIXES, *CONTAINERFILES)) or name.startswith(CONTAINERFILES)
    return subject if known and "://" not in subject else ""


def place_of(verdict: Verdict, finding: Finding | None = None) -> Place | None:
    """Return where a finding, or the whole of a verdict, is shown; the first line if none is."""
    if finding is not None and finding.place is not None:
        return finding.place
    file = file_of(verdict.subject)
    return Place(file=file) if file else None


def identity(verdict: Verdict, finding: Finding) -> str:
    """Return what a finding is known by from one run to the next, wherever its line has moved."""
    known = f"{verdict.subject}:{finding.code}:{finding.subject}:{finding.row}"
    # Two lines of a file can say the same of one package, each in its own words.
    return f"{known}:{finding.found}" if finding.place is not None else known
