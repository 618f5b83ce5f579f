"""The GNU C library, which decides what wheels can be loaded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable
from mxenv.probe import Probe
from mxenv.probes._reading import understood
from mxenv.question import NOT_FOUND, Command, File, Found, Glob, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

LDD = File("/usr/bin/ldd", limit=1 << 16)
"""A shell script with its version in it: the one place where every distribution writes it down."""
LINKS = tuple(
    Glob(pattern, Part.LINK)
    for pattern in ("/lib/*-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6", "/lib64/libc.so.6")
)
"""Before 2.34 the library's own file had the version in its name."""
GETCONF = Command(("getconf", "GNU_LIBC_VERSION"))
MUSL = Glob("/lib/ld-musl-*.so.1")

KEYS = (
    FactKey(
        name="libc.version",
        meaning="version of the GNU C library; absent with another",
        sources=f"{LDD.path}, where libc.so.6 leads to, {' '.join(GETCONF.argv)}",
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read the version where it is written, and let the library itself say it."""
    script = understood(answers[LDD], _from_script, "version of the GNU C library")
    if isinstance(script, Absent) and not isinstance(answers[MUSL], Found):
        # Small images leave the script out, and have the library all the same.
        script = Unreadable("no ldd script here")
    yield _fact(script, LDD.path)
    for question in LINKS:
        for path, name in _names(answers, question):
            yield _fact(name, path)
    said = _said(answers)
    if said is not None:
        yield _fact(said, " ".join(GETCONF.argv))


def _fact(reading: Reading, source: str) -> Fact:
    return Fact(key="libc.version", reading=reading, source=source)


def _from_script(text: str) -> str | None:
    match = re.search(r"^\s*echo ['\"]ldd \([^)]*\) (\d+\.\d+)(?![\d.]|$)", text, re.MULTILINE)
    # Red Hat's and SUSE's scripts print it with a printf of their own.
    match = match or re.search(r"\bldd \([^)\n]*\)['\"]? (\d+\.\d+)(?![\d.]|$)", text)
    return match[1] if match else None


def _names(answers: Answers, question: Glob) -> Iterator[tuple[str, Reading]]:
    answer = answers[question]
    for path, leads in answer.value if isinstance(answer, Found) else ():
        match = (
            re.search(r"/libc-(\d+\.\d+)\.so$", leads.value) if isinstance(leads, Found) else None
        )
        if match:
            yield path, Observed(match[1])


def _said(answers: Answers) -> Reading | None:
    completed = answers[GETCONF]
    if isinstance(completed, Unreadable):
        return completed
    if completed.returncode == NOT_FOUND:
        return None  # says nothing about the library
    if completed.timed_out:
        return Unreadable("getconf did not end in time", passing=True)
    match = re.fullmatch(r"glibc (\d+\.\d+)[ \t\r]*\n", completed.stdout)
    return Observed(match[1]) if match else Unreadable(f"getconf said {completed.stdout[:40]!r}")


PROBE = Probe(keys=KEYS, questions=(LDD, *LINKS, GETCONF, MUSL), read=read)
