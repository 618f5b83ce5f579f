"""What must not leave a node, and what stands in its place."""

from __future__ import annotations

import re
from dataclasses import replace
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, assert_never

from mxenv import credential, excerpt, identity
from mxenv.credential import MASK
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
    Option,
    Part,
    Space,
    Stat,
    Status,
    Symbols,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answer, Given, Matches, Question


CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # a terminal's control sequence
    r"|\x1b[]PX^_].*?(?:\x07|\x1b\\|$)"  # its title, clipboard, hyperlinks: a string and its end
    r"|\x1b[ -/]*[0-Z\\^-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    r"|[\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # they make text read otherwise than it is
)
SIGNS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""One of these is in all that `CONTROL` matches, and a set is fast to look for."""
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""A sign that breaks a line, moves a terminal, or cannot be written."""
URL_USER = re.compile(r"://(?:[^/\s]*@|[^\s/@:]+:(?![0-9]+/)[^\s@\"'<>]+@(?:[^/\s]*@)?)")
"""Who logs in, and with what; a password with a slash in it as well, where there is no port."""
HEADERS = ("authorization", "cookie")
HEADER = re.compile(
    r"[\"']?[ \t]*[:=][ \t]*[\"']?"
    r"(?:((?:digest|aws4-hmac-sha256)[ \t][^\n]*)|(?:[a-z]\w*[ \t]+)?([^\n\"',]+))",
    re.IGNORECASE,
)
"""What a program says to log in by HTTP; the word that says how stays."""
WORDS = (
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "credential",
    "username",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "account_key",
    "accountkey",
    "private_key",
    "private-key",
    "privatekey",
    "secret_key",
    "secret-key",
    "secretkey",
    "secret_key_base",
    "auth_key",
    "authkey",
    "signing_key",
    "encryption_key",
    "key-data",
    "auth",
    "signature",
    "&sig",
    "?sig",
    "asset tag",
    "s/n",
    "serial",
    "serial number",
    "serial_number",
    "serialnumber",
    "serial no",
)
"""What a value must not be kept of; `SERIAL` as a word of its own only."""
SERIAL = "serial"
VALUE = re.compile(
    r"s?[\"']?[ \t]*[:=](?!=)[ \t]*"
    r"(?:\"((?:[^\"\\\n]|\\.)+)\"|'((?:[^'\\\n]|\\.)+)'|[\"']?([^\s\"',;}]+))"
)
"""A quoted value goes to its other quote, spaces and all; ``==`` compares, as in pip's lists."""
LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def clean(text: str) -> str:
    """Return ``text`` fit to be kept: no terminal escapes, credentials, home names or serials.

    Cleaning what is clean changes nothing: what stands beside a mask may make a form of its own,
    so it is looked at again. Each time less is left that could.
    """
    while (cleaned := _cleaned(text)) != text:
        text = cleaned
    return text


def _cleaned(text: str) -> str:
    """Look once; cheap tests come first, since in megabytes nearly nothing has to be masked."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode(errors="surrogateescape").decode(errors="replace")
    if SIGNS.search(text):
        text = CONTROL.sub("", text)
    if "://" in text:
        text = URL_USER.sub(f"://{MASK}@", text)
    text = credential.masked(text)
    text = identity.masked(text)
    return _without_values(text)


def _without_values(text: str) -> str:
    """Return ``text`` with the value masked after every word of `WORDS`."""
    if ":" not in text and "=" not in text:
        return text
    lower = text.lower()
    if len(lower) != len(text):
        # One letter of all has a lower case of two: places would no longer agree.
        lower = text.translate(LOWER)
    spans = sorted(
        span
        for words, form in ((WORDS, VALUE), (HEADERS, HEADER))
        for word in words
        if word in lower
        for span in _values(text, lower, word, form)
    )
    pieces, end = [], 0
    for start, stop in spans:
        if start >= end:
            pieces += [text[end:start], MASK]
            end = stop
    return "".join([*pieces, text[end:]])


def _values(text: str, lower: str, word: str, form: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    at = lower.find(word)
    while at >= 0:
        match = form.match(text, at + len(word))
        if match and not (word.startswith(SERIAL) and at and lower[at - 1].isalnum()):
            yield match.span(match.lastindex or 0)
        at = lower.find(word, at + 1)


def clean_answers(answers: Answers) -> Answers:
    """Return ``answers`` with every text in them cleaned, in the questions as well.

    So a probe that derives its second round from what it is told derives the cleaned questions,
    and finds their answers, here as well as in a recording.
    """
    return Answers(
        {_question(question): _excerpt(question, _given(answers[question])) for question in answers}
    )


def _question(question: Question) -> Question:
    match question:
        case File(path=path) | Link(path=path) | Stat(path=path) | Space(path=path):
            return replace(question, path=clean(path))
        case Glob(pattern=pattern):
            return replace(question, pattern=clean(pattern))
        case Command(argv=argv):
            return replace(question, argv=tuple(map(clean, argv)))
        case Symbols(path, providers):
            return Symbols(clean(path), tuple(map(clean, providers)))
        case Env() | Option():
            return question
        case _:
            assert_never(question)


def _excerpt(question: Question, given: Given) -> Given:
    """Return of a file that may hold secrets what may leave, should a transport hand on more."""
    match question, given:
        case File(part=Part.BOOT | Part.RUNTIMES | Part.ORIGIN | Part.PROGRAM as part), Found(
            str(text)
        ):
            return Found(excerpt.of(part, text))
        case Glob(part=Part.BOOT | Part.RUNTIMES | Part.ORIGIN | Part.PROGRAM as part), Found(
            tuple(matches)
        ):
            return Found(tuple((path, _excerpt_of(part, answer)) for path, answer in matches))
        case _:
            return given


def _excerpt_of(part: Part, answer: Answer[str]) -> Answer[str]:
    return Found(excerpt.of(part, answer.value)) if isinstance(answer, Found) else answer


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
            return Found(_matches(value))
        case Status():
            return Found(value)
        case int():
            return Found(value)
        case _:
            assert_never(value)


def _matches(matches: Matches) -> Matches:
    """Return ``matches`` cleaned: all at once if there is nothing to mask, as nearly always.

    What `clean` finds in a text it finds, or something longer, wherever lines stand around it.
    """
    texts = [path for path, _ in matches]
    for _, part in matches:
        match part:
            case Found(text):
                texts.append(text)
            case Unreadable(reason):
                texts.append(reason)
            case Absent():
                pass
            case _:
                assert_never(part)
    together = "\n".join(texts)
    if clean(together) == together:
        return matches
    return tuple((clean(path), _part(part)) for path, part in matches)


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
