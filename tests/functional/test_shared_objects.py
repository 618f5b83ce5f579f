"""Shared objects are read as a dynamic linker reads them, wherever they lie."""

from __future__ import annotations

import io
import itertools
import random
import shutil
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _elf_files import AARCH64, shared
from _layouts import file, folder, hard, image, link
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from mxenv import elf
from mxenv.elf import Elf
from mxenv.facts import Absent, Unreadable
from mxenv.question import Answers, File, Found, Glob, Part, Symbols
from mxenv.stores._spool import Spool
from mxenv.transports import Terms, _elf, oci, root
from mxenv.transports._symbols import needed

if TYPE_CHECKING:
    from mxenv.question import Question

FORMS = [
    {"bits": bits, "order": order, "tables": tables}
    for bits, order, tables in itertools.product(
        (64, 32), ("<", ">"), (("gnu",), ("sysv",), ("sysv", "gnu"))
    )
]
LIBRARIES = sorted(
    {
        path.resolve()
        for folder in ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib64")
        for name in ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libz.so.1", "libgcc_s.so.1")
        if (path := Path(folder, name)).is_file()
    }
)
"""Real ones, of the machine that runs the tests."""


def read(data: bytes) -> Elf:
    return _elf.read(io.BytesIO(data))


def read_or_not(data: bytes) -> Elf | None:
    try:
        return read(data)
    except _elf.Damaged:
        return None


def ask(top: Path, *questions: Question) -> Answers:
    with root.TRANSPORT.open(str(top), Terms()) as host:
        return host.gather(questions)


def symbols(folder: Path, path: str, *providers: str) -> object:
    question = Symbols(path, providers)
    return ask(folder, question)[question]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_all_that_a_linker_reads_first_is_read(form: dict) -> None:
    data = shared(
        **form,
        soname="libop.so.1",
        needed=("libc10.so", "libc.so.6"),
        rpath="/opt/lib:/opt/more",
        runpath="$ORIGIN",
        needs={"libc.so.6": ("GLIBC_2.14", "GLIBC_2.34"), "libm.so.6": ("GLIBC_2.29",)},
        provides=("OP_1", "OP_2"),
        defines=("_ZNSt7__cxx1112basic_stringE", "f@OP_1"),
        undefined=("puts@GLIBC_2.34",),
        padding=100,
    )
    assert read(data) == Elf(
        machine="x86_64",
        bits=form["bits"],
        soname="libop.so.1",
        needed=("libc10.so", "libc.so.6"),
        rpath=("/opt/lib", "/opt/more"),
        runpath=("$ORIGIN",),
        needs=(("libc.so.6", ("GLIBC_2.14", "GLIBC_2.34")), ("libm.so.6", ("GLIBC_2.29",))),
        provides=("OP_1", "OP_2"),
        cxx11="1",
    )


def test_the_machine_is_called_as_uname_calls_it() -> None:
    assert read(shared(machine=AARCH64)).machine == "aarch64"
    assert read(shared(machine=243, bits=32)).machine == "riscv32"
    assert read(shared(machine=21, order="<")).machine == "ppc64le"
    assert read(shared(machine=21, order=">")).machine == "ppc64"
    assert read(shared(machine=9999)).machine == "machine-9999"


def test_the_abi_is_told_by_names_and_only_by_them() -> None:
    assert read(shared(defines=("_ZN3c105ErrorC2ERKSs",))).cxx11 == "0"
    assert read(shared(defines=("puts",))).cxx11 == ""


