"""Whatever becomes of a report on its way, each fact of it is the right one, or is not known."""

from __future__ import annotations

import html
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from mxenv.api import nodes
from mxenv.facts import Absent, Observed
from mxenv.probe import snapshot
from mxenv.transports._report_answers import understood
from mxenv.transports.report import ReportHost

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mxenv.facts import Snapshot

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
REPORTS = Path(__file__).parent.parent / "reports"
NAMES = sorted(path.name for path in REPORTS.iterdir() if path.name != "README.md")
SOUND = [name for name in NAMES if name not in {"contradiction.md", "html.html"}]
"""Of a report that contradicts itself, half says one thing; one in HTML cannot be wrapped again."""
PROSE = [
    "然后我又试了一次，还是不行。",  # noqa: RUF001 - as people write it
    "This is what I got (see above): it fails!",
    "Traceback (most recent call last):",
    '  File "/opt/x.py", line 3, in <module>',
    "RuntimeError: no device :-(",
    "",
    "> quoted",
    "- [ ] a bullet",
    "| a | table |",
    "```",
    "版本：未知",  # noqa: RUF001 - the same
    "100%|██████████| 10/10 [00:01<00:00,  9.99it/s]",
    "WARNING 11-06 10:11:12 [envs.py:8] torch is old",
]


@cache
def text_of(name: str) -> str:
    return (REPORTS / name).read_bytes().decode()


def seen(text: str) -> Snapshot:
    host = ReportHost("n", understood(text))
    return snapshot(nodes.probes(), nodes.ask(host), node="n", view=host.view, taken_at=NOON)


def _label(key: str, instance: str) -> tuple[str, str]:
    # An environment that is no longer named is still the same one.
    return key, instance.rpartition("/")[2] if key.startswith("python.package") else (
        "" if key.startswith("python.") else instance
    )


def known(snapshot: Snapshot) -> dict[tuple[str, str], set[object]]:
    found: dict[tuple[str, str], set[object]] = {}
    for fact in snapshot.facts:
        if isinstance(fact.reading, Observed) and fact.key != "python.site":
            found.setdefault(_label(fact.key, fact.instance), set()).add(fact.reading.value)
    return found


@cache
def truth(name: str) -> dict[tuple[str, str], set[object]]:
    return known(seen(text_of(name)))


@cache
def empty(name: str) -> frozenset[str]:
    return frozenset(f.key for f in seen(text_of(name)).facts if isinstance(f.reading, Absent))


def holds(name: str, text: str) -> None:
    """Hold what is read of a changed report against what is read of the report itself."""
    snapshot = seen(text)
    wrong = {
        label: values
        for label, values in known(snapshot).items()
        if not values <= truth(name).get(label, set())
    }
    assert wrong == {}
    assert {f.key for f in snapshot.facts if isinstance(f.reading, Absent)} <= empty(name)


def same(name: str, text: str) -> None:
    assert known(seen(text)) == truth(name)


names = st.sampled_from(SOUND)


@given(names, st.data())
def test_a_report_may_be_cut_at_any_byte(name: str, data: st.DataObject) -> None:
    content = text_of(name).encode()
    end = data.draw(st.integers(0, len(content)))
    holds(name, content[:end].decode(errors="replace"))


@given(names, st.data())
def test_a_report_may_begin_at_any_line(name: str, data: st.DataObject) -> None:
    lines = text_of(name).splitlines(keepends=True)
    start = data.draw(st.integers(0, len(lines)))
    holds(name, "".join(lines[start:]))


@given(names, st.data())
def test_lines_may_be_missing(name: str, data: st.DataObject) -> None:
    lines = text_of(name).splitlines(keepends=True)
    gone = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=12))
    holds(name, "".join(line for n, line in enumerate(lines) if n not in gone))


