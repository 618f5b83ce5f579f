from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mxenv.facts import Absent, Unreadable, View
from mxenv.question import (
    Answers,
    Command,
    Completed,
    Env,
    File,
    Found,
    Given,
    Glob,
    Link,
    Option,
    Part,
    Question,
    Space,
    Stat,
    Status,
    Symbols,
)
from mxenv.recorder import render
from mxenv.recording import parse

NOW = datetime(2026, 1, 7, tzinfo=UTC)


def recorded(given: dict[Question, Given]) -> dict[str, bytes]:
    return render(Answers(given), node="n", view=View.HOST, taken_at=NOW, provenance='"p"')


def paths(given: dict[Question, Given]) -> Any:
    return json.loads(recorded(given)["paths.json"])


def test_what_is_rendered_is_a_complete_recording() -> None:
    files = recorded({})
    documents = {name: content.decode() for name, content in files.items()}
    recording = parse(documents, context="r")
    assert (recording.node, recording.taken_at, recording.provenance) == ("n", NOW, '"p"')
    assert recording.complete
    assert recording.asked == set()


def test_every_kind_of_answer_is_taken_down() -> None:
    files = recorded(
        {
            File("/a/whole"): Found("text\n"),
            File("/a/none"): Absent(),
            File("/a/denied"): Unreadable("denied"),
            Env("A"): Found("1"),
            Command(("c",)): Completed(3, "out", "err"),
            Link("/l"): Found("/a"),
            Stat("/s"): Found(Status("char", 1, 2)),
            Space("/"): Unreadable("late", passing=True),
            Space("/srv"): Found(0),
        }
    )
    texts = {name: content.decode() for name, content in files.items()}
    assert texts["root/a/whole"] == "text\n"
    assert json.loads(texts["environment.json"]) == {"A": "1"}
    assert json.loads(texts["commands.json"]) == [
        {"argv": ["c"], "returncode": 3, "stdout": "out", "stderr": "err"}
    ]
    assert json.loads(texts["paths.json"]) == {
        "/l": {"link": "/a"},
        "/s": {"kind": "char", "size": 1, "mode": 2},
        "/srv": {"space": 0},
    }
    assert json.loads(texts["unreadable.json"]) == {
        "/a/denied": "denied",
        "space: /": {"reason": "late", "passing": True},
    }
    assert "file /a/none" in json.loads(texts["asked.json"])


def test_a_late_answer_is_a_passing_one_in_the_recording_too() -> None:
    files = recorded({Command(("c",)): Unreadable("late", passing=True)})
    told = json.loads(files["unreadable.json"])
    assert told == {"command: c": {"reason": "late", "passing": True}}


def test_the_matches_of_a_pattern_are_kept_each_in_its_part() -> None:
    glob = Glob("/d/*/f", Part.HEAD, 4)
    answer = Found(
        (
            ("/d/a/f", Found("head")),
            ("/d/b", Unreadable("denied")),
            ("/d/c/f", Unreadable("a directory")),
            ("/d/e/f", Absent()),
            ("/d/../f", Found("out")),
        )
    )
    files = recorded({glob: answer})
    assert files["root/d/a/f"] == b"head"
    assert json.loads(files["paths.json"]) == {
        "/d/a/f": {"head": 4},
        "/d/b": {"kind": "directory"},
        "/d/c/f": {},
        "/d/e/f": {"nowhere": True},
    }
    assert json.loads(files["unreadable.json"]) == {"/d/b": "denied", "/d/c/f": "a directory"}
    assert not any(".." in name for name in files)


@pytest.mark.parametrize(
    ("part", "entry"),
    [(None, {}), (Part.LINK, {"link": "x"}), (Part.DIGEST, {"sha256": "x"}), (Part.ELF, {})],
)
def test_a_part_that_is_no_content_is_noted_beside_the_path(
    part: Part | None, entry: dict[str, str]
) -> None:
    assert paths({Glob("/*", part): Found((("/a", Found("x")),))}) == {"/a": entry}


def test_of_a_list_of_files_the_names_are_kept_and_the_digest_beside_them() -> None:
    files = recorded({File("/RECORD", Part.RECORD): Found("0a1b\nsix.py\n")})
    assert files["root/RECORD"] == b"six.py\n"
    assert json.loads(files["paths.json"]) == {"/RECORD": {"sha256": "0a1b"}}


@pytest.mark.parametrize("part", [Part.METADATA, Part.ORIGIN, Part.PROGRAM])
def test_an_excerpt_is_kept_unless_the_whole_is(part: Part) -> None:
    short, whole = File("/a", part), File("/a")
    for given in (
        {short: Found("ab"), whole: Found("abcd")},
        {whole: Found("abcd"), short: Found("ab")},
    ):
        assert recorded(dict(given))["root/a"] == b"abcd"
    assert recorded({short: Found("ab")})["root/a"] == b"ab"


