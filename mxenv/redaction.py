"""What must not leave a node, and what stands in its place."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from mxenv.facts import Absent, Unreadable
from mxenv.question import (
    Answers,
    Command,
    Completed,
    Env,
    File,
    Found,
    Glob,
    Link,
    Space,
    Stat,
    Status,
)

if TYPE_CHECKING:
    from mxenv.question import Answer, Given, Matches, Question

MASK = "***"
NO_UUID = "00000000-0000-0000-0000-000000000000"
"""Has the form of a UUID, so that whoever parses the text still can."""

CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # a terminal's control sequence
    r"|\x1b[]PX^_].*?(?:\x07|\x1b\\|$)"  # its title, clipboard, hyperlinks: a string and its end
    r"|\x1b[ -/]*[0-Z\\^-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    r"|[\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # they make text read otherwise than it is
)
URL_USER = re.compile(r"(?<=://)[^/\s]*@")
HOME = re.compile(r"(?<=/home/)[^/\s:;,\"'*?\[\]()<>|]+")
UUID = re.compile(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
SERIAL = re.compile(
    r"(?i)(\bserial(?:[ _-]?(?:number|no))?[\"']?[ \t]*[:=][ \t]*[\"']?)[^\s\"',}]+"
)
SECRET = re.compile(
    r"(?i)((?:token|secret|passw(?:or)?d|api_?key|access_?key|credential)s?"
    r"[\"']?[ \t]*[:=][ \t]*[\"']?)[^\s\"',;]+"
)
KNOWN = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|hf_\w{20,}|sk-[\w-]{20,}"
    r"|AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
    r"|(?i:(?<=bearer )[\w.~+/=-]{8,})"
)
"""Tokens whose own form gives them away, wherever they stand."""
SECRETS_MAY_FOLLOW = ("token", "secret", "passw", "key", "credential")


def clean(text: str) -> str:
    """Return ``text`` fit to be kept: no terminal escapes, credentials, home names or serials.

    Cleaning what is clean changes nothing. The cheap tests come first, since nearly all of the
    thousands of texts of a node hold nothing to mask.
    """
    if not text.isascii():
        text = text.encode(errors="surrogateescape").decode(errors="replace")
    text = CONTROL.sub("", text)
    if "://" in text:
        text = URL_USER.sub(f"{MASK}@", text)
    if "/home/" in text:
        text = HOME.sub("user", text)
    lower = text.lower()
    if any(word in lower for word in SECRETS_MAY_FOLLOW):
        text = SECRET.sub(rf"\g<1>{MASK}", text)
    if "serial" in lower:
        text = SERIAL.sub(rf"\g<1>{MASK}", text)
    return KNOWN.sub(MASK, UUID.sub(NO_UUID, text))


def clean_answers(answers: Answers) -> Answers:
    """Return ``answers`` with every text in them cleaned, in the questions as well.

    So a probe that derives its second round from what it is told derives the cleaned questions,
    and finds their answers, here as well as in a recording.
    """
    return Answers({_question(question): _given(answers[question]) for question in answers})


def _question(question: Question) -> Question:
    match question:
        case File(path=path) | Link(path=path) | Stat(path=path) | Space(path=path):
            return replace(question, path=clean(path))
        case Glob(pattern=pattern):
            return replace(question, pattern=clean(pattern))
        case Command(argv=argv):
            return replace(question, argv=tuple(map(clean, argv)))
        case Env():
            return question
        case _:
            assert_never(question)


def _given(given: Given) -> Given:
    match given:
        case Found(value):
            return _found(value)
        case Completed(returncode, stdout, stderr):
            return Completed(returncode, clean(stdout), clean(stderr))
        case Unreadable() | Absent():
            return _part(given)
        case _:
            assert_never(given)


def _found(value: str | Matches | Status | int) -> Given:
    match value:
        case str():
            return Found(clean(value))
        case tuple():
            return Found(tuple((clean(path), _part(part)) for path, part in value))
        case Status():
            return Found(value)
        case int():
            return Found(value)
        case _:
            assert_never(value)


def _part(part: Answer[str]) -> Answer[str]:
    match part:
        case Found(text):
            return Found(clean(text))
        case Unreadable(reason, passing):
            return Unreadable(clean(reason), passing)
        case Absent():
            return part
        case _:
            assert_never(part)
