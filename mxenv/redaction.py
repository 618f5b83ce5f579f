"""What must not leave a node, and what stands in its place."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, assert_never

from mxenv import credential, excerpt, identity, named_secret, unsigned_secret
from mxenv.credential import MASK
from mxenv.facts import Absent, Unreadable
from mxenv.patience import LATE, Late
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
    Symbols,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.patience import Patience
    from mxenv.question import Answer, Given, Question

    Dirty = Mapping[str, str]
    """Texts that have to be cleaned, and what they are then."""


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
AT_FIRST, AT_ONCE = 1 << 13, 1 << 18
"""Characters of many texts that are looked through at once."""


def clean(text: str) -> str:
    """Return ``text`` fit to be kept: no terminal escapes, credentials, home names or serials.

    Cleaning what is clean changes nothing: what stands beside a mask may make a form of its own,
    so it is looked at again. Each time less is left that could.
    """
    while (cleaned := _cleaned(text)) != text:
        text = cleaned
    return text


def _cleaned(text: str, hints: Iterable[str] = credential.FORMS) -> str:
    """Look once; cheap tests come first, since in megabytes nearly nothing has to be masked."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode(errors="surrogateescape").decode(errors="replace")
    if SIGNS.search(text):
        text = CONTROL.sub("", text)
    if "://" in text:
        text = URL_USER.sub(f"://{MASK}@", text)
    text = credential.masked(text, hints)
    text = identity.masked(text)
    text = named_secret.masked(text)
    return unsigned_secret.masked(text)


def clean_answers(answers: Answers) -> Answers:
    """Return ``answers`` with every text in them cleaned, in the questions as well.

    So a probe that derives its second round from what it is told derives the cleaned questions,
    and finds their answers, here as well as in a recording. For what no time is left, it is not
    among them, and whatever was asked besides is unreadable; what says the most comes last.
    """
    given: dict[Question, Given] = {}
    try:
        for some in _portions(answers):
            texts = {one: (*_asked(one), *_texts(answer)) for one, answer in some.items()}
            dirty = _dirty(chain.from_iterable(texts.values()), answers.patience)
            for question, answer in some.items():
                asked, told = question, answer
                if not dirty.keys().isdisjoint(texts[question]):
                    asked, told = _question(question, dirty), _given(answer, dirty)
                if isinstance(told, Unreadable) and asked in given:
                    continue  # of two with one name, what was read of the other is known
                given[asked] = _excerpt(asked, told)
    except Late:
        return Answers(given, LATE)
    return Answers(given, answers.otherwise)


def _portions(answers: Answers) -> Iterator[dict[Question, Given]]:
    """Yield the answers, the shortest first, as many at once as are not too long to be joined.

    Where time is short what was done of a portion is lost: the first ones are small. What tells
    nothing comes last: where it is not kept, nothing is lost.
    """
    given = answers.given
    sizes = {question: _size(answer) for question, answer in given.items()}
    ordered = sorted(sizes, key=sizes.__getitem__)
    silent = [question for question in ordered if isinstance(given[question], Unreadable)]
    told = [question for question in ordered if not isinstance(given[question], Unreadable)]
    part: dict[Question, Given] = {}
    size, most = 0, AT_FIRST
    for question in chain(told, silent):
        if part and size + sizes[question] > most:
            yield part
            part, size, most = {}, 0, min(2 * most, AT_ONCE)
        part[question] = given[question]
        size += sizes[question]
    yield part


def _size(given: Given) -> int:
    """Return about how many characters an answer has: of many matches one is looked at."""
    match given:
        case Found(tuple(matches)):
            path, part = matches[0] if matches else ("", None)
            return len(matches) * (len(path) + (_size(part) if part else 0))
        case Completed(_, stdout, stderr):
            return len(stdout) + len(stderr)
        case Found(str(text)) | Unreadable(text):
            return len(text)
        case _:
            return 0


def _dirty(texts: Iterable[str], patience: Patience) -> Dirty:
    """Return those of ``texts`` that have to be cleaned, each with what `clean` makes of it.

    Nearly all are short, and there are thousands: what is in none of them is looked for once.
    """
    texts = dict.fromkeys(texts)
    hints = credential.hints("\n".join(part) for part in _parts(texts, patience))
    return {text: clean(text) for text in patience.each(texts) if _cleaned(text, hints) != text}


def _parts(texts: Iterable[str], patience: Patience) -> Iterator[list[str]]:
    """Yield ``texts`` in lists that are not too long to be joined."""
    part, size = [], 0
    for text in texts:
        part.append(text)
        size += len(text)
        if size > AT_ONCE:
            patience.check()
            yield part
            part, size = [], 0
    yield part


def _texts(given: Given) -> list[str]:
    """Return every text in an answer."""
    texts: list[str] = []
    match given:
        case Found(tuple(matches)):
            texts += [path for path, _ in matches]
            texts += [part.value for _, part in matches if isinstance(part, Found)]
            texts += [part.reason for _, part in matches if isinstance(part, Unreadable)]
        case Completed(_, stdout, stderr):
            texts += (stdout, stderr)
        case Found(str(text)) | Unreadable(text):
            texts.append(text)
        case _:
            pass
    return texts


def _asked(question: Question) -> list[str]:
    match question:
        case File(path=path) | Link(path=path) | Stat(path=path) | Space(path=path):
            return [path]
        case Glob(pattern=pattern):
            return [pattern]
        case Command(argv=argv):
            return [*argv]
        case Symbols(path, providers):
            return [path, *providers]
        case Env() | Option():
            return []
        case _:
            assert_never(question)


def _question(question: Question, dirty: Dirty) -> Question:
    def cleaned(text: str) -> str:
        return dirty.get(text, text)

    match question:
        case File(path=path) | Link(path=path) | Stat(path=path) | Space(path=path):
            return replace(question, path=cleaned(path))
        case Glob(pattern=pattern):
            return replace(question, pattern=cleaned(pattern))
        case Command(argv=argv):
            return replace(question, argv=tuple(map(cleaned, argv)))
        case Symbols(path, providers):
            return Symbols(cleaned(path), tuple(map(cleaned, providers)))
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


def _given(given: Given, dirty: Dirty) -> Given:
    match given:
        case Found(tuple(matches)):
            return Found(
                tuple((dirty.get(path, path), _part(part, dirty)) for path, part in matches)
            )
        case Found(str(text)):
            return Found(dirty.get(text, text))
        case Unreadable() as reason:
            return _part(reason, dirty)
        case Completed(returncode, stdout, stderr):
            return Completed(returncode, dirty.get(stdout, stdout), dirty.get(stderr, stderr))
        case _:
            return given


def _part(part: Answer[str], dirty: Dirty) -> Answer[str]:
    match part:
        case Found(text):
            return Found(dirty.get(text, text))
        case Unreadable(reason, passing):
            return Unreadable(dirty.get(reason, reason), passing)
        case Absent():
            return part
        case _:
            assert_never(part)
