"""What lines pin for one environment is one set, and is judged as a set."""

from __future__ import annotations

import pytest
from _stacks import matrix

from mxenv import belonging, requirement_lines, stages
from mxenv.asked import Asked, Source
from mxenv.declared import Link, judge
from mxenv.scene import Ground, Surroundings
from mxenv.verdict import Place

MATRIX = matrix("""
[[rule]]
id = "abi"
text = "a wheel whose tag names a torch line is loaded by that torch only"
agree = [{ left = "python.package[*].torch", right = "python.package[torch]", fields = 2 }]
EVIDENCE

[[release]]
id = "old"
sdk = "3.5.3.*"
EVIDENCE
[release.components]
torch = "2.8.0+metax3.5.3.9"
flash-attn = "2.6.3+metax3.5.3.9torch2.8"
vllm = "0.17.0"
vllm-metax = "0.17.0"

[[release]]
id = "new"
sdk = "3.8.0.*"
EVIDENCE
[release.components]
torch = "2.10.0+metax3.8.0.7"
flash-attn = "2.6.3+metax3.8.0.7torch2.10"
apex = "0.1+metax3.8.0.7"
vllm = "0.22.0"
vllm-metax = "0.22.0"
""")
OLD = "torch==2.8.0+metax3.5.3.9"
OLD_FLASH = "flash-attn==2.6.3+metax3.5.3.9torch2.8"
NEW = "torch==2.10.0+metax3.8.0.7"
NEW_FLASH = "flash-attn==2.6.3+metax3.8.0.7torch2.10"
AROUND = Surroundings(published={}, matrix=MATRIX)
MIXED = ("MX110", "incompatible")
BROKEN = ("MX111", "incompatible")
BASE = "registry.example.org/a@sha256:" + "ab" * 32

Told = list[tuple[str, str, str]]


def requirements(file: str, *lines: str) -> Source:
    statements = tuple(requirement_lines.parse("\n".join(lines), file=file))
    return Source(file=file, kind="requirements", statements=statements)


def containerfile(*lines: str) -> Source:
    statements = tuple(stages.parse("\n".join(lines), file="C"))
    return Source(file="C", kind="Containerfile", statements=statements)


def told(*sources: Source, links: tuple[Link, ...] = (), around: Surroundings = AROUND) -> Told:
    found = judge(sources, links, around)
    return [
        (one.code, one.outcome.word, str(one.place))
        for findings in found.values()
        for one in findings
        if one.code not in {"MX410", "MX412", "MX416"}
    ]


@pytest.mark.parametrize(
    "lines",
    [
        (OLD, OLD_FLASH),
        (NEW, NEW_FLASH, "apex==0.1+metax3.8.0.7", "vllm==0.22.0", "vllm-metax==0.22.0"),
        ("vllm==0.17.0", "vllm-metax==0.17.0"),
        (NEW, "numpy==1.26.4"),
        ("torch==2.11.0", "vllm==0.23.0"),  # for whatever cards: nothing is the vendor's
        ("numpy==1.26.4",),
    ],
)
def test_pins_of_one_release_belong_together(lines: tuple[str, ...]) -> None:
    assert told(requirements("r.txt", *lines)) == []


def test_pins_of_two_releases_are_a_mixture_at_the_line_of_the_odd_one() -> None:
    lines = ("numpy", NEW, "apex==0.1+metax3.8.0.7", OLD_FLASH)
    assert told(requirements("r.txt", *lines)) == [
        (*MIXED, "r.txt:4"),
        (*BROKEN, "r.txt:4"),
    ]


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (("torch==9.9.9+metax9.9.9.9",), 1),
        ((NEW, "new==1+metax3.8.0.7"), 2),
    ],
)
def test_a_version_that_no_row_has_is_unknown(lines: tuple[str, ...], line: int) -> None:
    assert told(requirements("r.txt", *lines)) == [("MX108", "unknown", f"r.txt:{line}")]


def test_a_version_that_a_row_has_beside_others_is_unknown() -> None:
    found = judge([requirements("r.txt", OLD, "vllm-metax==0.22.0")], (), AROUND)["r.txt"]
    assert [(one.subject, one.expected) for one in found] == [
        ("torch", "beside it vllm-metax 0.17.0, as test.toml:release:old has it"),
        ("vllm-metax", "beside it torch 2.10.0+metax3.8.0.7, as test.toml:release:new has it"),
    ]


