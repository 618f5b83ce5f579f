"""What a recording of a node holds: its documents, read strictly, and made from answers.

A recording is a folder, or a tar.gz of one::

    recording.toml     schema, node, view, taken_at, provenance, complete, [options]
    commands.json      [{"argv": [...], "returncode": 0, "stdout": "", "stderr": ""}, ...]
    environment.json   {"NAME": "value", ...}
    root/…             files and links as they lay on the node
    unreadable.json    {"/path": "reason", "command: argv": "reason", ...}
    paths.json         {"/path": {"kind", "size", "mode", "link", "sha256", "head", "space",
                       "nowhere"}, ...}
    objects.json       {"/path": {"machine", "needed", ...}, ...}, as `mxenv.elf` has it
    symbols.json       {"symbols /path /provider ...": ["undefined", ...], ...}
    asked.json         ["file /etc/os-release", ...]

Only ``recording.toml`` has to be there. ``paths.json`` knows paths whose content is not kept (a
device, an empty directory, a big file by its digest), where a link leads, and that of a content
only the first ``head`` bytes were asked for. ``asked.json`` lists what was asked: of a complete
recording, what was asked and is missing was absent, and what was not asked is not known.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from mxenv import elf
from mxenv.errors import RecordingError
from mxenv.facts import Unreadable, View
from mxenv.frozen import frozen
from mxenv.question import (
    Command,
    Completed,
    Env,
    File,
    Glob,
    Link,
    Option,
    Part,
    Space,
    Stat,
    Symbols,
)
from mxenv.table import Table, document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.question import Question

SCHEMA = "mxenv.recording/1"
MAIN = "recording.toml"
COMMANDS = "commands.json"
ENVIRONMENT = "environment.json"
UNREADABLE = "unreadable.json"
PATHS = "paths.json"
OBJECTS = "objects.json"
SYMBOLS = "symbols.json"
ASKED = "asked.json"
DOCUMENTS = (MAIN, COMMANDS, ENVIRONMENT, UNREADABLE, PATHS, OBJECTS, SYMBOLS, ASKED)
ROOT = "root"
KINDS = ("file", "directory", "link", "char", "block", "fifo", "socket")


@frozen
class Entry:
    """What is known of a path beside its content."""

    kind: str = ""
    """As `Status` has it; empty if only its being there is known."""
    size: int = 0
    mode: int = 0
    link: str = ""
    """Where it leads in the end."""
    sha256: str = ""
    head: int = 0
    """The content is the answer to a question for this many bytes; 0 if it is whole."""
    space: int | None = None
    nowhere: bool = False
    """True of a link that leads nowhere."""


@frozen
class Recording:
    """Everything in a recording but the files below ``root``."""

    node: str
    view: View
    taken_at: datetime
    provenance: str = ""
    complete: bool = False
    commands: Mapping[tuple[str, ...], Completed] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    unreadable: Mapping[str, Unreadable] = field(default_factory=dict)
    paths: Mapping[str, Entry] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)
    """What was read of shared objects, by their paths, as `mxenv.elf` writes it."""
    symbols: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By the names of the questions for them."""
    asked: frozenset[str] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """What was wanted beyond the usual, by the names that `Option` has."""

    def knows(self, question: Question) -> bool:
        """Return whether that something is missing means that it was absent."""
        return self.complete and (self.asked is None or name(question) in self.asked)


def name(question: Question) -> str:  # noqa: PLR0911 - one for each kind
    """Return ``question`` as ``asked.json`` has it."""
    match question:
        case File(path, part):
            return f"{_part_word(part)} {path}"
        case Glob(pattern, part):
            return f"{_part_word(part)}s {pattern}"
        case Link(path) | Stat(path) | Space(path):
            return f"{type(question).__name__.lower()} {path}"
        case Command(argv):
            return f"command {shlex.join(argv)}"
        case Env(variable):
            return f"environment {variable}"
        case Symbols(path, providers):
            return f"symbols {shlex.join((path, *providers))}"
        case Option(wanted):
            return f"option {wanted}"
        case _:
            assert_never(question)


def _part_word(part: Part | None) -> str:
    match part:
        case None:
            return "path"
        case Part.WHOLE | Part.PACKAGES | Part.BOOT | Part.RUNTIMES | Part.HEAD | Part.METADATA:
            return "file"
        case Part.DIGEST | Part.ELF | Part.LINK | Part.RECORD | Part.ORIGIN | Part.PROGRAM:
            return part.value
        case _:
            assert_never(part)


def place(question: Question) -> str:  # noqa: PLR0911 - one for each kind
    """Return what ``unreadable.json`` calls the thing that ``question`` is about."""
    match question:
        case File(path, Part.ELF):
            return f"elf: {path}"  # it may be text that can be read, and no shared object
        case File(path=path) | Link(path) | Stat(path):
            return path
        case Glob(pattern):
            return f"glob: {pattern}"
        case Command(argv):
            return f"command: {shlex.join(argv)}"
        case Env(variable):
            return f"environment: {variable}"
        case Space(path):
            return f"space: {path}"
        case Symbols():
            return name(question)
        case Option(wanted):
            return f"option: {wanted}"
        case _:
            assert_never(question)


