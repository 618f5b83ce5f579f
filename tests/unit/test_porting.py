from __future__ import annotations

from mxenv.inventory import Change, Hit
from mxenv.porting import KINDS, effort, places

KERNEL = Hit(file="a.cu", line=3, kind="cuda-kernel", name="add")


def hit(line: int, kind: str, *, file: str = "a.cu", name: str = "", area: str = "main") -> Hit:
    return Hit(file=file, line=line, kind=kind, name=name, area=area)


def test_every_kernel_is_a_place_and_a_kernel_told_twice_is_one() -> None:
    again = hit(9, "cuda-kernel", name="add")
    other = hit(20, "cuda-kernel", name="mul")
    found = places([other, again, KERNEL])
    assert [(place.line, place.name, len(place.hits)) for place in found] == [
        (3, "add", 2),
        (20, "mul", 1),
    ]


def test_what_is_alike_in_one_file_is_one_place_and_the_dearest_says_what_to_do() -> None:
    found = places(
        [
            hit(1, "warp-size"),
            hit(2, "warp-intrinsic"),
            hit(2, "warp-size", file="b.cu"),
            hit(5, "arch-flag", file="setup.py"),
            hit(6, "extension-build", file="setup.py"),
        ]
    )
    assert [(place.file, place.line, place.change) for place in found] == [
        ("a.cu", 1, Change.EDIT),
        ("b.cu", 2, Change.EDIT),
        ("setup.py", 5, Change.CONFIGURATION),
    ]


def test_places_without_a_name_are_told_apart_by_their_lines() -> None:
    assert len(places([hit(1, "inline-ptx"), hit(2, "inline-ptx")])) == 2


def test_code_of_others_is_no_place() -> None:
    assert places([hit(1, "inline-ptx", area=area) for area in ("test", "vendored")]) == ()


def test_effort_counts_places_by_what_has_to_be_done() -> None:
    found = places([KERNEL, hit(5, "inline-ptx"), hit(7, "warp-size")])
    assert effort(found) == {
        Change.NONE: 1,
        Change.CONFIGURATION: 0,
        Change.EDIT: 1,
        Change.REWRITE: 1,
    }
    assert effort([]) == dict.fromkeys(Change, 0)


def test_every_kind_says_why_it_matters() -> None:
    for kind in KINDS.values():
        assert kind.title
        assert kind.why
        assert not kind.why.endswith(".")
