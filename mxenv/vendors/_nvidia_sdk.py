"""Which CUDA toolkit lies in a place, by its own files: it, its compiler, NCCL and cuDNN."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Command, Env, File, Found, Glob, Link, Part, Question, Stat
from mxenv.vendors._nvidia_packages import managers, tools
from mxenv.vendors._nvidia_smi import DRIVER, release
from mxenv.vendors._words import best, excerpt, found_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.question import Answer

ROOT = "/usr/local/cuda"
HOME = Stat(ROOT)
REAL = Link(ROOT)
VERSION_JSON = File(f"{ROOT}/version.json", limit=65536)
VERSION_TXT = File(f"{ROOT}/version.txt", limit=4096)
HEADER = File(f"{ROOT}/include/cuda.h", Part.HEAD, limit=1 << 15)
"""Asked only if nothing better tells; its macro stands in its first 16 KiB."""
CUDA_VERSION = Env("CUDA_VERSION")
COMPILER = Command(("nvcc", "--version"))
COMPILER_FILES = tuple(
    Stat(f"{folder}/nvcc") for folder in ("/usr/local/bin", "/usr/bin", f"{ROOT}/bin")
)
"""Where it is found to be run, the first that is there."""
COMPILER_LINKS = tuple(Link(file.path) for file in COMPILER_FILES)
NCCL_HEADERS = tuple(File(f"{top}/include/nccl.h") for top in ("/usr", ROOT, "/usr/local"))
CUDNN_HEADERS = tuple(
    File(f"{folder}/cudnn_version.h")
    for folder in (
        "/usr/include",
        "/usr/include/x86_64-linux-gnu",
        "/usr/include/aarch64-linux-gnu",
        f"{ROOT}/include",
    )
)
LIBRARIES = tuple(
    Glob(f"{folder}/lib[cn][uc][dc]*.so.*")
    for folder in (
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/local/nvidia/lib64",
        f"{ROOT}/lib64",
    )
)
"""Where libcuda, libcudnn and libnccl may lie; one look at each folder for all three."""
COMPAT = Glob(f"{ROOT}/compat/libcuda.so.*")

QUESTIONS: tuple[Question, ...] = (
    HOME,
    REAL,
    VERSION_JSON,
    VERSION_TXT,
    CUDA_VERSION,
    COMPILER,
    *COMPILER_FILES,
    *COMPILER_LINKS,
    *NCCL_HEADERS,
    *CUDNN_HEADERS,
    *LIBRARIES,
    COMPAT,
)

_TXT = r"(?m)^CUDA Version (\S+)[ \t]*\n"
_MACRO = r"^[ \t]*#[ \t]*define[ \t]+{}[ \t]+(\d{{1,7}})[ \t]*\n"
_RELEASE = r"(?m)^Cuda compilation tools, release [\d.]+, V([\d.]+)\n"
_BUILD = r"(?m)^Build ([\w./-]+)\n"
_LIBRARY = rf"(?a)lib(?:(cuda)\.so\.({DRIVER})|(cudnn|nccl)\.so\.(\d+\.\d+\.\d+))"
_PART = r"(?a)\d[\w.+~-]{0,47}"
_IN_JSON = {
    "cuda-gdb": "cuda_gdb",
    "ncu": "nsight_compute",
    "nsys": "nsight_systems",
}
"""The tools that a toolkit brings, by the names that its list has for them."""


def more(answers: Answers) -> Iterator[Question]:
    """Yield what to ask of a toolkit that has no list of its parts."""
    lists = (answers[VERSION_JSON], answers[VERSION_TXT])
    if isinstance(answers[HOME], Found) and not any(isinstance(a, Found) for a in lists):
        yield HEADER


def facts(answers: Answers) -> Iterator[Fact]:
    """Yield the versions of the toolkit and of its parts."""
    home = _home(answers)
    listed = _listed(answers[VERSION_JSON])
    yield from _sdk(answers, listed, home)
    yield Fact(key="nvidia.sdk_path", reading=_path(answers, home), source=ROOT)
    yield from _compiler(answers)
    yield from _parts(answers)
    yield from _tools(answers, listed)


def _home(answers: Answers) -> Absent | Unreadable:
    """Return what it means that a file of the toolkit is not there."""
    match answers[HOME]:
        case Found():
            return Unreadable(f"{ROOT} is there, without it")
        case Absent() | Unreadable() as reading:
            return reading


def _listed(answer: Answer[str]) -> Mapping[str, str] | Absent | Unreadable:
    """Return the version of each part that ``version.json`` lists."""
    if not isinstance(answer, Found):
        return answer
    try:
        document = json.loads(answer.value)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return Unreadable(f"not understood: {excerpt(answer.value)}")
    return {
        str(name): part["version"]
        for name, part in document.items()
        if isinstance(part, dict) and re.fullmatch(_PART, str(part.get("version")))
    }


def _sdk(
    answers: Answers, listed: Mapping[str, str] | Absent | Unreadable, home: Absent | Unreadable
) -> Iterator[Fact]:
    """Yield the toolkit's version as its list has it; older ones, and images, tell it elsewhere."""
    key = "nvidia.sdk"
    readings: dict[str, Reading] = {}
    if isinstance(listed, Absent | Unreadable):
        readings[VERSION_JSON.path] = home if isinstance(listed, Absent) else listed
    else:
        readings[VERSION_JSON.path] = (
            release(listed["cuda"]) if "cuda" in listed else Unreadable("it does not list cuda")
        )
    readings[VERSION_TXT.path] = _txt(answers[VERSION_TXT])
    told = best(*readings.values())
    if not isinstance(told, Observed) and HEADER in answers.given:
        # These say less: two fields, or what whoever made an image meant to put in.
        readings[HEADER.path] = _header(answers[HEADER])
        if not isinstance(readings[HEADER.path], Observed):
            readings[CUDA_VERSION.name] = _declared(answers)
    for source, reading in readings.items():
        yield Fact(key=key, reading=reading, source=source)


