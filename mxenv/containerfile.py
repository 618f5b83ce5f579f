"""The instructions of a Containerfile, as BuildKit splits them, each with its lines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.shell_words import commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.shell_words import Piece

KEYWORDS = frozenset(
    (
        *(
            "ADD",
            "ARG",
            "CMD",
            "COPY",
            "ENTRYPOINT",
            "ENV",
            "EXPOSE",
            "FROM",
            "HEALTHCHECK",
            "LABEL",
        ),
        *("MAINTAINER", "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
    )
)
_WITH_DOCUMENTS = frozenset({"ADD", "COPY", "RUN"})
_DIRECTIVE = re.compile(r"#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(\S.*)")
_DIRECTIVES = frozenset({"check", "escape", "syntax"})
_SPACE = " \t\v\f\r"
_WORD = re.compile(r"""(?:'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$)|\\.|[^\s'"\\]|\\$)+""", re.DOTALL)
"""A word as BuildKit splits them for here-documents: quotes and escapes stay in it."""
_MARKER = re.compile(r"[0-9]*<<(-?)([^<]*)", re.DOTALL)
_QUOTED = re.compile(r"""'([^']*)(?:'|$)|"((?:\\.|[^"\\])*)(?:"|$)|\\(.)""", re.DOTALL)


@frozen
class Document:
    """A here-document: text that an instruction brings with it."""

    name: str
    plain: bool
    """True if its variables are not replaced: the name is quoted."""
    pieces: tuple[Piece, ...]


@frozen
class Instruction:
    """One instruction; ``keyword`` is empty if it cannot be understood."""

    keyword: str
    line: int
    end: int
    flags: tuple[str, ...] = ()
    value: tuple[Piece, ...] = ()
    """What follows keyword and flags, joined over continued lines."""
    documents: tuple[Document, ...] = ()
    flaw: str = ""

    @property
    def text(self) -> str:
        """Return the value as one line."""
        return "".join(text for _, text in self.value)

    @property
    def listed(self) -> tuple[str, ...] | None:
        """Return the words of the JSON form, if it is one."""
        return _listed(self.text)


def _listed(text: str) -> tuple[str, ...] | None:
    if not text.startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list) and all(isinstance(one, str) for one in found):
        return tuple(found)
    return None


@dataclass(slots=True)
class _Reader:
    """Where in the file one is."""

    lines: list[str]
    escape: str = "\\"
    at: int = 0
    """How many lines are read."""
    pieces: list[Piece] = field(default_factory=list)


def parse(text: str) -> Iterator[Instruction]:
    """Yield every instruction; what cannot be understood is one too, and says why."""
    lines = text.removeprefix("\ufeff").removesuffix("\n").split("\n")
    reader = _Reader([line.removesuffix("\r") for line in lines])
    if problem := _directives(reader):
        yield Instruction(keyword="", line=reader.at, end=reader.at, flaw=problem)
        return
    while reader.at < len(reader.lines):
        pieces = tuple(_logical(reader))
        if any(part.strip() for _, part in pieces):
            yield from _instruction(pieces, reader)


def _directives(reader: _Reader) -> str:
    """Read the comments at the top that say how the rest is to be read; return what is wrong."""
    seen: set[str] = set()
    while reader.at < len(reader.lines):
        match = _DIRECTIVE.fullmatch(reader.lines[reader.at].strip())
        name = match[1].lower() if match else ""
        if match is None or name not in _DIRECTIVES:
            return ""
        reader.at += 1
        if name in seen:
            return f"the directive {name!r} stands there twice"
        seen.add(name)
        if name == "escape":
            if match[2] not in {"\\", "`"}:
                return f"{match[2]!r} cannot be an escape: it is \\ or `"
            reader.escape = match[2]
    return ""


def _logical(reader: _Reader) -> Iterator[Piece]:
    """Yield the lines of one instruction, the marks that continue them taken away."""
    escape = re.escape(reader.escape)
    continued = re.compile(rf"(?:^|(?<!{escape})){escape}[ \t]*$")
    begun = False
    while reader.at < len(reader.lines):
        reader.at += 1
        raw = reader.lines[reader.at - 1]
        bare = raw.lstrip(_SPACE)
        if not bare or bare.startswith("#"):
            if begun:
                continue  # comments and empty lines go from the midst of an instruction
            return
        line = raw if begun else bare
        match = continued.search(line)
        begun = True
        yield reader.at, line[: match.start()] if match else line
        if match is None:
            return


