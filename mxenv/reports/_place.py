"""How formats that point at files tell a finding: in one line, at a file and a line of it."""

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


def told(finding: Finding) -> str:
    """Return a finding in one line, where its code and subject stand beside it."""
    parts = [f"found {finding.found}"]
    if finding.expected:
        parts.append(f"expected {finding.expected}")
    if finding.remedy:
        parts.append(finding.remedy)
    if waiver := finding.waiver:
        parts.append(f"waived by {waiver.owner} until {waiver.expires.isoformat()}")
    return "; ".join(parts)
