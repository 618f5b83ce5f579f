"""What the stages of a Containerfile are built upon, and what each installs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mxenv import containerfile, installs, requirement_lines
from mxenv.asked import Asked, Based, Included, Index, Unread
from mxenv.image import SCRATCH
from mxenv.shell_words import Word, expand
from mxenv.verdict import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.asked import Statement
    from mxenv.containerfile import Document, Instruction

_PAIR = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INDEX = re.compile(r"(?:PIP|UV)_(?:\w*INDEX(?:_URL)?|FIND_LINKS|TORCH_BACKEND)")
_IMAGE = re.compile("[/:@]")
"""What the name of an image has, and that of a stage or a context has not."""
_SHELL = re.compile(r"(?:\S*/)?(?:ba|da|a|k|z)?sh(?:\s+-\S+)*")
_MARK = re.compile(r"""\d*<<-?(?:"[^"\s]+"|'[^'\s]+'|[^\s<"']+)""")
_REQUIREMENTS = re.compile(r"(?i)[^/]*(?:requirements|constraints)[^/]*\.(?:txt|in)")


@dataclass(slots=True)
class _Stage:
    """What is known inside one stage."""

    base: str
    numbers: tuple[int, ...] = ()
    """Which stages of the file it is built upon, and last its own."""
    variables: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    copied: list[tuple[str, str]] = field(default_factory=list)
    """Where a file of the context lies inside."""

    @property
    def known(self) -> dict[str, str]:
        """Return all variables; what the environment says counts more than an argument."""
        return self.arguments | self.variables


@dataclass(slots=True)
class _File:
    """What is known of the whole file."""

    file: str
    arguments: dict[str, str] = field(default_factory=dict)
    """Those before the first stage."""
    count: int = 0
    """Stages so far."""
    stages: dict[str, _Stage] = field(default_factory=dict)
    stage: _Stage | None = None


def parse(text: str, *, file: str) -> Iterator[Statement]:
    """Yield what the Containerfile ``text`` is built upon and installs."""
    known = _File(file)
    began = False
    for instruction in containerfile.parse(text):
        place = Place(file=file, line=instruction.line)
        if instruction.flaw:
            yield Unread(text=instruction.text, reason=instruction.flaw, place=place)
            continue
        if instruction.keyword == "FROM":
            yield from _from(instruction, known, place)
            began = True
        elif known.stage is None:
            _argument(instruction, known.arguments, {})
            if instruction.keyword != "ARG":
                reason = "stands before the first FROM"
                yield Unread(text=instruction.keyword, reason=reason, place=place)
        else:
            for statement in _inside(instruction, known, known.stage):
                yield _staged(statement, known.stage)
    if not began:
        place = Place(file=file)
        yield Unread(text="FROM", reason="there is no FROM in it", place=place)


def _staged(statement: Statement, stage: _Stage) -> Statement:
    if isinstance(statement, Asked | Included):
        return replace(statement, stages=stage.numbers)
    return statement


def _from(instruction: Instruction, known: _File, place: Place) -> Iterator[Statement]:
    known.count += 1
    match [word for word in instruction.text.split() if not word.startswith("--")]:
        case [image]:
            name = ""
        case [image, as_, name] if as_.upper() == "AS":
            pass
        case _:
            known.stage = _Stage("", (known.count,))
            reason = "FROM takes an image, and AS with a name"
            yield Unread(text=instruction.text, reason=reason, place=place)
            return
    reference, missing = expand(image, known.arguments)
    earlier = known.stages.get(reference.lower())
    if earlier is not None:
        stage = _Stage(earlier.base, (*earlier.numbers, known.count), dict(earlier.variables))
    else:
        stage = _Stage(reference, (known.count,))
        unclear = f"{missing} is not known here" if missing else ""
        if reference.lower() != SCRATCH:
            yield Based(reference=reference, place=place, unclear=unclear)
    known.stage = stage
    if name:
        known.stages[name.lower()] = stage


def _inside(instruction: Instruction, known: _File, stage: _Stage) -> Iterator[Statement]:
    match instruction.keyword:
        case "ARG":
            _argument(instruction, stage.arguments, known.arguments)
            yield from _indexes(instruction, known, stage, stage.arguments)
        case "ENV":
            _environment(instruction, stage)
            yield from _indexes(instruction, known, stage, stage.variables)
        case "COPY" | "ADD":
            yield from _others(instruction, known)
            yield from _copied(instruction, known, stage)
        case "RUN":
            yield from _others(instruction, known)
            for statement in _run(instruction, known, stage):
                yield _resolved(statement, stage, instruction)
        case _:
            pass  # installs nothing


