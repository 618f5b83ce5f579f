from __future__ import annotations

import json

import pytest

from mxenv.elf import Elf, numbers, order, parse, render, search_path

WHOLE = Elf(
    machine="x86_64",
    bits=64,
    soname="libop.so.1",
    needed=("libc10.so", "libc.so.6"),
    rpath=("/opt/lib",),
    runpath=("$ORIGIN", "$ORIGIN/../torch/lib"),
    needs=(("libc.so.6", ("GLIBC_2.14", "GLIBC_2.34")), ("libm.so.6", ("GLIBC_2.29",))),
    provides=("OP_1.0",),
    cxx11="1",
)


@pytest.mark.parametrize("elf", [WHOLE, Elf(machine="aarch64", bits=32)])
def test_what_was_written_is_read_back(elf: Elf) -> None:
    assert parse(render(elf)) == elf


def test_the_text_is_one_line_and_leaves_out_what_is_empty() -> None:
    assert render(Elf(machine="x86_64")) == '{"bits":64,"machine":"x86_64"}'
    assert "\n" not in render(WHOLE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "null",
        "[]",
        "{}",
        '{"bits":64}',
        '{"bits":64,"machine":1}',
        '{"bits":16,"machine":"x86_64"}',
        '{"bits":64,"machine":"x86_64","needed":"libc.so.6"}',
        '{"bits":64,"machine":"x86_64","needed":[6]}',
        '{"bits":64,"machine":"x86_64","needs":[]}',
        '{"bits":64,"machine":"x86_64","needs":{"libc.so.6":"GLIBC_2.34"}}',
        '{"bits":64,"machine":"x86_64","cxx11":1}',
        '{"bits":[64],"machine":"x86_64"}',
        '{"bits":64,"machine":""}',
    ],
)
def test_what_nobody_wrote_is_not_believed(text: str) -> None:
    assert parse(text) is None


def test_a_field_of_a_later_mxenv_is_passed_over() -> None:
    assert parse(json.dumps({"bits": 64, "machine": "x86_64", "later": 1})) == Elf(machine="x86_64")


def test_the_versions_that_are_needed_are_those_of_all_libraries() -> None:
    assert WHOLE.needed_versions == ("GLIBC_2.14", "GLIBC_2.34", "GLIBC_2.29")


def test_versions_order_by_their_numbers_and_private_ones_have_none() -> None:
    names = [
        "GLIBC_2.4",
        "GLIBC_2.34",
        "GLIBC_PRIVATE",
        "GLIBCXX_3.4.30",
        "GLIBC_2.4",
        "GLIBC_2.4.1",
    ]
    assert numbers(names, "GLIBC_") == ["2.4", "2.4.1", "2.34"]
    assert numbers(names, "GLIBCXX_") == ["3.4.30"]
    assert numbers([], "GLIBC_") == []
    assert order("2.34") > order("2.4")


def test_the_directories_to_look_in_are_relative_to_where_the_object_lies() -> None:
    assert search_path(WHOLE, "/site/op") == ("/site/op", "/site/torch/lib")
    old = Elf(machine="x86_64", rpath=("${ORIGIN}/../../lib/.", "/opt/lib", "/opt/lib/"))
    assert search_path(old, "/a/b/c") == ("/a/lib", "/opt/lib")


def test_a_directory_that_is_not_known_is_not_looked_in() -> None:
    odd = Elf(machine="x86_64", runpath=("$LIB/x", "lib", "/opt/$PLATFORM", "$ORIGINAL/x"))
    assert search_path(odd, "/a") == ()
    assert search_path(Elf(machine="x86_64", runpath=("/../../x",)), "/a") == ("/x",)