@pytest.mark.parametrize("path", LIBRARIES, ids=lambda path: path.name)
def test_real_libraries_are_read_as_another_reader_reads_them(path: Path) -> None:
    with path.open("rb") as file:
        mine = _elf.read(file)
        other = ELFFile(file)
        (dynamic,) = [s for s in other.iter_segments() if isinstance(s, DynamicSegment)]
        tags = {
            kind: [getattr(tag, kind) for tag in dynamic.iter_tags() if hasattr(tag, kind)]
            for kind in ("needed", "soname")
        }
        wants = {
            library.name: sorted(version.name for version in versions)
            for section in other.iter_sections()
            if isinstance(section, GNUVerNeedSection)
            for library, versions in section.iter_versions()
        }
        undefined = {
            symbol.name
            for symbol in other.get_section_by_name(".dynsym").iter_symbols()
            if symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] == "STB_GLOBAL"
        }
        assert {symbol.name.decode() for symbol in needed(file)} == undefined
    assert [*mine.needed] == tags["needed"]
    assert [mine.soname] == tags["soname"]
    assert {library: [*versions] for library, versions in mine.needs} == wants
    assert elf.parse(elf.render(mine)) == mine


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_what_nothing_defines_is_told(tmp_path: Path, form: dict) -> None:
    many = tuple(f"_ZN2at{number}opE" for number in range(50))
    op = shared(
        **form, undefined=(*many, "gone", "puts"), weak=("__gmon_start__",), defines=("init",)
    )
    (tmp_path / "op.so").write_bytes(op)
    (tmp_path / "a.so").write_bytes(shared(**form, defines=many[::2], undefined=("gone",)))
    (tmp_path / "b.so").write_bytes(shared(**form, defines=("puts", *many)))
    assert symbols(tmp_path, "/op.so", "/a.so", "/b.so") == Found("gone\n")
    assert symbols(tmp_path, "/op.so", "/b.so", "/a.so") == Found("gone\n")
    lacking = "".join(f"{name}\n" for name in sorted([*many[1::2], "gone", "puts"]))
    assert symbols(tmp_path, "/op.so", "/a.so") == Found(lacking)


@pytest.mark.parametrize("tables", [("gnu",), ("sysv",)])
def test_a_symbol_of_another_version_is_another_symbol(tmp_path: Path, tables: tuple) -> None:
    op = shared(
        needs={"libc.so.6": ("GLIBC_2.34", "GLIBC_2.2.5")},
        undefined=("dlopen@GLIBC_2.34", "puts@GLIBC_2.2.5"),
        defines=("init",),
        tables=tables,
    )
    (tmp_path / "op.so").write_bytes(op)
    old = shared(
        provides=("GLIBC_2.2.5",), defines=("dlopen@GLIBC_2.2.5", "puts@GLIBC_2.2.5"), tables=tables
    )
    (tmp_path / "libc.so.6").write_bytes(old)
    (tmp_path / "plain.so").write_bytes(shared(defines=("dlopen", "puts"), tables=tables))
    assert symbols(tmp_path, "/op.so", "/libc.so.6") == Found("dlopen@GLIBC_2.34\n")
    # A library without versions is taken for all of them, as a linker does.
    assert symbols(tmp_path, "/op.so", "/plain.so") == Found("")


def test_an_object_that_defines_nothing_is_counted_by_its_sections(tmp_path: Path) -> None:
    (tmp_path / "op.so").write_bytes(shared(undefined=("a", "b"), sections=True))
    (tmp_path / "stripped.so").write_bytes(shared(undefined=("a", "b")))
    assert symbols(tmp_path, "/op.so") == Found("a\nb\n")
    assert symbols(tmp_path, "/stripped.so") == Unreadable("does not say how many symbols it has")


def test_what_a_provider_may_hide_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "op.so").write_bytes(shared(undefined=("a",), defines=("x",)))
    (tmp_path / "script.so").write_text("GROUP ( libc.so.6 )")
    (tmp_path / "a.so").write_bytes(shared(defines=("a",)))
    hidden = symbols(tmp_path, "/op.so", "/script.so")
    assert hidden == Unreadable("/script.so not an ELF file")
    assert symbols(tmp_path, "/op.so", "/none.so") == Unreadable("/none.so is no file")
    assert symbols(tmp_path, "/op.so", "/script.so", "/a.so") == Found("")
    assert isinstance(symbols(tmp_path, "/script.so"), Unreadable)
    assert isinstance(symbols(tmp_path, "/none.so"), Unreadable)


@pytest.mark.skipif(not LIBRARIES, reason="no library of a known place on this machine")
def test_the_libraries_of_this_machine_lack_nothing(tmp_path: Path) -> None:
    for path in LIBRARIES:
        shutil.copy(path, tmp_path)
    linker = next(Path("/").glob("lib*/ld-linux*.so.*"))
    shutil.copy(linker, tmp_path)
    paths = [f"/{path.name}" for path in tmp_path.iterdir()]
    for path in paths:
        others = [other for other in paths if other != path]
        assert symbols(tmp_path, path, *others) == Found("")
    alone = symbols(tmp_path, next(path for path in paths if "libm" in path))
    assert isinstance(alone, Found)
    assert "@GLIBC_" in alone.value