def _others(instruction: Instruction, known: _File) -> Iterator[Statement]:
    """Yield the images of which an instruction takes files: ``COPY --from``, ``RUN --mount``."""
    place = Place(file=known.file, line=instruction.line)
    named = [flag[7:] for flag in instruction.flags if flag.startswith("--from=")]
    for flag in instruction.flags:
        if flag.startswith("--mount="):
            named += [part[5:] for part in flag[8:].split(",") if part.startswith("from=")]
    for word in named:
        reference, missing = expand(word.strip("\"'"), known.arguments)
        if not reference or reference.isdecimal() or reference.lower() in known.stages:
            continue
        unclear = f"{missing} is not known here" if missing else ""
        if not missing and not _IMAGE.search(reference):
            unclear = "an image, or a context that is named where it is built"
        yield Based(reference=reference, place=place, unclear=unclear)


def _argument(instruction: Instruction, into: dict[str, str], defaults: dict[str, str]) -> None:
    """Take an ``ARG``: its default, or that of the file's head."""
    if instruction.keyword != "ARG":
        return
    for word in containerfile.words(instruction):
        name, equals, value = word.partition("=")
        if equals:
            text, missing = expand(value, into | defaults)
            if not missing:
                into[name] = text
        elif name in defaults:
            into[name] = defaults[name]


def _environment(instruction: Instruction, stage: _Stage) -> None:
    said = containerfile.words(instruction)
    if said and "=" not in said[0]:
        said = (f"{said[0]}={' '.join(said[1:])}",)  # the old form: ENV NAME value
    for word in said:
        name, equals, value = word.partition("=")
        if not equals or not _PAIR.fullmatch(name):
            continue
        text, missing = expand(value, stage.known)
        stage.variables.pop(name, None)
        stage.arguments.pop(name, None)
        if not missing:
            stage.variables[name] = text


def _indexes(
    instruction: Instruction, known: _File, stage: _Stage, values: dict[str, str]
) -> Iterator[Statement]:
    """Yield where pip and uv are told to look by their variables."""
    for word in containerfile.words(instruction):
        name = word.partition("=")[0]
        if _INDEX.fullmatch(name) and name in values:
            place = Place(file=known.file, line=instruction.line)
            for url in values[name].split():
                yield Index(url=url, place=place, base=stage.base)


def _copied(instruction: Instruction, known: _File, stage: _Stage) -> Iterator[Statement]:
    """Note where files of the context lie; read requirements that stand in the file itself."""
    *sources, target = containerfile.words(instruction) or ("",)
    if not any(flag.startswith("--from=") for flag in instruction.flags):
        stage.copied += [(source, target) for source in sources if not source.startswith("<<")]
    for document in instruction.documents:
        if _REQUIREMENTS.fullmatch(target.rpartition("/")[2] or document.name):
            yield from _requirements(document, known, stage)


def _requirements(document: Document, known: _File, stage: _Stage) -> Iterator[Statement]:
    first = document.pieces[0][0] - 1 if document.pieces else 0
    text = "".join(piece for _, piece in document.pieces)
    for found in requirement_lines.parse(text, file=known.file, base=stage.base):
        place = replace(found.place, line=found.place.line + first)
        yield replace(found, place=place)


def _run(instruction: Instruction, known: _File, stage: _Stage) -> Iterator[Statement]:
    if (listed := instruction.listed) is not None:
        words = tuple(Word(text=text, line=instruction.line) for text in listed)
        yield from installs.of_command(words, file=known.file, base=stage.base)
        return
    plain = _MARK.sub("", instruction.text).strip() if instruction.documents else ""
    if instruction.documents and (not plain or _SHELL.fullmatch(plain)):
        for document in instruction.documents:
            yield from installs.of_script(
                document.pieces, file=known.file, base=stage.base, variables=stage.known
            )
        return
    yield from installs.of_script(
        instruction.value, file=known.file, base=stage.base, variables=stage.known
    )


def _resolved(statement: Statement, stage: _Stage, instruction: Instruction) -> Statement:
    """Return an included file's places in the context, by what was copied into the stage."""
    if not isinstance(statement, Included) or not statement.files:
        return statement
    wanted = statement.files[0].removeprefix("./")
    name = wanted.rpartition("/")[2]
    mounted = [
        _either(pairs, "source", "src")
        for flag in instruction.flags
        if flag.startswith("--mount=")
        for pairs in [dict(part.partition("=")[::2] for part in flag[8:].split(","))]
        if _either(pairs, "target", "dst", "destination").removeprefix("./") == wanted
    ]
    copied = [
        source
        for source, target in reversed(stage.copied)
        if target.removeprefix("./") == wanted or source.rpartition("/")[2] == name
    ]
    relative = [] if wanted.startswith("/") else [wanted]
    files = tuple(dict.fromkeys(filter(None, (*mounted, *copied, *relative, name))))
    return replace(statement, files=files)


def _either(pairs: dict[str, str], *names: str) -> str:
    return next((pairs[name] for name in names if name in pairs), "")
