"""The words of a shell script, command by command, each with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Piece = tuple[int, str]
"""A text, and the line it stands in; a line break in it, or its end, begins no other line."""

_EXPANSION = re.compile(
    r"\$(?:(?P<plain>[A-Za-z_][A-Za-z0-9_]*)"
    r"|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?:(?P<rule>:?[-+])(?P<word>[^{}$]*))?\})"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_REDIRECTION = re.compile(r"[<>]+[&|]?-?[ \t]*")
_LIMIT = re.compile(r"[<>]=?[0-9=][^\s;&|]*")
_ENDS = frozenset(";&|()\n")
_BETWEEN = _ENDS | frozenset(" \t\r")
_STOPS = _BETWEEN | frozenset("<>")
_IN_QUOTES = frozenset('$`"\\')
"""What a backslash escapes between double quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word, quotes and escapes taken away."""

    text: str
    line: int
    unclear: str = ""
    """What in it only a running shell can tell."""
    redirected: str = ""
    """What follows it without a space and is taken for a redirection: the ``>=2`` of ``a>=2``."""


@dataclass(slots=True)
class _Open:
    """A word that is being read."""

    line: int
    text: list[str] = field(default_factory=list)
    unclear: str = ""
    redirected: str = ""


def expand(text: str, variables: Mapping[str, str]) -> tuple[str, str]:
    """Return ``text`` with its variables replaced, and the first one that has no value."""
    missing = ""

    def value(match: re.Match[str]) -> str:
        nonlocal missing
        found = _value(match, variables)
        if found is None:
            missing = missing or match[0]
            return match[0]
        return found

    return _EXPANSION.sub(value, text), missing


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str | None:
    name = match["plain"] or match["name"]
    rule, known = match["rule"] or "", variables.get(name)
    there = known is not None and (bool(known) or not rule.startswith(":"))
    if rule.endswith("+"):
        return (match["word"] or "") if there else ""
    if there or not rule:
        return known
    return match["word"] or ""


def commands(
    pieces: Sequence[Piece], variables: Mapping[str, str] | None = None
) -> Iterator[tuple[Word, ...]]:
    """Yield every command of a script: what stands between two ends of commands.

    A variable that the script itself sets has no known value from there on: which way it takes is
    not known.
    """
    lexer = _Lexer(pieces, dict(variables or {}))
    while not lexer.done:
        command = tuple(lexer.command())
        if not command:
            continue
        for word in command:
            if _ASSIGNMENT.match(word.text):
                lexer.variables.pop(word.text.partition("=")[0], None)
        yield command


class _Lexer:
    """Where in a script one is."""

    def __init__(self, pieces: Sequence[Piece], variables: dict[str, str]) -> None:
        self.text = "".join(text for _, text in pieces)
        self.variables = variables
        self._lines = [line for line, text in pieces for _ in text]
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at >= len(self.text)

    def command(self) -> Iterator[Word]:
        """Yield the words up to the next end of a command."""
        word: _Open | None = None
        while not self.done:
            character = self.text[self._at]
            if character == "#" and word is None:
                self._at = self._end_of_line()
            elif character in _BETWEEN:
                self._at += 1
                if word is not None:
                    yield _closed(word)
                    word = None
                if character in _ENDS:
                    return
            elif character in "<>":
                yield from self._redirection(word)
                word = None
            elif self.text.startswith("\\\n", self._at):
                self._at += 2
            else:
                if word is None:
                    word = _Open(self._lines[self._at])
                self._part(word)
        if word is not None:
            yield _closed(word)

    def _end_of_line(self) -> int:
        end = self.text.find("\n", self._at)
        return len(self.text) if end < 0 else end

    def _rest(self) -> str:
        """Return what stands here up to a space, if it looks like a version's limit."""
        match = _LIMIT.match(self.text, self._at)
        return match[0] if match else ""

    def _redirection(self, word: _Open | None) -> Iterator[Word]:
        """Go past an operator and the word it takes; yield the word before it, if it is one."""
        if word is not None and not "".join(word.text).isdecimal():
            word.redirected = self._rest()
            yield _closed(word)
        match = _REDIRECTION.match(self.text, self._at)
        self._at = match.end() if match else self._at + 1
        target = _Open(0)
        while not self.done and self.text[self._at] not in _STOPS:
            self._part(target)

    def _part(self, word: _Open) -> None:
        """Take the next part of a word: a quoted text, an expansion, or one character."""
        character = self.text[self._at]
        if character == "'":
            end = self.text.find("'", self._at + 1)
            end = len(self.text) if end < 0 else end
            word.text.append(self.text[self._at + 1 : end])
            self._at = end + 1
        elif character == '"':
            self._at += 1
            self._quoted(word)
        elif character == "\\":
            word.text.append(self.text[self._at + 1 : self._at + 2])
            self._at += 2
        elif character in "$`":
            self._expansion(word)
        else:
            word.text.append(character)
            self._at += 1

    def _quoted(self, word: _Open) -> None:
        while not self.done and (character := self.text[self._at]) != '"':
            if character == "\\" and self.text[self._at + 1 : self._at + 2] in _IN_QUOTES:
                word.text.append(self.text[self._at + 1])
                self._at += 2
            elif self.text.startswith("\\\n", self._at):
                self._at += 2
            elif character in "$`":
                self._expansion(word)
            else:
                word.text.append(character)
                self._at += 1
        self._at += 1

    def _expansion(self, word: _Open) -> None:
        match = _EXPANSION.match(self.text, self._at)
        if match:
            text, missing = expand(match[0], self.variables)
            self._at = match.end()
        else:
            text = missing = self._substitution()
            missing = missing if len(missing) > 1 else ""
        word.text.append(text)
        word.unclear = word.unclear or missing

    def _substitution(self) -> str:
        """Return the whole of ``$(…)``, ``${…}`` or `` `…` ``, or a lone dollar sign."""
        begin = self._at
        opening = self.text[begin : begin + 2]
        if opening not in {"$(", "${"}:
            end = self.text.find("`", begin + 1) if opening.startswith("`") else begin
            self._at = (len(self.text) if end < 0 else end) + 1
            return self.text[begin : self._at]
        close = {"(": ")", "{": "}"}[opening[1]]
        depth, self._at = 1, begin + 2
        while not self.done and depth:
            depth += (self.text[self._at] == opening[1]) - (self.text[self._at] == close)
            self._at += 1
        return self.text[begin : self._at]


def _closed(word: _Open) -> Word:
    return Word(
        text="".join(word.text),
        line=word.line,
        unclear=word.unclear,
        redirected=word.redirected,
    )