def _instruction(pieces: Sequence[Piece], reader: _Reader) -> Iterator[Instruction]:
    line = pieces[0][0]
    keyword, rest = _keyword(pieces)
    flags, value = _flags(rest)
    flaw = "" if keyword in KEYWORDS else f"{keyword!r} is no instruction"
    if keyword == "ONBUILD" and not flaw:
        # What it says is done in images that are built upon this one.
        keyword, value = _keyword(value)
        more, value = _flags(value)
        flags += more
        flaw = "" if keyword in KEYWORDS else f"{keyword!r} is no instruction"
    documents: list[Document] = []
    for name, plain, stripped in _markers(keyword, value):
        content = _document(name, reader, stripped=stripped)
        if content is None:
            flaw = f"the document {name!r} has no end"
            break
        documents.append(Document(name=name, plain=plain, pieces=content))
    yield Instruction(
        keyword="" if flaw else keyword,
        line=line,
        end=reader.at,
        flags=flags,
        value=tuple(value),
        documents=tuple(documents),
        flaw=flaw,
    )


def _keyword(pieces: Sequence[Piece]) -> tuple[str, tuple[Piece, ...]]:
    """Return the first word of all pieces, and what is left of them."""
    pieces = _stripped(pieces)
    word = ""
    for number, (line, text) in enumerate(pieces):
        bare = text.lstrip("".join(_SPACE)) if not word else text
        end = next((n for n, c in enumerate(bare) if c in _SPACE), len(bare))
        word += bare[:end]
        if end < len(bare):
            left = ((line, bare[end:]), *pieces[number + 1 :])
            return word.upper(), _stripped(left)
    return word.upper(), ()


def _stripped(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return the pieces without space at the beginning and the end of them all."""
    kept = list(pieces)
    while kept and not kept[0][1].strip(_SPACE):
        del kept[0]
    while kept and not kept[-1][1].strip(_SPACE):
        del kept[-1]
    if kept:
        kept[0] = (kept[0][0], kept[0][1].lstrip(_SPACE))
        kept[-1] = (kept[-1][0], kept[-1][1].rstrip(_SPACE))
    return tuple(kept)


def _flags(pieces: tuple[Piece, ...]) -> tuple[tuple[str, ...], tuple[Piece, ...]]:
    """Return the ``--name=value`` words at the beginning, and what follows them."""
    found: list[str] = []
    while pieces and pieces[0][1].startswith("--"):
        flag, rest = _first(pieces)
        if flag == "--":
            return tuple(found), rest
        found.append(flag)
        pieces = rest
    return tuple(found), pieces


def _first(pieces: tuple[Piece, ...]) -> tuple[str, tuple[Piece, ...]]:
    word = ""
    for number, (line, text) in enumerate(pieces):
        end = next((n for n, c in enumerate(text) if c in _SPACE), len(text))
        word += text[:end]
        if end < len(text):
            return word, _stripped(((line, text[end:]), *pieces[number + 1 :]))
    return word, ()


def _markers(keyword: str, value: Sequence[Piece]) -> Iterator[tuple[str, bool, bool]]:
    """Yield the here-documents that a line begins: name, whether it is quoted, and ``<<-``."""
    text = "".join(part for _, part in value)
    if keyword not in _WITH_DOCUMENTS or "<<" not in text or _listed(text) is not None:
        return
    for word in _WORD.findall(text):
        if match := _MARKER.fullmatch(word):
            name = _QUOTED.sub(lambda part: part[1] or part[2] or part[3] or "", match[2])
            if name:
                yield name, name != match[2], bool(match[1])


def _document(name: str, reader: _Reader, *, stripped: bool) -> tuple[Piece, ...] | None:
    content: list[Piece] = []
    while reader.at < len(reader.lines):
        reader.at += 1
        line = reader.lines[reader.at - 1]
        line = line.lstrip("\t") if stripped else line
        if line == name:
            return tuple(content)
        content.append((reader.at, f"{line}\n"))
    return None


def words(instruction: Instruction) -> tuple[str, ...]:
    """Return the words of an instruction that takes no script: JSON's, or a shell's."""
    if (listed := instruction.listed) is not None:
        return listed
    return tuple(word.text for command in commands(instruction.value) for word in command)