class TestADamagedFileIsUnreadable:
    """Whatever is cut off or changed: the right answer or none, soon, and no exception."""

    WHOLE = shared(
        soname="libop.so.1",
        needed=("libc.so.6",),
        runpath="$ORIGIN",
        needs={"libc.so.6": ("GLIBC_2.34", "GLIBC_2.2.5")},
        provides=("OP_1",),
        defines=("f@OP_1", "g"),
        undefined=("puts@GLIBC_2.34", "b"),
        tables=("gnu", "sysv"),
        sections=True,
    )

    def answer(self, folder: Path, data: bytes) -> None:
        (folder / "op.so").write_bytes(data)
        (folder / "whole.so").write_bytes(self.WHOLE)
        questions = (
            File("/op.so", Part.ELF),
            Symbols("/op.so", ("/whole.so",)),
            Symbols("/whole.so", ("/op.so",)),
        )
        began = time.monotonic()
        answers = ask(folder, *questions)
        assert time.monotonic() - began < 10
        for question in questions:
            assert isinstance(answers[question], Found | Unreadable)
        told = answers[questions[0]]
        assert not isinstance(told, Found) or elf.parse(told.value) is not None

    def test_cut_off_at_any_byte_it_is_read_right_or_not_at_all(self) -> None:
        right = read(self.WHOLE)
        for size in range(len(self.WHOLE)):
            assert read_or_not(self.WHOLE[:size]) in (right, None)

    @pytest.mark.parametrize("step", range(7))
    def test_cut_off_it_costs_no_exception(self, tmp_path: Path, step: int) -> None:
        for size in range(step * 13, len(self.WHOLE), 91):
            self.answer(tmp_path, self.WHOLE[:size])

    @pytest.mark.parametrize("seed", range(20))
    def test_with_bytes_changed_it_costs_no_exception(self, tmp_path: Path, seed: int) -> None:
        drawn = random.Random(seed)  # noqa: S311 - a test that can be repeated
        for _ in range(15):
            data = bytearray(self.WHOLE)
            for _ in range(drawn.randint(1, 8)):
                data[drawn.randrange(len(data))] = drawn.choice(
                    (0, 1, 0x7F, 0xFF, drawn.getrandbits(8))
                )
            self.answer(tmp_path, bytes(data))

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"", "not an ELF file"),
            (b"\x7fELF", "of no known class of ELF files"),
            (b"\x7fELF\x07\x01" + b"\0" * 60, "of no known class of ELF files"),
            (b"/* GNU ld script */ GROUP ( libc.so.6 )", "not an ELF file"),
            (shared(needed=["a"] * 1025), "needs too many libraries"),
        ],
    )
    def test_it_is_said_why(self, data: bytes, reason: str) -> None:
        with pytest.raises(_elf.Damaged, match=reason):
            read(data)


def test_a_link_a_directory_and_nothing_are_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "lib.so.1").write_bytes(shared(soname="lib.so.1"))
    (tmp_path / "lib.so").symlink_to("lib.so.1")
    (tmp_path / "folder.so").mkdir()
    question = Glob("/*.so", Part.ELF)
    none = File("/none.so", Part.ELF)
    answers = ask(tmp_path, question, none)
    assert answers[none] == Absent()
    found = answers[question]
    assert isinstance(found, Found)
    assert found.value[0] == ("/folder.so", Unreadable("not a file but a directory"))
    assert found.value[1][1] == Found(elf.render(read(shared(soname="lib.so.1"))))


