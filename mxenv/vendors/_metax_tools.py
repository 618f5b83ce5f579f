"""Which tools for tracing, profiling and diagnosis are there, and in which version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Command, Completed, Found, Glob, Question
from mxenv.vendors._metax_brand import BRANDS, METAX, Brand, there
from mxenv.vendors._mxsmi import version
from mxenv.vendors._words import excerpt, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS = 5.0
"""They only print their version; one of them is a Python program."""

TOOLS: dict[str, Command] = {
    "mcTracer": Command(("mcTracer", "--help"), seconds=_SECONDS),
    "mcProfiler": Command(("mcProfiler", "version"), seconds=_SECONDS),
    "mx-diagease": Command(("mx-diagease", "--version"), seconds=_SECONDS),
    "mx-report": Command(("mx-report", "--version"), seconds=_SECONDS),
    "mxvs": Command(("mxvs", "--version"), seconds=_SECONDS),
}
"""``mcTracer --version`` tells no version, and ``mcProfiler --version`` is an error."""
SILENT = ("macainfo", "mx-cci", "mx-exporter", "mcclras")
"""Tools that tell no version of their own."""
PRESENT = "present"

# Texts, not compiled: few nodes need them.
_TRACER = r"\*{3,} Version:\s*\n[^\n]*\*{3,}\s+(\d+(?:\.\d+){2,3}(?:-[0-9a-f]+)?)\s*\n"
_NAMED = r"(?m)^{}\s+version:\s*(\S+)\s*\n"
_ANY = r"(?a)(?<![\w.])v?(\d+(?:\.\d+){1,3}(?:[-+][0-9A-Za-z.]+)?)\s"
_MISUSED = r"(?m)^usage: |error: "


def folders(brand: Brand) -> tuple[Glob, ...]:
    """Return the questions for all tools of the SDK and of the driver."""
    return (Glob(f"{brand.sdk}/bin/*"), Glob(f"{brand.driver}/bin/*"))


def more(answers: Answers) -> Iterator[Question]:
    """Yield what to ask where an SDK, or a tool that answers, was seen."""
    for brand in BRANDS:
        if there(answers, brand):
            yield from folders(brand)
            yield from TOOLS.values()


def facts(answers: Answers) -> Iterator[Fact]:
    """Yield the version of each tool, or that it is there, or that it is not."""
    key = "metax.tool"
    asked = [glob for brand in BRANDS for glob in folders(brand) if glob in answers.given]
    if not asked:
        yield Fact(key=key, reading=_unasked(answers), source=folders(METAX)[0].pattern)
        return
    lying = _names(answers, asked)
    none: Reading = Absent()
    if folders(METAX)[0] not in asked:
        none = Unreadable("under which name another brand has it is not known")
    for name, command in TOOLS.items():
        reading = _version(name, answers[command], lying, none)
        yield Fact(key=key, instance=name, reading=reading, source=" ".join(command.argv))
    for name in SILENT:
        told: Reading = lying if isinstance(lying, Unreadable) else none
        if isinstance(lying, dict) and name in lying:
            told = Observed(PRESENT)
        yield Fact(key=key, instance=name, reading=told, source=asked[0].pattern)


def _unasked(answers: Answers) -> Reading:
    """Return what it means that no folder of tools was looked into: there is no SDK, if so."""
    for brand in BRANDS:
        home = answers[brand.home]
        done = answers[brand.table]
        if isinstance(home, Unreadable):
            return home
        if isinstance(done, Unreadable):
            return done
        if not done.missing:
            return Unreadable(f"{brand.smi} did not answer, and there is no SDK")
    return Absent()


def _names(answers: Answers, globs: list[Glob]) -> dict[str, str] | Unreadable:
    """Return the paths of the tools that lie in the folders."""
    found: dict[str, str] = {}
    for glob in globs:
        match answers[glob]:
            case Found(matches):
                found |= {path.rpartition("/")[2]: path for path, _ in matches}
            case Absent():
                pass
            case Unreadable() as unreadable:
                return unreadable
    return found


def _version(
    name: str, done: Completed | Unreadable, lying: dict[str, str] | Unreadable, none: Reading
) -> Reading:
    path = lying.get(name) if isinstance(lying, dict) else None
    missing = lying if isinstance(lying, Unreadable) else none
    if path:
        missing = Unreadable(f"{path} is there, and was not found to be run")
    if isinstance(done, Unreadable):
        return Unreadable(f"{path} is there, but {done.reason}", done.passing) if path else done
    if done.missing:
        return missing
    if done.timed_out:
        return Unreadable("it did not end within its time limit", passing=True)
    streams = [plain(stream) for stream in (done.stdout, done.stderr)]
    told = next(filter(None, (_told(name, stream) for stream in streams)), None)
    if told is None or (done.returncode and name != "mcTracer"):
        said = excerpt("\n".join(streams))
        # Help is what mcTracer was asked for, and its exit status is not documented.
        return Unreadable(f"it exited with {done.returncode}, and told no version: {said}")
    return version(told)


def _told(name: str, text: str) -> str | None:
    if name == "mcTracer":
        found = re.search(_TRACER, text)
        return found[1] if found else None
    if named := re.search(_NAMED.format(re.escape(name)), text):
        return named[1]
    if name.startswith("mx-") or re.search(_MISUSED, text):
        return None
    # How these word it is not public: a version counts if it is the only one, and not cut short.
    versions = {found[1] for found in re.finditer(_ANY, text)}
    return versions.pop() if len(versions) == 1 else None