def _txt(answer: Answer[str]) -> Reading:
    match answer:
        case Found(text):
            found = re.search(_TXT, text.replace("\r\n", "\n"))
            return release(found[1]) if found else Unreadable(f"not understood: {excerpt(text)}")
        case Absent() | Unreadable():
            return answer


def _macros(answer: Answer[str], *names: str) -> tuple[str, ...] | Absent | Unreadable:
    """Return what a header defines ``names`` to be."""
    if not isinstance(answer, Found):
        return answer
    text = answer.value.replace("\r\n", "\n")
    found = [re.findall(_MACRO.format(name), text, re.MULTILINE) for name in names]
    if any(len(set(values)) != 1 for values in found):
        return Unreadable(f"it does not define {' '.join(names)}")
    return tuple(str(values[0]) for values in found)


def _header(answer: Answer[str]) -> Reading:
    defined = _macros(answer, "CUDA_VERSION")
    if not isinstance(defined, tuple):
        return defined
    number = int(defined[0])
    return release(f"{number // 1000}.{number % 1000 // 10}")


def _declared(answers: Answers) -> Reading:
    """Return what the image says of itself, if the toolkit's folder is named for the same."""
    declared, real = answers[CUDA_VERSION], answers[REAL]
    if not isinstance(declared, Found) or not isinstance(real, Found):
        return Absent() if isinstance(declared, Absent) else Unreadable("it cannot be held to it")
    family = real.value.rpartition("-")[2]
    if not f"{declared.value}.".startswith(f"{family}."):
        return Unreadable(f"it says {excerpt(declared.value)}, {ROOT} leads to {real.value}")
    return release(declared.value)


def _path(answers: Answers, home: Absent | Unreadable) -> Reading:
    match answers[REAL]:
        case Found(path) if not isinstance(home, Absent):
            return Observed(path)
        case Unreadable() as unreadable:
            return unreadable
        case _:
            return home if isinstance(home, Absent) else Unreadable(f"{ROOT} leads nowhere")