class TestAnImageIsAskedTheSame:
    """Its layers pass by once; what is wanted of them lies on a disk meanwhile."""

    TORCH = shared(soname="libtorch.so", defines=("f", "g"), padding=100_000)
    OP = shared(needed=("libtorch.so",), undefined=("f", "gone"), defines=("h",))
    SITE = "opt/conda/lib/python3.10/site-packages"

    @pytest.fixture
    def layout(self, tmp_path: Path) -> Path:
        site = self.SITE
        return image(
            tmp_path / "i",
            [
                file(f"{site}/torch/lib/libtorch.so", shared(soname="old")),
                file(f"{site}/gone/_C.so", self.OP),
                file("srv/far.so", self.OP),
            ],
            [
                folder(f"{site}/torch/lib"),
                file(f"{site}/torch/lib/libtorch.so", self.TORCH),
                hard(f"{site}/torch/lib/libtwin.so", f"{site}/torch/lib/libtorch.so"),
                link("opt/torch", f"/{site}/torch"),
                file(f"{site}/op/_C.so", self.OP),
                file(f"{site}/.wh.gone"),
            ],
        )

    def test_what_the_last_layer_leaves_is_read(self, layout: Path) -> None:
        questions = (
            Glob(f"/{self.SITE}/torch/lib/*.so", Part.ELF),
            File("/opt/torch/lib/libtorch.so", Part.ELF),
            File(f"/{self.SITE}/gone/_C.so", Part.ELF),
            Symbols(f"/{self.SITE}/op/_C.so", ("/opt/torch/lib/libtorch.so",)),
            File("/srv/far.so", Part.ELF),
        )
        torch, op = (Found(elf.render(read(data))) for data in (self.TORCH, self.OP))
        with oci.TRANSPORT.open(str(layout), Terms()) as host:
            answers = host.gather(questions)
            again = host.gather(questions)
        libraries = (f"/{self.SITE}/torch/lib/libtorch.so", f"/{self.SITE}/torch/lib/libtwin.so")
        assert answers[questions[0]] == Found(tuple((path, torch) for path in libraries))
        assert answers[questions[1]] == torch
        assert answers[questions[2]] == Absent()
        assert answers[questions[3]] == Found("gone\n")
        assert answers[questions[4]] == op
        assert again == answers

    def test_the_content_of_such_a_file_can_be_read_as_well(self, layout: Path) -> None:
        path = f"/{self.SITE}/op/_C.so"
        head, digest = File(path, Part.HEAD, 4), File(path, Part.DIGEST)
        with oci.TRANSPORT.open(str(layout), Terms()) as host:
            answers = host.gather((File(path, Part.ELF), head, digest))
        assert answers[head] == Found("\x7fELF")
        assert isinstance(answers[digest], Found)


class TestTheSpoolIsBounded:
    def test_what_is_kept_is_read_back_piece_by_piece(self) -> None:
        spool = Spool()
        spool.take((0, 1), io.BytesIO(b"first"), 5)
        spool.take((0, 2), io.BytesIO(b"second"), 6)
        spool.take((0, 1), io.BytesIO(b"other"), 5)
        with spool.open((0, 2)) as second, spool.open((0, 1)) as first:
            assert (first.read(2), second.read(), first.read()) == (b"fi", b"second", b"rst")
            assert second.seek(0, 2) == 6
            assert second.seek(-2, 1) == 4
            assert second.read(10) == b"nd"
            assert second.seek(99) == 99
            assert second.read(1) == b""
        spool.close()
        assert not spool.holds((0, 1))
        spool.close()

    def test_more_than_there_is_room_for_is_not_kept(self) -> None:
        spool = Spool(most=10, largest=8)
        spool.take((0, 1), io.BytesIO(b"x" * 9), 9)
        assert not spool.holds((0, 1))
        spool.take((0, 2), io.BytesIO(b"x" * 8), 8)
        spool.take((0, 3), io.BytesIO(b"x" * 3), 3)
        assert spool.holds((0, 2))
        assert not spool.holds((0, 3))
        spool.close()

    def test_a_disk_that_is_nearly_full_is_left_alone(self) -> None:
        spool = Spool(spared=1 << 62)
        spool.take((0, 1), io.BytesIO(b"x"), 1)
        assert not spool.holds((0, 1))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler on this machine")
def test_what_a_compiler_makes_is_understood(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int inside(void) { return 1; }\n")
    (tmp_path / "b.c").write_text(
        "int inside(void); int away(void);\nint f(void) { return inside() + away(); }\n"
    )
    for name, more in (("a", ()), ("b", ("-L.", "-la", "-Wl,-rpath,$ORIGIN"))):
        argv = ["gcc", "-shared", "-fPIC", "-o", f"lib{name}.so", f"{name}.c", *more]
        subprocess.run(argv, cwd=tmp_path, check=True)
    question = File("/libb.so", Part.ELF)
    told = ask(tmp_path, question)[question]
    assert isinstance(told, Found)
    found = elf.parse(told.value)
    assert found is not None
    assert found.needed[0] == "liba.so"
    assert elf.search_path(found, "/x") == ("/x",)
    assert symbols(tmp_path, "/libb.so", "/liba.so") == Found("away\n")


def test_the_python_that_runs_this_is_an_object_as_well() -> None:
    with Path(sysconfig.get_config_var("BINDIR"), "python3").open("rb") as file:
        assert _elf.read(file).needed
