from __future__ import annotations

import time
from itertools import count

import pytest

from mxenv.facts import Absent, Unreadable
from mxenv.identity import NO_UUID
from mxenv.patience import ENDLESS, LATE, Patience
from mxenv.question import (
    Answer,
    Answers,
    Command,
    Completed,
    Env,
    File,
    Found,
    Given,
    Glob,
    Link,
    Part,
    Question,
    Space,
    Stat,
    Status,
    Symbols,
)
from mxenv.redaction import AT_ONCE, clean, clean_answers

NONE = Unreadable("not asked in time", passing=True)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("HF_TOKEN=abc def", "HF_TOKEN=*** def"),
        ('"password": "x y"', '"password": "***"'),
        ("'password' = 'x \\' y', 'z'", "'password' = '***', 'z'"),
        ('password="x y', 'password="*** y'),
        ('"token": "", "a": "b"', '"token": "", "a": "b"'),
        ("api_key: abc", "api_key: ***"),
        ("'tokens' \t: abc", "'tokens' \t: ***"),
        ("cifs //server/x rw,username=alice,uid=0", "cifs //server/x rw,username=***,uid=0"),
        ("secret=token=abc", "secret=***"),
        ("https://me:word@host/x", "https://***@host/x"),
        ("git+ssh://git@host/x", "git+ssh://***@host/x"),
        ("https://host/@scope", "https://host/@scope"),
        ("Authorization: Bearer abcdefghij", "Authorization: Bearer ***"),
        (f"is ghp_{'a' * 36} here", "is *** here"),
        (f"AKIA{'A' * 16}", "***"),
        ("/home/alice/venv:/home/bob", "/home/user/venv:/home/user"),
        ("Board Serial Number   : AENA0000000000 ", "Board Serial Number   : *** "),
        ("chip_serial: TP0A00", "chip_serial: ***"),
        ("<serial>1650</serial>\n<b>1</b>", "<serial>***</serial>\n<b>1</b>"),
        (
            "<chassis_serial_number>A 12</chassis_serial_number>",
            "<chassis_serial_number>***</chassis_serial_number>",
        ),
        ("<serial>N/A</serial>", "<serial>N/A</serial>"),
        ("\u0130stanbul TOKEN=abc", "\u0130stanbul TOKEN=***"),
        ("Authorization: Basic YWxpY2U6eA==", "Authorization: Basic ***"),
        ('Authorization: Digest a="b"\nx', "Authorization: ***\nx"),
        ("Cookie: a=b; c=d", "Cookie: ***"),
        ("\u0130 cookie=a token=b", "\u0130 cookie=a ***"),
        ("/data/users/alice/x", "/data/users/user/x"),
        ("/Users/alice/x C:\\Users\\alice\\x ~alice/x", "/Users/user/x C:\\Users\\user\\x ~user/x"),
        ("alice@example.com", "***@example.com"),
        ("ether 0a:1b:2c:3d:4e:5f", "ether 00:00:00:00:00:00"),
        ("a\n-----BEGIN PRIVATE KEY-----\nx", "a\n***"),
        ("GPU-12345678-9abc-def0-1234-56789abcdef0", f"GPU-{NO_UUID}"),
    ],
)
def test_what_must_not_leave_a_node_is_masked(raw: str, kept: str) -> None:
    assert clean(raw) == kept


@pytest.mark.parametrize(
    "text",
    [
        "/home/*/venv",
        "material: steel",
        "xserial: 7",
        "token==1 : = n=",
        "tokenizers>=0.21",
        "task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "xhf_aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "deb:3:1.2.3-4\n\ttext",
        "İstanbul: Ünïcode",
    ],
)
def test_what_only_looks_alike_is_left(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07ok", "ok"),
        ("\x1b]8;;http://x\x1b\\ok", "ok"),
        ("\x1b(Bok\x1bM", "ok"),
        ("a\r\nb\x00\x9bc", "a\nbc"),
        ("/ho\x1b[1mme/alice", "/home/user"),
        ("admin\u202egnp.exe", "admingnp.exe"),
        ("\udc80caf\xe9", "\ufffdcaf\xe9"),
    ],
)
def test_nothing_that_drives_a_terminal_is_left(raw: str, kept: str) -> None:
    assert clean(raw) == kept


