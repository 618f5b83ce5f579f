"""Which SDK lies in a place, by its own files: its version, its compiler and its libraries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Command, Env, File, Found, Link, Part, Question, Stat
from mxenv.vendors._metax_brand import BRANDS, HPCC, METAX, Brand, installed
from mxenv.vendors._mxsmi import version
from mxenv.vendors._words import excerpt, found_in

if TYPE_CHECKING:
    from collections.abc import Iterator

MACA_PATH = Env("MACA_PATH")
RAS = Command(("mcclras", "--version"))
LIBRARIES = ("libmcruntime.so", "libmccl.so", "libmcdnn.so")
"""Of the SDK's libraries those that all others stand on; of the driver's there is one."""
DRIVER_LIBRARY = "libmxsml.so"

_BUILD = re.compile(r"^(?:mx|ht)cc version \S+ \(([0-9a-f]{7,40})\)\s*\n", re.ASCII | re.MULTILINE)
_INSTALLED = re.compile(r"^InstalledDir: (/[\w.+/-]+)[ \t]*\n", re.MULTILINE)
_RAS = re.compile(r"^MCCL RAS client version (\S+)\s*\n", re.MULTILINE)
_MACRO = r"^[ \t]*#[ \t]*define[ \t]+{}[ \t]+(\d{{1,9}})[ \t]*(?:/[/*].*)?\r?\n"
_MCCL = ("MCCL_MAJOR", "MCCL_MINOR", "MCCL_PATCH")
_MCDNN = ("MCDNN_MAJOR", "MCDNN_MINOR", "MCDNN_PATCHLEVEL")
_FIELDS = 3
"""A release has four fields or more, and 2.33.1 was seen; a build of a day has its date."""
_DAY = re.compile(r"\d{8}\.\d+", re.ASCII)
_THOUSAND = 1000


def version_file(folder: str) -> File:
    """Return the question for the version that a folder of the vendor's tells of itself."""
    return File(f"{folder}/Version.txt", limit=65536)


def compiler(brand: Brand) -> Command:
    """Return the question for the compiler's build."""
    return Command((brand.compiler, "--version"))


def compiler_file(brand: Brand) -> Stat:
    """Return the question whether the compiler is there at all."""
    return Stat(f"{brand.sdk}/{brand.llvm}/bin/{brand.compiler}")


def header(brand: Brand) -> File:
    """Return the question for the header of MCCL."""
    return File(f"{brand.sdk}/include/mccl.h")


def dnn_header(brand: Brand) -> File:
    """Return the question for the header of mcDNN."""
    return File(f"{brand.sdk}/include/mcdnn/mcdnn.h")


def bridge(brand: Brand) -> Stat:
    """Return the question whether cu-bridge is there."""
    return Stat(f"{brand.sdk}/tools/cu-bridge")


def bridge_header(brand: Brand) -> File:
    """Return the question which CUDA cu-bridge stands for; the rest of the header is large."""
    return File(f"{brand.sdk}/tools/cu-bridge/include/cuda.h", Part.HEAD, limit=65536)


def libraries(brand: Brand) -> tuple[Link, ...]:
    """Return the questions where the libraries lie that everything stands on."""
    own = (f"{brand.sdk}/lib/{name}" for name in LIBRARIES)
    return (*map(Link, own), Link(f"{brand.driver}/lib/{DRIVER_LIBRARY}"))


def _first(brand: Brand) -> tuple[Question, ...]:
    return (
        version_file(brand.sdk),
        header(brand),
        compiler(brand),
        compiler_file(brand),
        version_file(brand.driver),
    )


QUESTIONS: tuple[Question, ...] = (MACA_PATH, *_first(METAX), RAS)
COMMANDS = (*map(compiler, BRANDS), RAS)


def more(answers: Answers) -> Iterator[Question]:
    """Yield what to ask of an SDK that is there, and of another one that ``MACA_PATH`` names."""
    for brand in BRANDS:
        if isinstance(answers[brand.home], Found):
            yield from (dnn_header(brand), bridge(brand), bridge_header(brand))
            if brand is not METAX:
                yield from _first(brand)
    if isinstance(answers[METAX.home], Found):
        yield from libraries(METAX)
    elsewhere = _elsewhere(answers)
    if elsewhere:
        yield elsewhere


def facts(answers: Answers) -> Iterator[Fact]:
    """Yield the versions of the SDK and of its parts."""
    # The other brand is spoken of where it is; where it is not, MetaX's absence says enough.
    for brand in (METAX, HPCC) if installed(answers, HPCC) else (METAX,):
        yield from _of(answers, brand)
    yield Fact(key="metax.mccl", reading=_ras(answers), source=" ".join(RAS.argv))
    elsewhere = _elsewhere(answers)
    if elsewhere:
        missing = Unreadable(f"MACA_PATH names a place without a {elsewhere.path}")
        reading = _told(answers, elsewhere, missing)
        yield Fact(key="metax.sdk", reading=reading, source=elsewhere.path)