@given(names, st.data())
def test_a_stretch_of_lines_may_be_missing(name: str, data: st.DataObject) -> None:
    lines = text_of(name).splitlines(keepends=True)
    start = data.draw(st.integers(0, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    holds(name, "".join([*lines[:start], *lines[end:]]))


@given(names, st.data())
def test_prose_may_stand_between(name: str, data: st.DataObject) -> None:
    lines = text_of(name).splitlines(keepends=True)
    places = st.lists(st.tuples(st.integers(0, len(lines)), st.sampled_from(PROSE)), max_size=6)
    for at, prose in data.draw(places):
        lines.insert(at, f"{prose}\n")
    holds(name, "".join(lines))


def _quoted(text: str) -> str:
    return "".join(f"> {line}" for line in text.splitlines(keepends=True))


def _indented(text: str) -> str:
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


def _coloured(text: str) -> str:
    return "".join(f"\x1b[1;32m{line}\x1b[0m\n" for line in text.splitlines())


def _windows(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _entities(text: str) -> str:
    return html.escape(text) if "<" not in text else text


def _spaced(text: str) -> str:
    return "".join(f"{line.rstrip()}  \t\n" for line in text.splitlines())


WRAPPINGS: tuple[Callable[[str], str], ...] = (
    _quoted,
    _indented,
    _coloured,
    _windows,
    _entities,
    _spaced,
    lambda text: f"<details>\n<summary>all of it</summary>\n\n{text}\n</details>\n",
    lambda text: f"<details>\n\n~~~\n{text}\n~~~\n\n</details>\n",
    lambda text: f"\ufeff{text}",
)


@given(names, st.lists(st.sampled_from(WRAPPINGS), max_size=4, unique=True))
def test_a_report_may_be_wrapped_in_anything(
    name: str, wrappings: list[Callable[[str], str]]
) -> None:
    text = text_of(name)
    for wrapped in wrappings:
        text = wrapped(text)
    if name != "pip-freeze-only.txt":
        same(name, text)
    holds(name, text)


PARTS = ["mx-smi-transcript.md", "tables.md", "pip-list-and-conda.md", "nvidia-smi.md", "pod.md"]


@given(st.permutations(PARTS[:1] + PARTS[2:4]))
def test_parts_may_stand_in_any_order(order: list[str]) -> None:
    text = "\n\n## next\n\n".join(text_of(name) for name in order)
    together = known(seen(text))
    for name in order:
        for label, values in truth(name).items():
            assert together.get(label, values) == values or label[0].startswith("python.")
    assert together["metax.kmd", ""] == {"3.4.5"}
    assert together["nvidia.kmd", ""] == {"535.183.02"}


@given(names, st.randoms(use_true_random=False))
def test_paragraphs_may_stand_in_any_order(name: str, random: Random) -> None:
    paragraphs = text_of(name).replace("\r\n", "\n").split("\n\n")
    random.shuffle(paragraphs)
    holds(name, "\n\n".join(paragraphs))


@given(st.text(max_size=400))
def test_any_text_is_a_report(text: str) -> None:
    seen(f"{text}\n")


TOKENS = st.sampled_from(
    [
        *("mx-smi  version: 2.2.9", "GPU#0    MXC500      0000:0e:00.0   Available", "|", "+--+"),
        *("[pip3] torch==2.8.0", "Package Version", "# packages in environment at /a:", "$ "),
        *("| MX-SMI 2.2.9   Kernel Mode Driver Version: 3.4.5 |", "Attached GPUs : 8", "{", "}"),
        *("ID=ubuntu", 'VERSION_ID="22.04"', "$ pip freeze", "a==1", "End of Log", "```", "> "),
        *("Device link type matrix", "GPU0 X", '[{"name": 1}]', '[{"name"', "torch 1.0 /x", "> >"),
        *(
            "On-line CPU(s) list: 0-99999999",
            "Model name: x",
            "Linux a 5.1.1 #1 x x86_64 GNU/Linux",
        ),
        *(
            "filename: /lib/modules/x/metax.ko",
            "version: 3.4.5",
            "Using Python 3.1.1 environment at: /",
        ),
    ]
)


@given(st.lists(TOKENS, max_size=30))
def test_pieces_of_reports_in_any_order_are_a_report(lines: list[str]) -> None:
    seen("".join(f"{line}\n" for line in lines))