HOME, USER = "/home/alice/x", "/home/user/x"
NO = Unreadable(f"denied: {HOME}", passing=True)
CLEAN_NO = Unreadable(f"denied: {USER}", passing=True)
PAIRS: list[tuple[Question, Given, Question, Given]] = [
    (File(HOME), Found(HOME), File(USER), Found(USER)),
    (Link(HOME), NO, Link(USER), CLEAN_NO),
    (Stat(HOME), Found(Status("file", 3, 4)), Stat(USER), Found(Status("file", 3, 4))),
    (Space(HOME), Found(7), Space(USER), Found(7)),
    (Env("HOME"), Absent(), Env("HOME"), Absent()),
    (Env("HOME"), Found(HOME), Env("HOME"), Found(USER)),
    (Symbols(HOME, (HOME,)), Found(HOME), Symbols(USER, (USER,)), Found(USER)),
    (
        Command(("ls", HOME)),
        Completed(2, HOME, HOME),
        Command(("ls", USER)),
        Completed(2, USER, USER),
    ),
    (
        File("/proc/cmdline", Part.BOOT),
        Found("iommu=pt key=hunter2\n"),
        File("/proc/cmdline", Part.BOOT),
        Found("iommu=pt\n"),
    ),
    (File("/a", Part.BOOT), NO, File("/a", Part.BOOT), CLEAN_NO),
    (
        Glob("/etc/*.toml", Part.RUNTIMES),
        Found((("/etc/a.toml", Found("auth = 'hunter2'\n")), ("/etc/b.toml", Absent()))),
        Glob("/etc/*.toml", Part.RUNTIMES),
        Found((("/etc/a.toml", Found("")), ("/etc/b.toml", Absent()))),
    ),
    (
        Glob(f"{HOME}/*"),
        Found(((HOME, Found(HOME)), (f"{HOME}/b", NO), (f"{HOME}/c", Absent()))),
        Glob(f"{USER}/*"),
        Found(((USER, Found(USER)), (f"{USER}/b", CLEAN_NO), (f"{USER}/c", Absent()))),
    ),
]


@pytest.mark.parametrize(
    "raw",
    [
        "/home/alice/x",
        "token: abc",
        "https://u:p@h/x",
        "\x1b]0;title",
        "GPU-12345678-9abc-def0-1234-56789abcdef0",
        f"ghp_{'a' * 36}",
        "serial: 1",
    ],
)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_match_among_many_is_cleaned_as_it_would_be_alone(raw: str, at: int) -> None:
    matches: list[tuple[str, Answer[str]]] = [
        ("/a", Found("x")),
        ("/b", Absent()),
        ("/c", Unreadable("no")),
    ]
    matches[at] = (f"/{raw}", [Found(raw), Absent(), Unreadable(raw)][at])
    cleaned = clean_answers(Answers({Glob("/*"): Found(tuple(matches))}))[Glob("/*")]
    assert isinstance(cleaned, Found)
    path, part = cleaned.value[at]
    assert path == clean(f"/{raw}")
    assert part == [Found(clean(raw)), Absent(), Unreadable(clean(raw))][at]
    assert all(cleaned.value[n] == matches[n] for n in range(3) if n != at)


@pytest.mark.parametrize(("question", "given", "cleaned", "kept"), PAIRS)
def test_questions_are_cleaned_like_their_answers(
    question: Question, given: Given, cleaned: Question, kept: Given
) -> None:
    assert clean_answers(Answers({question: given})).given == {cleaned: kept}