def _compiler(answers: Answers) -> Iterator[Fact]:
    """Yield the compiler's version, its build, and where it lies."""
    source = " ".join(COMPILER.argv)
    there = [answers[file] for file in COMPILER_FILES]
    blind = [answer for answer in there if isinstance(answer, Unreadable)]
    missing: Reading = blind[0] if blind else Absent()
    if any(isinstance(answer, Found) for answer in there):
        missing = Unreadable("it is there, and was not found to be run")
    done = answers[COMPILER]
    readings = {
        "nvidia.compiler": found_in(done, _RELEASE, missing),
        "nvidia.compiler_build": found_in(done, _BUILD, missing),
        "nvidia.compiler_path": _compiler_path(answers),
    }
    for key, reading in readings.items():
        yield Fact(key=key, reading=reading, source=source)


def _compiler_path(answers: Answers) -> Reading:
    """Return the folder of the compiler that is found first, wherever a link leads."""
    for file, link in zip(COMPILER_FILES, COMPILER_LINKS, strict=True):
        there, real = answers[file], answers[link]
        if isinstance(there, Unreadable):
            return there
        if isinstance(there, Found):
            if isinstance(real, Found):
                return Observed(real.value.rpartition("/")[0])
            return Unreadable("where it lies could not be told")
    return Absent()


def _parts(answers: Answers) -> Iterator[Fact]:
    """Yield the versions of NCCL, cuDNN and the user-mode driver, by headers and file names."""
    nccl = _headers(answers, NCCL_HEADERS, ("NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH"))
    yield from _told("nvidia.nccl", {**nccl, **_libraries(answers, LIBRARIES, "nccl")})
    names = ("CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL")
    dnn = _headers(answers, CUDNN_HEADERS, names)
    yield from _told("nvidia.dnn", {**dnn, **_libraries(answers, LIBRARIES, "cudnn")})
    yield from _told("nvidia.umd", _libraries(answers, LIBRARIES, "cuda"))
    yield from _told("nvidia.compat", _libraries(answers, (COMPAT,), "cuda"))


def _told(key: str, readings: Mapping[str, Reading]) -> Iterator[Fact]:
    """Yield what each source tells; if none does, the worst reason once."""
    worth = best(*readings.values())
    if isinstance(worth, Observed):
        sources = [source for source, said in readings.items() if isinstance(said, Observed)]
    else:
        sources = [source for source, said in readings.items() if said == worth][:1]
    for source in sources:
        yield Fact(key=key, reading=readings[source], source=source)


def _headers(
    answers: Answers, headers: Iterable[File], names: tuple[str, ...]
) -> dict[str, Reading]:
    """Return the version that each header defines; an image to run programs has none."""
    readings: dict[str, Reading] = {}
    for header in headers:
        defined = _macros(answers[header], *names)
        readings[header.path] = (
            release(".".join(defined)) if isinstance(defined, tuple) else defined
        )
    return readings


def _libraries(answers: Answers, globs: Iterable[Glob], library: str) -> dict[str, Reading]:
    """Return the versions in the names of a library's files; no version is in a link's name."""
    readings: dict[str, Reading] = {}
    for glob in globs:
        answer = answers[glob]
        versions: set[str] = set()
        for path, _ in answer.value if isinstance(answer, Found) else ():
            named = re.fullmatch(_LIBRARY, path.rpartition("/")[2])
            version = (named[2] or named[4]) if named else ""
            if named and (named[1] or named[3]) == library and version not in versions:
                versions.add(version)
                readings[path] = Observed(version)
        if not versions:
            readings[glob.pattern] = answer if isinstance(answer, Unreadable) else Absent()
    return readings


def _tools(answers: Answers, listed: Mapping[str, str] | Absent | Unreadable) -> Iterator[Fact]:
    """Yield the tools for profiles and diagnosis, as packages or the toolkit's list have them."""
    key = "nvidia.tool"
    found = dict(tools(answers))
    for name, part in _IN_JSON.items():
        if not isinstance(listed, Absent | Unreadable) and part in listed:
            found.setdefault(name, (Observed(listed[part]), VERSION_JSON.path))
    for name, (reading, source) in sorted(found.items()):
        yield Fact(key=key, instance=name, reading=reading, source=source)
    said = (*managers(answers).values(), listed)
    blind = next((one for one in said if isinstance(one, Unreadable)), None)
    if blind or not found:
        yield Fact(key=key, reading=blind or Absent(), source=VERSION_JSON.path)
