from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _elf_files import AARCH64, shared

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.probes import elf, python
from mxenv.question import Answers, Env, File, Found, Glob, Part, Symbols
from mxenv.transports._memory import tree
from mxenv.transports._tree import answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.question import Given, Question

SITE = "/opt/conda/lib/python3.10/site-packages"
TORCH = f"{SITE}/torch/lib"
OP = f"{SITE}/mcoplib/_C.so"
CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb"
LIBS = "/usr/lib/x86_64-linux-gnu"


def dist(name: str, version: str, site: str = SITE) -> dict[str, bytes]:
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n"
    return {f"{site}/{name}-{version}.dist-info/METADATA": text.encode()}


SYSTEM = {
    f"{LIBS}/libc.so.6": shared(
        soname="libc.so.6",
        provides=("GLIBC_2.2.5", "GLIBC_2.35", "GLIBC_PRIVATE"),
        defines=("puts@GLIBC_2.2.5", "dlopen@GLIBC_2.35"),
    ),
    f"{LIBS}/libstdc++.so.6": shared(
        soname="libstdc++.so.6", provides=("GLIBCXX_3.4.30",), defines=("_Znwm@GLIBCXX_3.4.30",)
    ),
    f"{LIBS}/libm.so.6": shared(defines=("sin",)),
    "/lib64/ld-linux-x86-64.so.2": shared(defines=("__tls_get_addr",)),
    "/opt/conda/bin/python3.10": shared(needed=("libc.so.6",), defines=("PyList_New",)),
}
LINKS = {"/opt/conda/bin/python3": "python3.10", "/lib": "usr/lib"}
METAX = {
    **SYSTEM,
    **dist("torch", "2.8.0+metax3.5.3.9"),
    **dist("mcoplib", "0.4.2+maca3.5.3.20.torch2.8"),
    **dist("numpy", "1.26.4"),
    "/opt/maca/lib/libmcruntime.so": shared(
        soname="libmcruntime.so", needed=("libc.so.6",), defines=("mcMalloc",)
    ),
    f"{TORCH}/libc10.so": shared(soname="libc10.so", needed=("libc.so.6",), defines=("_ZN3c10fE",)),
    f"{TORCH}/libc10_cuda.so": shared(
        soname="libc10_cuda.so",
        needed=("libc10.so", "libmcruntime.so", "libc.so.6", "libstdc++.so.6"),
        needs={
            "libc.so.6": ("GLIBC_2.2.5", "GLIBC_2.28"),
            "libstdc++.so.6": ("GLIBCXX_3.4.22", "CXXABI_1.3"),
        },
        undefined=("mcMalloc", "_ZN3c10fE", "puts@GLIBC_2.2.5"),
        defines=("_ZNSt7__cxx1112basic_stringE", CHECK),
    ),
    OP: shared(
        needed=("libc10_cuda.so", "libc.so.6"),
        runpath="$ORIGIN/../torch/lib",
        undefined=(CHECK, "PyList_New", "puts", "sin", "__tls_get_addr"),
        defines=("PyInit__C",),
    ),
}


def read(
    files: Mapping[str, bytes],
    given: Mapping[Question, Given] | None = None,
    links: Mapping[str, str] = LINKS,
    rounds: int = 5,
) -> tuple[tuple[Fact, ...], Answers]:
    """Return the facts of a tree of ``files``, and all that was asked for them."""
    node = tree(files, links)
    answers = Answers()
    probes = (python.PROBE, elf.PROBE)
    asked = dict.fromkeys(q for probe in probes for q in probe.questions)
    for _ in range(rounds):
        answers |= answer(node, asked, (given or {}).get)
        further = (q for probe in probes for q in probe.more(answers))
        asked = dict.fromkeys(q for q in further if q not in answers.given)
    assert rounds < 5 or not asked
    return tuple(elf.PROBE.read(answers)), answers


def look(files: Mapping[str, bytes], *args: object, **more: object) -> dict[str, Reading]:
    facts, _ = read(files, *args, **more)  # type: ignore[arg-type]
    return {fact.label: fact.reading for fact in facts}


