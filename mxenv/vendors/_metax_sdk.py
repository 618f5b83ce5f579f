"""Which MACA SDK lies in a place, by its own files: the SDK's version, compiler and MCCL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Command, Completed, Env, File, Found, Link, Stat
from mxenv.vendors._mxsmi import excerpt, version

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = "/opt/maca"
HOME = Stat(ROOT)
REAL = Link(ROOT)
MACA_PATH = Env("MACA_PATH")
VERSION = File(f"{ROOT}/Version.txt", limit=65536)
HEADER = File(f"{ROOT}/include/mccl.h")
COMPILER = Command(("mxcc", "--version"))
COMPILER_FILE = Stat(f"{ROOT}/mxgpu_llvm/bin/mxcc")
RAS = Command(("mcclras", "--version"))

QUESTIONS = (HOME, REAL, MACA_PATH, VERSION, HEADER, COMPILER, COMPILER_FILE, RAS)

_BUILD = re.compile(r"mxcc version \S+ \(([0-9a-f]{7,40})\)", re.ASCII)
_INSTALLED = re.compile(r"^InstalledDir: (/\S+)\n", re.MULTILINE)
_RAS = re.compile(r"MCCL RAS client version (\S+)\s*\n")
_MACRO = r"^[ \t]*#[ \t]*define[ \t]+MCCL_{}[ \t]+(\d+)[ \t]*$"
_FIELDS = 3
"""A release has four fields or more, and 2.33.1 was seen; a build of a day has its date."""
_DAY = re.compile(r"\d{8}\.\d+", re.ASCII)


def more(answers: Answers) -> Iterator[File]:
    """Yield what to ask when ``MACA_PATH`` names another SDK than the usual one."""
    elsewhere = _elsewhere(answers)
    if elsewhere:
        yield elsewhere


def facts(answers: Answers) -> Iterator[Fact]:
    """Yield the versions of the SDK and of its parts."""
    home = _home(answers)
    yield Fact(key="metax.sdk", reading=_sdk(answers, VERSION, home), source=VERSION.path)
    elsewhere = _elsewhere(answers)
    if elsewhere:
        missing = Unreadable(f"MACA_PATH names a place without a {elsewhere.path}")
        reading = _sdk(answers, elsewhere, missing)
        yield Fact(key="metax.sdk", reading=reading, source=elsewhere.path)
    yield Fact(key="metax.sdk_path", reading=_path(answers, home), source=ROOT)
    yield from _compiler(answers)
    yield Fact(key="metax.mccl", reading=_header(answers), source=HEADER.path)
    yield Fact(key="metax.mccl", reading=_ras(answers), source=" ".join(RAS.argv))


def _elsewhere(answers: Answers) -> File | None:
    match answers[MACA_PATH]:
        case Found(path) if path.startswith("/") and path.rstrip("/") not in {"", ROOT}:
            return File(f"{path.rstrip('/')}/Version.txt", limit=VERSION.limit)
        case _:
            return None


def _home(answers: Answers) -> Absent | Unreadable:
    """Return what it means that a file of the SDK is not there."""
    match answers[HOME]:
        case Found():
            return Unreadable(f"{ROOT} is there, without it")
        case Absent() | Unreadable() as reading:
            return reading


def _sdk(answers: Answers, file: File, missing: Absent | Unreadable) -> Reading:
    match answers[file]:
        case Found(text):
            first = text.removeprefix("\ufeff").strip().partition("\n")[0]
            return _release(first.rpartition(":")[2])
        case Absent():
            return missing
        case Unreadable() as unreadable:
            return unreadable


def _release(text: str) -> Reading:
    reading = version(text)
    if isinstance(reading, Observed):
        found = str(reading.value)
        if found.count(".") + 1 < _FIELDS and not _DAY.fullmatch(found):
            return Unreadable(f"not the version of a release: {excerpt(found)}")
    return reading


def _path(answers: Answers, home: Absent | Unreadable) -> Reading:
    match answers[REAL]:
        case Found(path):
            return Observed(path)
        case Unreadable() as unreadable:
            return unreadable
        case Absent():
            return home if isinstance(home, Absent) else Unreadable(f"{ROOT} leads nowhere")


def _compiler(answers: Answers) -> Iterator[Fact]:
    """Yield the compiler's build: the version it prints is the same in every release."""
    source = " ".join(COMPILER.argv)
    done = answers[COMPILER]
    build = _said(done, _BUILD, _no_compiler(answers))
    yield Fact(key="metax.compiler", reading=build, source=source)
    folder = _said(done, _INSTALLED, _no_compiler(answers))
    yield Fact(key="metax.compiler_path", reading=folder, source=source)


def _no_compiler(answers: Answers) -> Reading:
    match answers[COMPILER_FILE]:
        case Found():
            return Unreadable(f"{COMPILER_FILE.path} is there, and was not found to be run")
        case Absent() | Unreadable() as reading:
            return reading


def _header(answers: Answers) -> Reading:
    match answers[HEADER]:
        case Found(text):
            names = ("MAJOR", "MINOR", "PATCH")
            found = [re.search(_MACRO.format(name), text, re.MULTILINE) for name in names]
            fields = [match[1] for match in found if match]
            if len(fields) < len(names):
                return Unreadable("it does not define the version of MCCL")
            return version(".".join(fields))
        case Absent():
            # An image made to run programs leaves the headers out.
            return Absent()
        case Unreadable() as unreadable:
            return unreadable


def _ras(answers: Answers) -> Reading:
    reading = _said(answers[RAS], _RAS, Absent())
    return version(str(reading.value)) if isinstance(reading, Observed) else reading


def _said(done: Completed | Unreadable, pattern: re.Pattern[str], missing: Reading) -> Reading:
    if isinstance(done, Unreadable):
        return done
    if done.missing:
        return missing
    if done.timed_out:
        return Unreadable("it did not end within its time limit", passing=True)
    found = pattern.search(done.stdout.replace("\r\n", "\n"))
    if done.returncode or found is None:
        said = excerpt(done.stdout.strip() or done.stderr)
        return Unreadable(f"it exited with {done.returncode}, and is not understood: {said}")
    return Observed(found[1])