def _of(answers: Answers, brand: Brand) -> Iterator[Fact]:
    home = _home(answers, brand)
    own = version_file(brand.sdk)
    yield Fact(key="metax.sdk", reading=_told(answers, own, home), source=own.path)
    yield Fact(key="metax.sdk_path", reading=_path(answers, brand, home), source=brand.sdk)
    user = version_file(brand.driver)
    yield Fact(key="metax.umd", reading=_told(answers, user, Absent()), source=user.path)
    yield from _compiler(answers, brand)
    for key, file, macros in (
        ("metax.mccl", header(brand), _MCCL),
        ("metax.dnn", dnn_header(brand), _MCDNN),
    ):
        reading = _macros(answers, file, macros, home)
        if reading == Absent() and brand is not METAX:
            reading = Unreadable(f"under which name {brand.name} has it is not known")
        yield Fact(key=key, reading=reading, source=file.path)
    yield from _bridge(answers, brand, home)
    yield from _libraries(answers, brand, home)


def _elsewhere(answers: Answers) -> File | None:
    roots = {"", *(brand.sdk for brand in BRANDS)}
    match answers[MACA_PATH]:
        case Found(path) if path.startswith("/") and path.rstrip("/") not in roots:
            return version_file(path.rstrip("/"))
        case _:
            return None


def _home(answers: Answers, brand: Brand) -> Absent | Unreadable:
    """Return what it means that a file of the SDK is not there."""
    match answers[brand.home]:
        case Found():
            return Unreadable(f"{brand.sdk} is there, without it")
        case Absent() | Unreadable() as reading:
            return reading


def _told(answers: Answers, file: File, missing: Absent | Unreadable) -> Reading:
    match answers[file]:
        case Found(text):
            first = text.removeprefix("\ufeff").strip().partition("\n")[0]
            label, colon, told = first.rpartition(":")
            if colon and "version" not in label.lower():
                return Unreadable(f"its first line names no version: {excerpt(first)}")
            return _release(told)
        case Absent():
            return missing
        case Unreadable() as unreadable:
            return unreadable


def _release(text: str) -> Reading:
    reading = version(text)
    if isinstance(reading, Observed):
        found = str(reading.value)
        if found.count(".") + 1 < _FIELDS and not _DAY.fullmatch(found):
            return Unreadable(f"not the version of a release: {excerpt(found)}")
    return reading


def _path(answers: Answers, brand: Brand, home: Absent | Unreadable) -> Reading:
    match answers[brand.real]:
        case Found(path):
            return Observed(path)
        case Unreadable() as unreadable:
            return unreadable
        case Absent():
            return home if isinstance(home, Absent) else Unreadable(f"{brand.sdk} leads nowhere")


def _compiler(answers: Answers, brand: Brand) -> Iterator[Fact]:
    """Yield the compiler's build: the version it prints is the same in every release."""
    command = compiler(brand)
    for key, pattern in (("metax.compiler", _BUILD), ("metax.compiler_path", _INSTALLED)):
        reading = found_in(answers[command], pattern, _no_compiler(answers, brand))
        yield Fact(key=key, reading=reading, source=" ".join(command.argv))


def _no_compiler(answers: Answers, brand: Brand) -> Reading:
    file = compiler_file(brand)
    match answers[file]:
        case Found():
            return Unreadable(f"{file.path} is there, and was not found to be run")
        case Absent() | Unreadable() as reading:
            return reading


def _macros(
    answers: Answers, file: File, names: tuple[str, ...], home: Absent | Unreadable
) -> Reading:
    """Return a version that a header defines; a macro that is there twice is not understood."""
    if file not in answers.given:
        return home
    match answers[file]:
        case Found(text):
            found = [re.findall(_MACRO.format(name), text, re.MULTILINE) for name in names]
            if any(len(set(values)) != 1 for values in found):
                return Unreadable(f"it does not define {', '.join(names)} once each")
            return version(".".join(values[0] for values in found))
        case Absent():
            # An image made to run programs leaves the headers out.
            return Absent()
        case Unreadable() as unreadable:
            return unreadable


def _ras(answers: Answers) -> Reading:
    reading = found_in(answers[RAS], _RAS, Absent())
    return version(str(reading.value)) if isinstance(reading, Observed) else reading


def _bridge(answers: Answers, brand: Brand, home: Absent | Unreadable) -> Iterator[Fact]:
    key, file = "metax.bridge", bridge_header(brand)
    there: Reading
    match answers[bridge(brand)]:
        case Found():
            there = Unreadable("it is there; its headers do not tell for which CUDA it stands")
        case _ if bridge(brand) not in answers.given:
            there = home
        case Absent() | Unreadable() as missing:
            there = missing
    match answers[file]:
        case Found(text):
            found = re.findall(_MACRO.format("CUDA_VERSION"), text, re.MULTILINE)
            if len(set(found)) == 1 and int(found[0]) >= _THOUSAND:
                number = int(found[0])
                there = Observed(f"{number // _THOUSAND}.{number % _THOUSAND // 10}")
        case _:
            pass
    yield Fact(key=key, reading=there, source=bridge(brand).path)


def _libraries(answers: Answers, brand: Brand, home: Absent | Unreadable) -> Iterator[Fact]:
    key = "metax.library"
    asked = [link for link in libraries(brand) if link in answers.given]
    if not asked:
        yield Fact(key=key, reading=home, source=f"{brand.sdk}/lib")
    for link in asked:
        match answers[link]:
            case Found(path):
                reading: Reading = Observed(path)
            case Absent() | Unreadable() as missing:
                reading = missing
        name = link.path.rpartition("/")[2]
        yield Fact(key=key, instance=name, reading=reading, source=link.path)
