"""What a command of a shell installs with pip, uv or conda."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mxenv import pip_options, requirement_lines
from mxenv.asked import Asked, Included, Index, Unread
from mxenv.distribution import normalised
from mxenv.shell_words import Word, commands
from mxenv.verdict import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mxenv.asked import Statement
    from mxenv.shell_words import Piece

DEEPEST = 3
"""How many shells within a shell are looked into: ``sh -c 'bash -c …'``."""

_BEFORE = frozenset(
    (
        *("!", "{", "command", "do", "elif", "else", "env", "exec", "if", "nohup", "sudo"),
        *("then", "time", "until", "while"),
    )
)
"""Words that stand before a command and leave it what it is."""
_WITH_WORDS = frozenset(
    (
        *("chroot", "chrt", "flock", "gosu", "ionice", "nice", "retry", "runuser", "setpriv"),
        *("setsid", "stdbuf", "su-exec", "taskset", "timeout", "unshare", "xargs"),
    )
)
"""Programs that start another one, which is named after words of their own."""
_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_PYTHON = re.compile(r"python[0-9.]*|pypy[0-9.]*")
_PIP = re.compile(r"pip[0-9.]*")
_CONDA = frozenset({"conda", "mamba", "micromamba"})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_CONDA_VALUED = frozenset(
    (*("-n", "--name", "-p", "--prefix", "--solver", "--subdir", "--platform", "--revision"),)
)
_CONDA_SPEC = re.compile(r"(?:[^\s:]+::)?([A-Za-z0-9._-]+?)\s*(?:([=<>!~].*))?")
CONDA_NAMES: Mapping[str, str] = {"pytorch": "torch", "pytorch-gpu": "torch"}
"""What conda calls otherwise than the Python index does."""


@dataclass(slots=True)
class _Command:
    """One installing command, as far as it is read."""

    file: str
    base: str
    forced: bool = False
    found: list[Statement] = field(default_factory=list)

    def place(self, word: Word) -> Place:
        return Place(file=self.file, line=word.line)

    def done(self) -> Iterator[Statement]:
        """Yield what was found; whether it is forced is only known in the end."""
        for one in self.found:
            if self.forced and isinstance(one, Asked | Included):
                yield replace(one, forced=True)
            else:
                yield one


def of_script(
    pieces: Sequence[Piece],
    *,
    file: str,
    base: str = "",
    variables: Mapping[str, str] | None = None,
    depth: int = 0,
) -> Iterator[Statement]:
    """Yield what the commands of a script install, with the line of each."""
    for command in commands(pieces, variables):
        yield from of_command(command, file=file, base=base, depth=depth)


def of_command(
    words: Sequence[Word], *, file: str, base: str = "", depth: int = 0
) -> Iterator[Statement]:
    """Yield what one command installs; a shell within it is looked into."""
    words = _bare(words)
    if not words:
        return
    program = words[0].text.rpartition("/")[2]
    if program in _WITH_WORDS:
        yield from of_command(_started(words[1:]), file=file, base=base, depth=depth)
    elif script := _script(program, words[1:]):
        if depth < DEEPEST:
            yield from of_script([script], file=file, base=base, depth=depth + 1)
    elif program in _CONDA:
        yield from _conda(words[1:], _Command(file, base))
    elif (rest := _pip(program, words[1:])) is not None:
        yield from _install(rest, _Command(file, base))
    elif program == "uv" and (rest := _uv(words[1:])) is not None:
        # What is not asked for is removed, the base's distributions too.
        sync = any(word.text == "sync" for word in words[:3])
        yield from _install(rest, _Command(file, base, forced=sync), sync=sync)
    elif words[0].unclear and _after(words[1:], ("install",)) is not None:
        text = " ".join(word.text for word in words)
        reason = f"{words[0].unclear}, which installs something, is not known here"
        yield Unread(
            text=text, reason=reason, place=Place(file=file, line=words[0].line), base=base
        )


def _started(words: Sequence[Word]) -> Sequence[Word]:
    """Return the command that a program starts: from the first word on that names one of ours."""

    def ours(word: Word) -> bool:
        name = word.text.rpartition("/")[2]
        plain = name in _SHELLS or name in _CONDA or name == "uv"
        return plain or bool(_PYTHON.fullmatch(name) or _PIP.fullmatch(name))

    return words[next((at for at, word in enumerate(words) if ours(word)), len(words)) :]


def _bare(words: Sequence[Word]) -> Sequence[Word]:
    """Return a command without what stands before it: assignments, ``sudo -E``, ``then``."""
    at = 0
    while at < len(words):
        text = words[at].text
        option = bool(at) and text.startswith("-")
        if not (text in _BEFORE or option or _ASSIGNMENT.match(text)):
            break
        at += 1
    return words[at:]


def _script(program: str, words: Sequence[Word]) -> Piece | None:
    """Return what a shell is given to run: the word after ``-c``, ``-lc``, ``-exc``; or `eval`."""
    if program == "eval" and words:
        return words[0].line, " ".join(word.text for word in words)
    if program not in _SHELLS:
        return None
    options = (n for n, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word.text))
    at = next(options, len(words)) + 1
    return (words[at].line, words[at].text) if at < len(words) else None


def _pip(program: str, words: Sequence[Word]) -> Sequence[Word] | None:
    """Return what follows ``pip install``, however pip is called."""
    if _PYTHON.fullmatch(program):
        texts = [word.text for word in words]
        if "-mpip" in texts:
            words = words[texts.index("-mpip") + 1 :]
        elif "-m" in texts and texts[texts.index("-m") + 1 :][:1] == ["pip"]:
            words = words[texts.index("-m") + 2 :]
        else:
            return None
    elif not _PIP.fullmatch(program):
        return None
    return _after(words, ("install",))


def _uv(words: Sequence[Word]) -> Sequence[Word] | None:
    if words and words[0].text == "pip":
        return _after(words[1:], ("install", "sync"))
    return _after(words, ("add",))


def _after(words: Sequence[Word], names: Sequence[str]) -> Sequence[Word] | None:
    """Return what follows the sub-command, if it is one of ``names``."""
    skip = False
    for at, word in enumerate(words):
        if skip or word.text.startswith("-"):
            skip = not skip and word.text in pip_options.VALUED
        else:
            return words[at + 1 :] if word.text in names else None
    return None


def _install(
    words: Sequence[Word], command: _Command, *, sync: bool = False
) -> Iterator[Statement]:
    rest = iter(words)
    for word in rest:
        if not word.text.startswith("-"):
            command.found.append(_positional(word, command, sync=sync))
            continue
        for name, value in _named(word):
            command.forced = command.forced or name in pip_options.FORCED
            if name in pip_options.VALUED:
                given = replace(word, text=value) if value else next(rest, word)
                _option(name, given, command)
    yield from command.done()


def _named(word: Word) -> Iterator[tuple[str, str]]:
    """Yield the options of one word: ``--name=value``, ``-rfile``, ``-qU``."""
    if word.text.startswith("--"):
        name, _, value = word.text.partition("=")
        yield name, value
        return
    for at, letter in enumerate(word.text[1:], start=2):
        name = f"-{letter}"
        if name in pip_options.VALUED:
            yield name, word.text[at:].removeprefix("=")
            return
        yield name, ""


def _option(name: str, given: Word, command: _Command) -> None:
    place = command.place(given)
    if name in pip_options.UV_INDEXES:
        command.found.append(Index(url=given.text, place=place, base=command.base))
        return
    if name in pip_options.ONE:
        one = requirement_lines.requirement(given.text, place, base=command.base, forced=True)
        command.found.append(_cleared(one, given, command.base))
        return
    name = "-c" if name in pip_options.UV_LIMITS else name
    found = requirement_lines.statement_for(
        name, given.text, f"{name} {given.text}", place, base=command.base
    )
    if found is not None:
        command.found.append(_cleared(found, given, command.base))


def _positional(word: Word, command: _Command, *, sync: bool) -> Statement:
    place = command.place(word)
    if word.redirected:
        reason = f"the shell takes {word.redirected!r} for a redirection: put it in quotes"
        text = f"{word.text}{word.redirected}"
        return Unread(text=text, reason=reason, place=place, base=command.base)
    if sync:
        text = f"sync {word.text}"
        return Included(files=(word.text,), text=text, place=place, base=command.base, forced=True)
    found = requirement_lines.requirement(word.text, place, base=command.base)
    return _cleared(found, word, command.base)


def _cleared(found: Statement, word: Word, base: str) -> Statement:
    """Return a statement that says what in its word only a running shell can tell."""
    if not word.unclear or isinstance(found, Index):
        return found
    reason = f"{word.unclear} is not known here"
    if isinstance(found, Asked):
        return replace(found, unclear=reason)
    name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*(?=[=<>!~\[])", word.text)
    return Asked(
        name=normalised(name[0]) if name else "",
        text=word.text,
        place=found.place,
        base=base,
        unclear=reason,
    )


def _conda(words: Sequence[Word], command: _Command) -> Iterator[Statement]:
    rest = iter(_after(words, ("install", "update", "upgrade")) or ())
    for word in rest:
        name, _, value = word.text.partition("=")
        place = command.place(word)
        if name in {"-c", "--channel", "--file", "-f"}:
            given = value or next(rest, word).text
            if name != "--file":
                command.found.append(Index(url=given, place=place, base=command.base))
            else:
                reason = "specifications for conda in a file of their own are not read"
                command.found.append(
                    Unread(text=f"--file {given}", reason=reason, place=place, base=command.base)
                )
        elif name in _CONDA_VALUED:
            _ = value or next(rest, word)
        elif not word.text.startswith("-"):
            command.found.append(_specification(word, command))
    yield from command.done()


def _specification(word: Word, command: _Command) -> Statement:
    """Return what conda's ``channel::name=1.2`` asks for, in the words of the Python index."""
    place = command.place(word)
    match = _CONDA_SPEC.fullmatch(word.text + word.redirected)
    if match is None:
        reason = "no specification of conda's"
        return Unread(text=word.text, reason=reason, place=place, base=command.base)
    name, wanted = normalised(match[1]), match[2] or ""
    if re.match(r"=[^=]", wanted):
        version = wanted[1:].partition("=")[0]
        wanted = f"=={version.removesuffix('.*').removesuffix('*')}.*"
    found = requirement_lines.requirement(f"x {wanted}", place)
    specifier = found.specifier if isinstance(found, Asked) else ""
    # conda knows nothing of what pip installed, and puts its own build over it.
    return Asked(
        name=CONDA_NAMES.get(name, name),
        specifier=specifier,
        text=word.text,
        place=place,
        base=command.base,
        forced=True,
        unclear=f"{word.unclear} is not known here" if word.unclear else "",
    )