def test_the_longest_content_that_was_asked_for_is_kept() -> None:
    short, long = File("/a", Part.HEAD, 2), File("/a", Part.HEAD, 4)
    for given in (
        {short: Found("ab"), long: Found("abcd")},
        {long: Found("abcd"), short: Found("ab")},
    ):
        files = recorded(dict(given))
        assert files["root/a"] == b"abcd"
        assert json.loads(files["paths.json"]) == {"/a": {"head": 4}}


def test_a_whole_content_is_kept_whole_whatever_else_was_asked() -> None:
    head, whole = File("/a", Part.HEAD, 2), File("/a")
    for given in (
        {head: Found("ab"), whole: Found("abcd")},
        {whole: Found("abcd"), head: Found("ab")},
    ):
        files = recorded(dict(given))
        assert files["root/a"] == b"abcd"
        assert json.loads(files["paths.json"]).get("/a", {}) == {}


def test_the_packages_of_a_database_are_kept_unless_the_whole_of_it_is() -> None:
    packages, whole = File("/a", Part.PACKAGES), File("/a")
    assert recorded({packages: Found("a 1")})["root/a"] == b"a 1"
    for given in (
        {packages: Found("a 1"), whole: Found("a 1 and more")},
        {whole: Found("a 1 and more"), packages: Found("a 1")},
    ):
        assert recorded(dict(given))["root/a"] == b"a 1 and more"


@pytest.mark.parametrize("path", ["/../etc/x", "/a/./b", "/a//b", "a", f"/{'x' * 256}", "/"])
def test_a_path_that_no_folder_can_hold_counts_as_never_asked(path: str) -> None:
    files = recorded({File(path): Found("x")})
    assert json.loads(files["asked.json"]) == []
    assert not any(name.startswith("root") for name in files)


def test_of_a_file_inside_a_file_only_the_outer_one_is_kept() -> None:
    files = recorded({File("/a"): Found("x"), File("/a/b/c"): Found("y")})
    assert "root/a" in files
    assert "root/a/b/c" not in files


def test_equal_answers_give_equal_bytes_in_any_order() -> None:
    given: dict[Question, Given] = {File(f"/{n}"): Found("x") for n in range(9)}
    assert recorded(given) == recorded(dict(reversed(given.items())))


def test_an_answer_to_another_question_is_a_bug_and_says_so() -> None:
    with pytest.raises(TypeError, match="no answer to"):
        recorded({Stat("/a"): Found("x")})


class TestSharedObjects:
    """What was read of them is kept in a document of its own, as a table one can read."""

    TEXT = '{"bits":64,"machine":"x86_64","needed":["libc.so.6"],"soname":"a.so"}'

    def test_what_was_read_is_given_again_letter_by_letter(self) -> None:
        files = recorded(
            {
                File("/a.so", Part.ELF): Found(self.TEXT),
                Glob("/lib/*.so", Part.ELF): Found((("/lib/b.so", Found(self.TEXT)),)),
            }
        )
        assert json.loads(files["objects.json"])["/a.so"]["needed"] == ["libc.so.6"]
        recording = parse({name: text.decode() for name, text in files.items()}, context="r")
        assert recording.objects == {"/a.so": self.TEXT, "/lib/b.so": self.TEXT}
        assert set(recording.paths) == {"/a.so", "/lib/b.so"}

    def test_one_that_cannot_be_read_may_be_text_that_can(self) -> None:
        said = {
            File("/libc.so"): Found("GROUP ( libc.so.6 )"),
            Glob("/*.so", Part.ELF): Found((("/libc.so", Unreadable("not an ELF file")),)),
            File("/b.so", Part.ELF): Unreadable("ends early"),
        }
        reasons = json.loads(recorded(said)["unreadable.json"])
        assert reasons == {"elf: /libc.so": "not an ELF file", "elf: /b.so": "ends early"}

    def test_one_that_is_no_table_any_more_was_masked(self) -> None:
        files = recorded({File("/a.so", Part.ELF): Found('{"machine":***}')})
        assert json.loads(files["unreadable.json"]) == {"elf: /a.so": "not to be told"}
        assert "objects.json" not in files

    def test_symbols_are_kept_by_their_question(self) -> None:
        asked = Symbols("/a.so", ("/b.so", "/c.so"))
        files = recorded(
            {
                asked: Found("f\ng@V_1\n"),
                Symbols("/b.so", ()): Found(""),
                Symbols("/c.so", ()): Unreadable("ends early"),
            }
        )
        kept = {"symbols /a.so /b.so /c.so": ["f", "g@V_1"], "symbols /b.so": []}
        assert json.loads(files["symbols.json"]) == kept
        assert json.loads(files["unreadable.json"]) == {"symbols /c.so": "ends early"}
        recording = parse({name: text.decode() for name, text in files.items()}, context="r")
        assert recording.symbols == {question: tuple(names) for question, names in kept.items()}


def test_what_was_wanted_beyond_the_usual_is_kept() -> None:
    main = recorded({Option("deep"): Found("yes"), Option("python"): Absent()})["recording.toml"]
    assert parse({"recording.toml": main.decode()}, context="r").options == {"deep": "yes"}