def parse(documents: Mapping[str, str], *, context: str) -> Recording:
    """Return the recording that ``documents`` (by file name) make up; ``context`` is its folder."""
    if MAIN not in documents:
        hint = "a recording is a folder with a recording.toml; `mxenv record` makes one"
        raise RecordingError(
            "not a recording: it has no recording.toml", context=context, hint=hint
        )
    table = document(documents[MAIN], context=f"{context}/{MAIN}", error=RecordingError)
    _check_schema(table)
    table.only("schema", "node", "view", "taken_at", "provenance", "complete", "options")

    def read(name: str) -> Table:
        return _json(documents[name], f"{context}/{name}")

    return Recording(
        node=table.text("node"),
        view=_view(table),
        taken_at=_taken_at(table),
        provenance=table.text("provenance", ""),
        complete=_truth(table, "complete"),
        options=dict(table.pairs("options")) if "options" in table.values else {},
        commands=_commands(read(COMMANDS)) if COMMANDS in documents else {},
        environment=dict(read(ENVIRONMENT).pairs("")) if ENVIRONMENT in documents else {},
        unreadable=_unreadable(read(UNREADABLE)) if UNREADABLE in documents else {},
        paths=_paths(read(PATHS)) if PATHS in documents else {},
        objects=_objects(read(OBJECTS)) if OBJECTS in documents else {},
        symbols=_symbols(read(SYMBOLS).table("")) if SYMBOLS in documents else {},
        asked=frozenset(read(ASKED).texts("")) if ASKED in documents else None,
    )


def _check_schema(table: Table) -> None:
    schema = table.text("schema")
    if schema != SCHEMA:
        known = schema.startswith("mxenv.recording/")
        hint = "use a newer mxenv" if known else f'a recording says schema = "{SCHEMA}"'
        table.fail("schema", f"{schema!r} is not understood, only {SCHEMA!r}", hint=hint)


def _view(table: Table) -> View:
    text = table.text("view", View.HOST.value)
    if text not in list(View):
        table.fail("view", f"{text!r} is not one of {', '.join(View)}")
    return View(text)


def _taken_at(table: Table) -> datetime:
    value = table.values.get("taken_at")
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            table.fail("taken_at", f"{value!r} is not a time (ISO 8601)")
    if not isinstance(value, datetime):
        table.fail("taken_at", "missing" if value is None else "not a time")
    if value.tzinfo is None:
        table.fail("taken_at", "has no time zone", hint="as 2026-01-07T12:00:00Z")
    return value


def _truth(table: Table, name: str) -> bool:
    value = table.values.get(name, False)
    if not isinstance(value, bool):
        table.fail(name, "neither true nor false")
    return value


def _json(text: str, context: str) -> Table:
    """Return a document as the one field, named ``""``, of a table."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"not JSON: {error}", context=context) from None
    if value is None:
        raise RecordingError("null, which says nothing", context=context)
    if "\\u" in text:
        _hold_text(value, context)
    return Table(values={"": value}, context=context, error=RecordingError)


def _hold_text(value: object, context: str) -> None:
    """Refuse halves of characters, which JSON can hold and no file."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        raise RecordingError("not Unicode text", context=context) from None


def _commands(root: Table) -> dict[tuple[str, ...], Completed]:
    commands = {}
    for table in root.tables(""):
        table.only("argv", "returncode", "stdout", "stderr")
        argv = table.texts("argv")
        if not argv:
            table.fail("argv", "missing or empty")
        returncode = table.integer("returncode")
        commands[argv] = Completed(returncode, table.text("stdout", ""), table.text("stderr", ""))
    return commands


def _unreadable(root: Table) -> dict[str, Unreadable]:
    table = root.table("")
    reasons = {}
    for at, value in table.values.items():
        if isinstance(value, str):
            reasons[at] = Unreadable(value)
        else:
            inner = table.table(at)
            inner.only("reason", "passing")
            reasons[at] = Unreadable(inner.text("reason"), _truth(inner, "passing"))
    return reasons


def _objects(root: Table) -> dict[str, str]:
    table = root.table("")
    objects = {path: elf.compact(table.table(path).values) for path in table.values}
    if wrong := [path for path, text in objects.items() if elf.parse(text) is None]:
        table.fail(wrong[0], "not what is read of a shared object")
    return objects


def _symbols(table: Table) -> dict[str, tuple[str, ...]]:
    return {asked: table.texts(asked) for asked in table.values}


def _paths(root: Table) -> dict[str, Entry]:
    table = root.table("")
    return {path: _entry(table, path) for path in table.values}


def _entry(table: Table, path: str) -> Entry:
    if not path.startswith("/"):
        table.fail(path, "not an absolute path")
    inner = table.table(path)
    inner.only("kind", "size", "mode", "link", "sha256", "head", "space", "nowhere")
    kind = inner.text("kind", "")
    if kind and kind not in KINDS:
        inner.fail("kind", f"{kind!r} is not one of {', '.join(KINDS)}")
    return Entry(
        kind=kind,
        size=inner.integer("size", 0),
        mode=inner.integer("mode", 0),
        link=inner.text("link", ""),
        sha256=inner.text("sha256", ""),
        head=inner.integer("head", 0),
        space=inner.integer("space") if "space" in inner.values else None,
        nowhere=_truth(inner, "nowhere"),
    )
