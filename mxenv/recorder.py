"""How answers become the files of a recording, so that it gives them again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from mxenv import elf
from mxenv.facts import Absent, Unreadable
from mxenv.question import (
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
from mxenv.recording import (
    ASKED,
    COMMANDS,
    ENVIRONMENT,
    MAIN,
    OBJECTS,
    PATHS,
    ROOT,
    SCHEMA,
    SYMBOLS,
    UNREADABLE,
    Entry,
    name,
    place,
)

if TYPE_CHECKING:
    from datetime import datetime

    from mxenv.facts import View
    from mxenv.question import Answer, Answers, Given, Matches, Question

NAME_MAX = 255
"""Bytes in a file name, on every file system in use."""


def render(
    answers: Answers, *, node: str, view: View, taken_at: datetime, provenance: str
) -> dict[str, bytes]:
    """Return the files of a complete recording by their paths; equal answers give equal bytes."""
    notes = _Notes()
    for question in sorted(answers, key=name):
        notes.take(question, answers[question])
    head = {
        "schema": SCHEMA,
        "node": node,
        "view": view.value,
        "taken_at": taken_at.isoformat(),
        "provenance": provenance,
        "complete": True,
    }
    # A JSON string or boolean is a TOML one as well.
    main = "".join(f"{field} = {json.dumps(value)}\n" for field, value in head.items())
    main += notes.options()
    return {MAIN: main.encode(), **notes.files()}


class _Notes:
    """What has been taken down so far."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        self._commands: list[dict[str, object]] = []
        self._environment: dict[str, str] = {}
        self._unreadable: dict[str, Unreadable] = {}
        self._paths: dict[str, Entry] = {}
        self._contents: dict[str, str] = {}
        self._options: dict[str, str] = {}
        self._objects: dict[str, object] = {}
        self._symbols: dict[str, list[str]] = {}

    def options(self) -> str:
        """Return the table of what was wanted beyond the usual; nothing if nothing was."""
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in sorted(self._options.items())]
        return "".join(["\n[options]\n", *lines]) if lines else ""

    def take(self, question: Question, given: Given) -> None:
        """Take down one answer; a path that no recording can hold counts as never asked."""
        if not _holds(question):
            return
        self._asked.add(name(question))
        match given:
            case Unreadable():
                self._unreadable[place(question)] = given
            case Completed(returncode, stdout, stderr):
                self._command(question, returncode, stdout, stderr)
            case Found(value):
                self._found(question, value)
            case Absent():
                pass
            case _:
                assert_never(given)

    def files(self) -> dict[str, bytes]:
        """Return the files, by their paths inside the recording."""
        contents = {
            f"{ROOT}{path}": text.encode()
            for path, text in self._contents.items()
            if not any(above in self._contents for above in _above(path))
        }
        return {
            ASKED: _dump(sorted(self._asked)),
            COMMANDS: _dump(self._commands),
            ENVIRONMENT: _dump(self._environment),
            PATHS: _dump({path: _bare(entry) for path, entry in self._paths.items()}),
            UNREADABLE: _dump({at: _told(reason) for at, reason in self._unreadable.items()}),
            **{
                document: _dump(said)
                for document, said in ((OBJECTS, self._objects), (SYMBOLS, self._symbols))
                if said
            },
            **contents,
        }

    def _command(self, question: Question, returncode: int, stdout: str, stderr: str) -> None:
        argv = question.argv if isinstance(question, Command) else ()
        fields = {"argv": argv, "returncode": returncode, "stdout": stdout, "stderr": stderr}
        self._commands.append(fields)

    def _found(self, question: Question, value: str | Matches | Status | int) -> None:
        match question, value:
            case Env(variable), str():
                self._environment[variable] = value
            case Option(wanted), str():
                self._options[wanted] = value
            case Symbols(), str():
                self._symbols[name(question)] = [line for line in value.split("\n") if line]
            case File(path, part, limit), str():
                self._content(path, part, limit, value)
            case Link(path), str():
                self._note(path, link=value)
            case Glob(), tuple():
                for path, answer in value:
                    self._match(question, path, answer)
            case Stat(path), Status(kind, size, mode):
                self._note(path, kind=kind, size=size, mode=mode)
            case Space(path), int():
                self._note(path, space=value)
            case _:
                raise TypeError(f"{value!r} is no answer to {question!r}")

    def _match(self, glob: Glob, path: str, answer: Answer[str]) -> None:
        if not _sound(path):
            return
        match answer:
            case Found(text):
                self._content(path, glob.part, glob.limit, text)
            case Unreadable():
                # A path with fewer parts than the pattern is a directory that could not be
                # looked into.
                short = path.count("/") < glob.pattern.count("/")
                at = path if short or glob.part is None else place(File(path, glob.part))
                self._unreadable[at] = answer
                self._note(path, **({"kind": "directory"} if short else {}))
            case Absent():
                self._note(path, nowhere=True)
            case _:
                assert_never(answer)

    def _content(  # noqa: C901 - one for each part
        self, path: str, part: Part | None, limit: int, text: str
    ) -> None:
        match part:
            case (
                Part.PACKAGES
                | Part.BOOT
                | Part.RUNTIMES
                | Part.METADATA
                | Part.ORIGIN
                | Part.PROGRAM
            ):
                self._contents.setdefault(path, text)
            case Part.RECORD:
                digest, _, names = text.partition("\n")
                self._contents.setdefault(path, names)
                self._note(path, sha256=digest)
            case Part.WHOLE:
                self._contents[path] = text
                if path in self._paths:
                    self._note(path, head=0)
            case Part.HEAD:
                known = self._paths.get(path, Entry()).head
                if path not in self._contents or 0 < known < limit:
                    self._contents[path] = text
                    self._note(path, head=limit)
            case Part.DIGEST:
                self._note(path, sha256=text)
            case Part.LINK:
                self._note(path, link=text)
            case Part.ELF:
                self._object(path, text)
            case None:
                self._note(path)
            case _:
                assert_never(part)

    def _object(self, path: str, text: str) -> None:
        self._note(path)
        if elf.parse(text) is None:
            # Something in it was masked, and it is no table any more.
            self._unreadable[place(File(path, Part.ELF))] = Unreadable("not to be told")
        else:
            self._objects[path] = json.loads(text)

    def _note(self, path: str, **known: str | int) -> None:
        self._paths[path] = replace(self._paths.get(path, Entry()), **known)  # type: ignore[arg-type]


def _holds(question: Question) -> bool:
    match question:
        case File(path=path):
            return _sound(path)
        case Link(path) | Stat(path) | Space(path):
            return path == "/" or _sound(path)
        case Glob() | Command() | Env() | Option():
            return True
        case Symbols(path, providers):
            return all(map(_sound, (path, *providers)))
        case _:
            assert_never(question)


def _sound(path: str) -> bool:
    """Return whether ``path`` stays below the top, and every file system takes its names."""
    top, *segments = path.split("/")
    return not top and all(
        segment not in {"", ".", ".."} and len(segment.encode()) <= NAME_MAX for segment in segments
    )


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(2, len(parts))]


def _bare(entry: Entry) -> dict[str, object]:
    fields = {name: getattr(entry, name) for name in entry.__dataclass_fields__}
    return {name: v for name, v in fields.items() if v or (name == "space" and v is not None)}


def _told(reason: Unreadable) -> object:
    return {"reason": reason.reason, "passing": True} if reason.passing else reason.reason


def _dump(value: object) -> bytes:
    return f"{json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)}\n".encode()