def test_files_that_name_one_another_are_one_set_and_others_are_not() -> None:
    one, other = requirements("a/r.txt", NEW), requirements("b/r.txt", OLD_FLASH)
    assert told(one, other) == []
    third = requirements("c/r.txt")
    links = (
        Link(origin="a/r.txt", target="c/r.txt"),
        Link(origin="c/r.txt", target="b/r.txt"),
        Link(origin="b/r.txt", target="c/r.txt"),
    )
    assert MIXED in {found[:2] for found in told(one, other, third, links=links)}


def test_a_stage_has_what_its_base_installs_and_not_what_its_sisters_do() -> None:
    assert told(containerfile(f"FROM {BASE} AS a", f"RUN pip install {NEW}", "FROM a",
                              f"RUN pip install {OLD_FLASH}", "FROM a",
                              f"RUN pip install {NEW_FLASH}")) == [
        (*MIXED, "C:2"), (*BROKEN, "C:4"),
    ]  # fmt: skip
    assert told(containerfile(f"FROM {BASE}", f"RUN pip install {NEW}", f"FROM {BASE}",
                              f"RUN pip install {OLD_FLASH}")) == []  # fmt: skip


def test_in_a_stage_the_last_pin_counts() -> None:
    first, second = f"RUN pip install {OLD}", f"RUN pip install {NEW} {NEW_FLASH}"
    assert told(containerfile(f"FROM {BASE}", first, second)) == []


def test_a_file_that_a_stage_installs_is_part_of_it() -> None:
    named = requirements("r.txt", NEW)
    link = Link(origin="C", target="r.txt", base=BASE, stages=(1,))
    source = containerfile(f"FROM {BASE}", f"RUN pip install {OLD_FLASH}")
    assert told(source, named, links=(link,)) == [(*BROKEN, "C:2"), (*MIXED, "r.txt:1")]
    only = containerfile(f"FROM {BASE}")
    assert told(only, requirements("r.txt", NEW, OLD_FLASH), links=(link,))[0][:2] == MIXED


def test_what_a_lock_holds_is_beside_what_a_line_pins() -> None:
    place = Place(file="pylock.x.toml")
    held = {"torch": ("2.10.0+metax3.8.0.7", place), "numpy": ("", place)}
    ground = Ground(reference=BASE, accelerator="metax", place=place, held=held)
    around = Surroundings(grounds=(ground,), published={}, matrix=MATRIX)
    assert told(requirements("r.txt", OLD_FLASH), around=around) == [
        (*MIXED, "r.txt:1"),
        (*BROKEN, "r.txt:1"),
    ]
    assert told(requirements("r.txt", NEW_FLASH), around=around) == []


def test_pins_that_contradict_one_another_are_told_once_and_elsewhere() -> None:
    assert told(requirements("r.txt", OLD, NEW, NEW_FLASH)) == []


def test_pins_for_different_systems_or_extras_do_not_meet() -> None:
    old, new = f"{OLD}; python_version < '3.11'", f"{NEW}; python_version >= '3.11'"
    assert told(requirements("r.txt", old, new, f"{NEW_FLASH}; python_version >= '3.11'")) == []
    assert told(requirements("r.txt", old, new, NEW_FLASH)) == [
        (*MIXED, "r.txt:3"),
        (*BROKEN, "r.txt:3"),
    ]


def test_two_extras_are_two_sets_and_each_is_one_with_what_is_always_asked_for() -> None:
    def line(text: str, number: int, alternative: str = "") -> Asked:
        name, _, version = text.partition("==")
        place = Place(file="p", line=number)
        return Asked(name=name, specifier=f"=={version}", text=text, place=place,
                     alternative=alternative)  # fmt: skip

    asked = (line("a==1", 1), line("b==2", 2, "x"), line("b==3", 3, "y"))
    sets = [dict(one.versions) for one in belonging.pinned(asked, {"c": "4"}, last=False)]
    assert sets == [
        {"a": "1", "c": "4"},
        {"a": "1", "b": "2", "c": "4"},
        {"a": "1", "b": "3", "c": "4"},
    ]


def test_where_no_line_counts_there_is_no_set() -> None:
    lines = requirements("r.txt", OLD, NEW).statements
    asked = [one for one in lines if isinstance(one, Asked)]
    assert not list(belonging.pinned(asked, {}, last=False))