def wrong(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    return {at: of for at, of in readings.items() if at.startswith(("elf.missing", "elf.undef"))}


GOOD = {"elf.missing": Absent(), "elf.undefined": Absent()}


def test_a_node_on_which_all_is_well_has_a_summary_and_no_more() -> None:
    torch, op = "/opt/conda/torch", "/opt/conda/mcoplib"
    assert look(METAX) == {
        **GOOD,
        "elf.provides[libc.so.6]": Observed("2.35"),
        "elf.provides[libstdc++.so.6]": Observed("3.4.30"),
        "elf.machine[libc.so.6]": Observed("x86_64"),
        f"elf.objects[{torch}]": Observed(2),
        f"elf.machine[{torch}]": Observed("x86_64"),
        f"elf.glibc[{torch}]": Observed("2.28"),
        f"elf.glibcxx[{torch}]": Observed("3.4.22"),
        f"elf.cxx11_abi[{torch}]": Observed("1"),
        f"elf.objects[{op}]": Observed(1),
        f"elf.machine[{op}]": Observed("x86_64"),
        f"elf.glibc[{op}]": Absent(),
        f"elf.glibcxx[{op}]": Absent(),
        f"elf.cxx11_abi[{op}]": Absent(),
        "elf.objects[/opt/maca/lib]": Observed(1),
        "elf.machine[/opt/maca/lib]": Observed("x86_64"),
        "elf.glibc[/opt/maca/lib]": Absent(),
        "elf.glibcxx[/opt/maca/lib]": Absent(),
        "elf.cxx11_abi[/opt/maca/lib]": Absent(),
    }


def test_the_newest_version_names_the_object_that_needs_it() -> None:
    facts, _ = read(METAX)
    (fact,) = [f for f in facts if f.label == "elf.glibc[/opt/conda/torch]"]
    assert fact.source == f"{TORCH}/libc10_cuda.so"


def test_an_extension_of_another_torch_lacks_its_symbols() -> None:
    older = shared(soname="libc10_cuda.so", needed=("libc10.so",), defines=("other",))
    readings = look({**METAX, f"{TORCH}/libc10_cuda.so": older})
    assert readings[f"elf.undefined[{OP}]"] == Observed((CHECK,))
    assert readings["elf.missing"] == Absent()


def test_what_a_missing_library_may_define_is_not_called_undefined() -> None:
    op = shared(
        needed=("libc10_cuda.so", "libcuda.so.1"),
        undefined=("cuInit", "_ZN3c10goneE"),
        defines=("PyInit__C",),
    )
    readings = look({**METAX, OP: op})
    assert readings[f"elf.missing[{OP}]"] == Observed(("libcuda.so.1",))
    assert readings[f"elf.undefined[{OP}]"] == Observed(("_ZN3c10goneE",))
    only = shared(needed=("libc10.so", "libcuda.so.1"), undefined=("cuInit",), defines=("x",))
    readings = look({**METAX, OP: only})
    assert wrong(readings) == {
        f"elf.missing[{OP}]": Observed(("libcuda.so.1",)),
        "elf.undefined": Unreadable(
            f"of {OP} it is not known: 1 symbols may be in what is not there: libcuda.so.1"
        ),
    }


def test_a_driver_of_the_host_that_is_in_no_image_can_be_in_its_place() -> None:
    op = shared(needed=("libc10.so", "libcuda.so.1"), undefined=("cuInit",), defines=("x",))
    driver = shared(
        soname="libcuda.so.1",
        needed=("libc.so.6",),
        needs={"libc.so.6": ("GLIBC_2.38",)},
        defines=("cuInit",),
    )
    readings = look({**METAX, OP: op, f"{LIBS}/libcuda.so.1": driver})
    assert wrong(readings) == GOOD
    assert readings[f"elf.glibc[{LIBS}/libcuda.so.1]"] == Observed("2.38")


def test_without_a_linker_to_be_read_its_symbols_are_not_known() -> None:
    without = {path: data for path, data in METAX.items() if "/ld-linux" not in path}
    told = wrong(look(without))
    assert told["elf.missing"] == Absent()
    assert isinstance(told["elf.undefined"], Unreadable)


def test_without_a_python_its_symbols_are_not_known() -> None:
    without = {path: data for path, data in METAX.items() if "/bin/" not in path}
    told = wrong(look(without, links={"/lib": "usr/lib"}))
    assert isinstance(told["elf.undefined"], Unreadable)
    assert "python3" in told["elf.undefined"].reason


@pytest.mark.parametrize(
    ("place", "given"),
    [
        ("/opt/conda/lib", {}),
        ("/usr/lib64", {}),
        ("/srv/libs", {Env("LD_LIBRARY_PATH"): Found("relative::/srv/libs/:/a/../b")}),
        ("/etc-libs", {File("/etc/ld.so.conf", limit=1 << 16): Found("include x\n/etc-libs\n")}),
        (f"{SITE}/mcoplib/inside", {}),
        (f"{SITE}/nvidia/nccl/lib", {}),
    ],
)
def test_a_library_is_found_where_a_linker_would_look(
    place: str, given: dict[Question, Given]
) -> None:
    op = shared(
        needed=("libc10.so", "libnccl.so.2"),
        runpath="$ORIGIN/inside",
        undefined=("nccl",),
        defines=("x",),
    )
    library = shared(soname="libnccl.so.2", defines=("nccl",))
    assert wrong(look({**METAX, OP: op}, given)) != GOOD
    assert wrong(look({**METAX, OP: op, f"{place}/libnccl.so.2": library}, given)) == GOOD
    foreign = {f"{place}/libnccl.so.2": shared(machine=AARCH64, soname="libnccl.so.2")}
    assert "/nvidia/" in place or wrong(look({**METAX, OP: op, **foreign}, given)) != GOOD


def test_directories_of_the_configuration_count_too() -> None:
    op = shared(needed=("libc10.so", "libx.so"), undefined=("x",), defines=("y",))
    files = {
        **METAX,
        OP: op,
        "/etc/ld.so.conf.d/maca.conf": b"# SDK\n/srv/x\n",
        "/srv/x/libx.so": shared(soname="libx.so", defines=("x",), needed=("libm.so.6",)),
    }
    assert wrong(look(files)) == GOOD


def test_what_a_library_elsewhere_needs_may_hide_symbols() -> None:
    op = shared(needed=("libc10.so", "libx.so"), undefined=("deep",), defines=("y",))
    files = {**METAX, OP: op, f"{LIBS}/libx.so": shared(soname="libx.so", needed=("libdeep.so",))}
    told = wrong(look(files))
    assert isinstance(told["elf.undefined"], Unreadable)
    assert "libdeep.so" in told["elf.undefined"].reason


def test_of_libraries_for_several_systems_one_has_to_work() -> None:
    needs = {number: shared(needed=(f"libav.so.{number}", "libc10.so")) for number in (4, 5)}
    files = {**METAX, **{f"{SITE}/mcoplib/core{n}.so": data for n, data in needs.items()}}
    assert set(wrong(look(files))) >= {f"elf.missing[{SITE}/mcoplib/core{n}.so]" for n in (4, 5)}
    files[f"{LIBS}/libav.so.5"] = shared(soname="libav.so.5")
    assert look(files)["elf.missing"] == Absent()


def test_an_sdk_brings_more_folders_than_one() -> None:
    op = shared(needed=("libc10.so", "libmpi.so"), undefined=("mpi",), defines=("y",))
    mpi = {"/opt/maca/ompi/lib/libmpi.so": shared(soname="libmpi.so", defines=("mpi",))}
    assert wrong(look({**METAX, OP: op, **mpi})) == GOOD


def test_a_name_that_no_library_has_is_not_looked_for() -> None:
    op = shared(needed=("../../etc/shadow", "ld-linux-x86-64.so.2"), defines=("y",))
    facts, answers = read({**METAX, OP: op})
    assert not any("shadow" in str(question) for question in answers)
    told = {fact.label: fact.reading for fact in facts}
    assert isinstance(told["elf.missing"], Unreadable)


def test_the_top_of_a_distribution_is_what_its_record_says() -> None:
    record = f"{SITE}/flash_attn-2.7+metax3.5.3.9torch2.8.dist-info/RECORD"
    files = {
        **METAX,
        **dist("flash_attn", "2.7+metax3.5.3.9torch2.8"),
        record: b"flash_attn_2_cuda.cpython-310.so,,\nflash_attn/x.py,,\n../../x,,\n",
        f"{SITE}/flash_attn_2_cuda.cpython-310.so": shared(defines=("a",)),
        f"{SITE}/flash_attn/deep/_C.so": shared(defines=("b",)),
    }
    assert look(files)["elf.objects[/opt/conda/flash-attn]"] == Observed(2)


def test_only_what_decides_is_looked_at() -> None:
    files = {**SYSTEM, **dist("numpy", "1.26.4"), f"{SITE}/numpy/core.so": shared()}
    facts, answers = read(files)
    assert {f.label for f in facts if f.instance} == {
        "elf.provides[libc.so.6]",
        "elf.provides[libstdc++.so.6]",
        "elf.machine[libc.so.6]",
    }
    assert [q for q in answers if getattr(q, "part", None) is Part.ELF] == list(elf.FOLDERS)


def test_upstreams_torch_is_not_looked_up_symbol_by_symbol() -> None:
    files = {**METAX, **dist("torch", "2.8.0")}
    del files[next(path for path in files if "torch-2.8.0+metax" in path)]
    _, answers = read(files)
    asked = [question.path for question in answers if isinstance(question, Symbols)]
    assert asked == [OP]


def test_a_library_with_three_names_is_one() -> None:
    library = shared(soname="libmxsml.so.2")
    files = {f"/opt/mxdriver/lib/libmxsml.so{end}": library for end in ("", ".2", ".2.2.8")}
    assert look(files)["elf.objects[/opt/mxdriver/lib]"] == Observed(3 - 2)


def test_what_cannot_be_read_is_told_once_and_a_linkers_script_is_nothing() -> None:
    files = {
        **METAX,
        "/opt/maca/lib/libx.so": b"GROUP ( libmcruntime.so )",
        "/opt/maca/lib/liby.so": shared()[:100],
        "/opt/maca/lib/libz.so": shared()[:100],
    }
    facts, _ = read(files)
    told = [f.reading for f in facts if f.label == "elf.objects[/opt/maca/lib]"]
    assert told == [
        Unreadable("/opt/maca/lib/liby.so and 1 more: ends early"),
        Observed(1),
    ]
    assert {f.label: f.reading for f in facts}["elf.missing"] == Unreadable("ends early")


def test_what_was_not_asked_in_time_is_not_known() -> None:
    told = wrong(look(METAX, rounds=2))
    assert isinstance(told["elf.missing"], Unreadable)
    assert isinstance(told["elf.undefined"], Unreadable)


def test_a_shell_says_why_it_cannot() -> None:
    def refused(question: Question) -> Given | None:
        elfs = getattr(question, "part", None) is Part.ELF
        return Unreadable("a shell does not read ELF files") if elfs else None

    answers = answer(tree(METAX, LINKS), elf.PROBE.questions, refused)
    readings = {fact.label: fact.reading for fact in elf.PROBE.read(answers)}
    assert set(readings.values()) == {Unreadable("a shell does not read ELF files")}


def test_a_libc_that_is_there_and_cannot_be_read_is_not_absent() -> None:
    unread = Unreadable("ends early")
    readings = look({f"{LIBS}/libc.so.6": SYSTEM[f"{LIBS}/libc.so.6"][:100]})
    assert readings["elf.provides[libc.so.6]"] == readings["elf.machine[libc.so.6]"] == unread


def test_of_two_of_which_one_cannot_be_read_nobody_knows_which_is_the_systems() -> None:
    small = shared(bits=32, machine=3, provides=("GLIBC_2.31",))
    files = {f"{LIBS}/libc.so.6": shared()[:100], "/usr/lib/i386-linux-gnu/libc.so.6": small}
    assert look(files)["elf.provides[libc.so.6]"] == Unreadable("ends early")


def test_a_libc_that_defines_no_version_is_not_taken_for_an_old_one() -> None:
    readings = look({f"{LIBS}/libc.so.6": shared(soname="libc.so.6")})
    assert readings["elf.provides[libc.so.6]"] == Unreadable("it defines no version")


def test_the_libc_of_32_bit_programs_is_not_that_of_the_system() -> None:
    small = shared(bits=32, machine=3, provides=("GLIBC_2.31",))
    readings = look({**SYSTEM, "/usr/lib/i386-linux-gnu/libc.so.6": small})
    assert readings["elf.provides[libc.so.6]"] == Observed("2.35")
    assert readings["elf.machine[libc.so.6]"] == Observed("x86_64")


def test_an_environment_may_bring_its_own_libstdcxx() -> None:
    own = shared(soname="libstdc++.so.6", provides=("GLIBCXX_3.4.33",))
    readings = look({**METAX, "/opt/conda/lib/libstdc++.so.6": own})
    assert readings["elf.provides[/opt/conda/lib/libstdc++.so.6]"] == Observed("3.4.33")


def test_many_symbols_are_counted() -> None:
    op = shared(needed=("libc10.so",), undefined=[f"f{n:02}" for n in range(30)], defines=("x",))
    reading = look({**METAX, OP: op})[f"elf.undefined[{OP}]"]
    assert isinstance(reading, Observed)
    assert reading.value[-1] == "and 10 more"  # type: ignore[index]
    assert len(reading.value) == 21  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_looked_into_leaves_it_open_whether_there_are_any() -> None:
    closed = {Glob("/opt/mxdriver/lib/lib*.so*", Part.ELF): Unreadable("permission denied")}
    readings = look(SYSTEM, closed)
    assert readings["elf.objects"] == Unreadable("permission denied")


def test_what_needs_more_than_anything_does_costs_its_own_facts_only() -> None:
    wild = shared(needed=[f"lib{n}.so" for n in range(1000)], runpath=":".join(["/x"] * 250))
    files = {f"/opt/maca/lib/lib{n}.so": wild for n in range(5)}
    with pytest.raises(ValueError, match="more than can be looked for"):
        list(elf.PROBE.read(answer(tree(files, {}), elf.PROBE.questions)))
