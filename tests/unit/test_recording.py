from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mxenv.errors import RecordingError
from mxenv.facts import Unreadable, View
from mxenv.question import (
    Command,
    Completed,
    Env,
    File,
    Glob,
    Link,
    Option,
    Part,
    Question,
    Space,
    Stat,
    Symbols,
)
from mxenv.recording import Entry, name, parse, place

MAIN = """\
schema = "mxenv.recording/1"
node = "n"
taken_at = 2026-01-07T00:00:00Z
"""


def documents(main: str = MAIN, **others: Any) -> dict[str, str]:
    return {
        "recording.toml": main,
        **{f"{name}.json": json.dumps(value) for name, value in others.items()},
    }


def test_a_recording_needs_no_more_than_its_main_document() -> None:
    recording = parse(documents(), context="r")
    assert (recording.node, recording.view) == ("n", View.HOST)
    assert recording.taken_at == datetime(2026, 1, 7, tzinfo=UTC)
    assert not recording.complete
    assert recording.asked is None


def test_every_document_is_read() -> None:
    main = MAIN + 'view = "image"\nprovenance = "p"\ncomplete = true\n'
    recording = parse(
        documents(
            main,
            commands=[{"argv": ["a", "b"], "returncode": 3, "stdout": "x"}],
            environment={"NAME": "value", "EMPTY": ""},
            unreadable={"/a": "denied", "/b": {"reason": "late", "passing": True}},
            paths={"/d": {"kind": "char", "size": 1, "mode": 2}, "/s": {"space": 0}, "/e": {}},
            asked=["file /a"],
        ),
        context="r",
    )
    assert (recording.view, recording.provenance, recording.complete) == (View.IMAGE, "p", True)
    assert recording.commands == {("a", "b"): Completed(3, "x")}
    assert recording.environment == {"NAME": "value", "EMPTY": ""}
    assert recording.unreadable == {"/a": Unreadable("denied"), "/b": Unreadable("late", True)}
    assert recording.paths == {
        "/d": Entry(kind="char", size=1, mode=2),
        "/s": Entry(space=0),
        "/e": Entry(),
    }
    assert recording.asked == {"file /a"}


def test_the_time_may_be_a_string() -> None:
    main = MAIN.replace("2026-01-07T00:00:00Z", '"2026-01-07T00:00:00+00:00"')
    assert parse(documents(main), context="r").taken_at == datetime(2026, 1, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wrong", "context", "message"),
    [
        ({}, "r", "not a recording: it has no recording.toml"),
        (documents("x"), "r/recording.toml", "not TOML"),
        (documents(MAIN.replace("/1", "/9")), "r/recording.toml: schema", "is not understood"),
        (documents(MAIN.replace("mxenv.", "")), "r/recording.toml: schema", "is not understood"),
        (documents(MAIN + "x = 1"), "r/recording.toml: x", "unknown field"),
        (documents(MAIN.replace("node", "# ")), "r/recording.toml: node", "missing"),
        (documents(MAIN + 'view = "moon"'), "r/recording.toml: view", "'moon' is not one of"),
        (documents(MAIN + "complete = 1"), "r/recording.toml: complete", "neither true nor false"),
        (
            documents(MAIN.replace("taken_at", "# ")),
            "r/recording.toml: taken_at",
            "missing",
        ),
        (
            documents(MAIN.replace("2026-01-07T00:00:00Z", "1")),
            "r/recording.toml: taken_at",
            "not a time",
        ),
        (
            documents(MAIN.replace("2026-01-07T00:00:00Z", '"noon"')),
            "r/recording.toml: taken_at",
            "'noon' is not a time",
        ),
        (
            documents(MAIN.replace("00:00Z", "00:00")),
            "r/recording.toml: taken_at",
            "has no time zone",
        ),
        ({**documents(), "commands.json": "{"}, "r/commands.json", "not JSON"),
        ({**documents(), "environment.json": "null"}, "r/environment.json", "null"),
        ({**documents(), "environment.json": '{"A": "\\ud800"}'}, "r/environment.json", "Unicode"),
        ({**documents(), "commands.json": "[" * 100_000}, "r/commands.json", "not JSON"),
        (documents(commands=[1]), "r/commands.json: [0]", "a number where a table belongs"),
        (documents(commands=[{"x": 1}]), "r/commands.json: [0].x", "unknown field"),
        (documents(commands=[{"argv": []}]), "r/commands.json: [0].argv", "missing or empty"),
        (
            documents(commands=[{"argv": ["a"], "returncode": "0"}]),
            "r/commands.json: [0].returncode",
            "a string where a whole number belongs",
        ),
        (documents(environment={"A": 1}), "r/environment.json: A", "a number where a string"),
        (documents(unreadable={"/a": {"why": "x"}}), "r/unreadable.json: /a.why", "unknown field"),
        (documents(paths={"a": {}}), "r/paths.json: a", "not an absolute path"),
        (documents(paths={"/a": {"kind": "x"}}), "r/paths.json: /a.kind", "'x' is not one of"),
        (documents(objects={"/a": 1}), "r/objects.json: /a", "a number where a table belongs"),
        (documents(objects={"/a": {}}), "r/objects.json: /a", "not what is read of"),
        (documents(symbols={"symbols /a": [1]}), "r/symbols.json: symbols /a[0]", "a number"),
        (documents(asked=[1]), "r/asked.json: [0]", "a number where a string belongs"),
    ],
)
def test_every_flaw_is_named_by_its_document_and_place(
    wrong: dict[str, str], context: str, message: str
) -> None:
    with pytest.raises(RecordingError) as raised:
        parse(wrong, context="r")
    assert raised.value.context == context
    assert message in raised.value.message


QUESTIONS: list[tuple[Question, str, str]] = [
    (File("/a"), "file /a", "/a"),
    (File("/a", Part.HEAD), "file /a", "/a"),
    (File("/a", Part.DIGEST), "digest /a", "/a"),
    (File("/a", Part.ELF), "elf /a", "elf: /a"),
    (Symbols("/a", ("/b", "/c d")), "symbols /a /b '/c d'", "symbols /a /b '/c d'"),
    (Option("deep"), "option deep", "option: deep"),
    (Glob("/a/*"), "paths /a/*", "glob: /a/*"),
    (Glob("/a/*", Part.WHOLE), "files /a/*", "glob: /a/*"),
    (Link("/a"), "link /a", "/a"),
    (Stat("/a"), "stat /a", "/a"),
    (Space("/a"), "space /a", "space: /a"),
    (Env("A"), "environment A", "environment: A"),
    (Command(("a", "b c")), "command a 'b c'", "command: a 'b c'"),
]


@pytest.mark.parametrize(("question", "asked", "about"), QUESTIONS)
def test_every_question_has_a_name_and_is_about_something(
    question: Question, asked: str, about: str
) -> None:
    assert (name(question), place(question)) == (asked, about)


def test_what_is_missing_was_absent_only_if_it_was_asked_of_a_complete_recording() -> None:
    part = parse(documents(), context="r")
    complete = parse(documents(MAIN + "complete = true"), context="r")
    listed = parse(documents(MAIN + "complete = true", asked=["file /a"]), context="r")
    assert not part.knows(File("/a"))
    assert complete.knows(File("/b"))
    assert listed.knows(File("/a"))
    assert not listed.knows(File("/b"))
