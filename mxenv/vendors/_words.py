"""What the words of a vendor's tools have in common: lines, addresses, what is no answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Observed, Reading, Unreadable
from mxenv.redaction import CONTROL, clean

if TYPE_CHECKING:
    from mxenv.question import Completed

_EXCERPT = 160
_BDF = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.ASCII)


def excerpt(text: str) -> str:
    """Return the beginning of ``text`` on one line, fit to be shown."""
    line = " ".join("".join(c if c.isprintable() else " " for c in clean(text)).split())
    if not line:
        return "(nothing)"
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"


def address(text: str) -> str | None:
    """Return a PCI address in its full, lower-case form, or `None` if ``text`` is none."""
    found = _BDF.fullmatch(text.strip().lower())
    if found is None:
        return None
    domain = (found[1] or "0000").lstrip("0").rjust(4, "0")
    return f"{domain}:{found[2]}"


def plain(text: str) -> str:
    """Return ``text`` as it reads on paper: line ends of one kind, no terminal's sequences."""
    return CONTROL.sub("", text.replace("\r\n", "\n"))


def ended(text: str) -> str | Unreadable:
    """Return the one line that a file of the kernel holds, without its end.

    Half of it is no answer, nor are several: the kernel writes one, and ends it.
    """
    told = plain(text)
    line = told[:-1].strip()
    if not told.endswith("\n") or "\n" in line:
        return Unreadable(f"not one whole line: {excerpt(text)}")
    return line


def matched(text: str, pattern: str | re.Pattern[str], what: str) -> Reading:
    """Return ``text`` if all of it is ``what``; anything else is no answer."""
    text = text.strip()
    if re.fullmatch(pattern, text):
        return Observed(text)
    return Unreadable(f"not {what}: {excerpt(text)}")


def failure(done: Completed) -> Unreadable | None:
    """Return why a command that ran said nothing; `None` if it ended as it should."""
    if done.timed_out:
        return Unreadable("it did not end within its time limit", passing=True)
    if done.returncode:
        said = excerpt(f"{done.stdout}\n{done.stderr}")
        return Unreadable(f"it exited with {done.returncode}: {said}")
    return None


def found_in(
    done: Completed | Unreadable, pattern: str | re.Pattern[str], missing: Reading
) -> Reading:
    """Return the first group of ``pattern`` in what a command printed; ``missing`` without it."""
    if isinstance(done, Unreadable):
        return done
    if done.missing:
        return missing
    failed = failure(done)
    if failed is not None:
        return failed
    found = re.search(pattern, plain(done.stdout))
    if found is None:
        return Unreadable(f"its output is not understood: {excerpt(done.stdout)}")
    return Observed(found[1])


def best(*readings: Reading) -> Reading:
    """Return what was read, else what could not be read, else that it is absent."""
    for kind in (Observed, Unreadable):
        for reading in readings:
            if isinstance(reading, kind):
                return reading
    return Absent()