def test_an_excerpt_is_taken_again_of_whatever_a_transport_hands_on() -> None:
    text = '{"url": "https://h/x", "dir_info": {}, "note": "hunter2"}'
    origin = File("/d/direct_url.json", Part.ORIGIN)
    programs = Glob("/proc/*/cmdline", Part.PROGRAM)
    given: dict[Question, Given] = {
        origin: Found(text),
        programs: Found((("/proc/7/cmdline", Found("/usr/bin/python3\0--key\0hunter2")),)),
    }
    cleaned = clean_answers(Answers(given))
    assert "hunter2" not in f"{cleaned}"
    assert cleaned[origin] == Found('{"dir_info": {}, "url": "https://h/x"}\n')


def test_matches_with_nothing_to_mask_are_handed_on_as_they_are() -> None:
    matches: Given = Found((("/a", Found("x")), ("/b", Absent()), ("/c", Unreadable("no"))))
    assert clean_answers(Answers({Glob("/*"): matches}))[Glob("/*")] == matches


def test_what_is_in_one_of_many_long_texts_is_masked_there() -> None:
    long = "a " * (AT_ONCE // 2 + 1)
    texts = (long, f"hf_{'a' * 30}", f"{long} sk-{'b' * 30}", "alice@example.com")
    asked = [File(f"/{n}") for n, _ in enumerate(texts)]
    given = Answers(dict(zip(asked, map(Found, texts), strict=True)))
    assert [clean_answers(given)[question] for question in asked] == [
        Found(clean(text)) for text in texts
    ]
    assert clean_answers(given)[asked[1]] == Found("***")


@pytest.mark.parametrize("piece", ["token:", "token:[a", "pass:pass=", "&key=", "roxy=a:"])
def test_many_words_in_a_row_take_no_more_time_each(piece: str) -> None:
    began = time.process_time()
    clean(piece * 20_000)
    # What looked at the rest of the line for each took thirty seconds.
    assert time.process_time() - began < 5


def test_a_list_is_masked_to_its_end_and_what_is_next_is_not() -> None:
    assert clean('{"tokens": ["a", "b"], "x": 1}') == '{"tokens": [***], "x": 1}'
    assert clean("sn-1 /data/sn:3 bypass:1") == "sn-1 /data/sn:3 bypass:1"


class TestTimeIsOver:
    """What could not be looked through is not let through."""

    LONG = Glob("/a/*", Part.WHOLE, 1 << 20)
    SHORT = File("/etc/os-release")

    def answers(self, patience: Patience) -> Answers:
        matches = tuple((f"/a/{n}", Found(f"token=secret{n} " + 90 * "x")) for n in range(20_000))
        return Answers(
            {self.LONG: Found(matches), self.SHORT: Found("ID=debian\n")}, NONE, patience
        )

    def test_the_shortest_answers_come_first_and_the_others_are_unreadable(self) -> None:
        looks = count(20, -1)
        cleaned = clean_answers(self.answers(Patience(lambda: next(looks))))
        assert cleaned[self.SHORT] == Found("ID=debian\n")
        assert cleaned[self.LONG] == LATE
        assert cleaned[File("/other")] == LATE

    def test_what_tells_nothing_comes_last(self) -> None:
        looks = count(20, -1)
        silent = {File(f"/nowhere/{number}"): NONE for number in range(20_000)}
        told = {File(f"/a/{number}"): Found(f"token=secret{number}") for number in range(100)}
        cleaned = clean_answers(Answers(silent | told, NONE, Patience(lambda: next(looks))))
        assert {cleaned[one] for one in told} == {Found("token=***")}
        assert cleaned[File("/nowhere/19999")] == LATE

    def test_of_two_with_one_name_what_was_read_is_known(self) -> None:
        homes = (File("/home/amy/x"), File("/home/bob/x"))
        for told in homes:
            cleaned = clean_answers(Answers({**dict.fromkeys(homes, NONE), told: Found("1")}))
            assert list(cleaned.given.values()) == [Found("1")]

    def test_with_time_enough_everything_is_masked(self) -> None:
        cleaned = clean_answers(self.answers(ENDLESS))
        assert cleaned[self.SHORT] == Found("ID=debian\n")
        assert "secret" not in str(cleaned[self.LONG])
        assert "token=***" in str(cleaned[self.LONG])
