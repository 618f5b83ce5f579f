"""What single lines of a report say, by their labels or by their own form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.transports._report_text import tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mxenv.transports._report_said import Said
    from mxenv.transports._report_text import Line

RELEASE, BUILD, ARCH = (f"/proc/sys/kernel/{name}" for name in ("osrelease", "version", "arch"))
OS, CPUS, MEMORY = "/etc/os-release", "/proc/cpuinfo", "/proc/meminfo"
SDK = "/opt/maca"

_LABEL = re.compile(r"([\w()/ .-]{1,40}?|型号名称|架构|在线 CPU 列表)[ \t]*:[ \t]*(\S.*)")
_CELLS = re.compile(r"\|([^|]{1,60})\|([^|]{1,200})\|")
_KERNEL = re.compile(r"\d{1,3}\.\d{1,4}\.\d{1,4}\S{0,100}", re.ASCII)
_MACHINES = "x86_64|aarch64"
_UNAME = re.compile(
    rf"Linux \S{{1,253}} (?P<release>\d+\.\d+\S{{0,100}}) (?P<build>#\d.{{0,200}}?)"
    rf" (?P<arch>{_MACHINES})(?: (?:{_MACHINES}|unknown)){{0,2}} GNU/Linux"
)
_PLATFORM = re.compile(
    rf"Linux-(?P<release>\d+\.\d+\S{{0,100}}?)-(?P<arch>{_MACHINES})-with-glibc(?P<libc>\d\.\d+)"
)
_PYTHON = re.compile(r"(3\.\d+\.\d+(?:(?:a|b|rc)\d+)?\+?)(?:$| [(|])")
_PYTHON_SAYS = re.compile(r"Python (3\.\d+\.\d+(?:(?:a|b|rc)\d+)?\+?)(?:$| [(|].*)")
_OS = re.compile(
    rf"(?P<name>[A-Za-z][A-Za-z /]{{1,40}}?)(?: release)? (?P<version>\d+(?:\.\d+)*)\b"
    rf".{{0,60}} \((?:{_MACHINES})\)"
)
_SYSTEMS = {
    "ubuntu": ("ubuntu", 2),
    "debian gnu/linux": ("debian", 1),
    "debian": ("debian", 1),
    "openeuler": ("openEuler", 2),
    "rocky linux": ("rocky", 2),
    "almalinux": ("almalinux", 2),
    "red hat enterprise linux": ("rhel", 2),
    "centos linux": ("centos", 1),
    "centos": ("centos", 1),
}
"""The id in os-release of each name, and how many fields its version has there."""
_RELEASE_LINE = re.compile(r"(ID|VERSION_ID)=([\"']?)([\w.-]{1,40})\2")
_LSB = re.compile(r"(Distributor ID|Release):[ \t]*(\S{1,40})")
_LDD = re.compile(r"ldd \(([^()]{1,60})\) (\d\.\d+)")
_VARIABLE = re.compile(r"(?:export |declare -x )?([A-Z][A-Z0-9_]{1,60})=([\"']?)([^\s\"']*)\2")
_TELLING = re.compile(r"(?!.*\.\.\.)(?:[^$`<>*…]*[\w/][^$`<>*…]*)?")
_LINK = re.compile(rf".*(?:^|\s)({SDK}) -> (\S{{1,200}})")
_MODULE = re.compile(r"(metax|nvidia)[ \t]+\d{3,12}[ \t]+\d{1,6}(?:[ \t]+\S{1,200})?")
_VERSION_TXT = re.compile(r"(?:\w+ )?Version:[ \t]*(\d+(?:\.\d+){2,}[\w.-]*)")
_SHOW_VERSION_TXT = re.compile(r"cat (?:\$\{?MACA_PATH\}?|/opt/maca)/Version\.txt")
_MODULE_FILE = re.compile(r"filename:[ \t]+/\S{1,300}/(metax|nvidia)\.ko(?:\.\w+)?")
_MODULE_FIELD = re.compile(r"[a-z][a-z0-9_]{1,20}:[ \t].*")
_MODULE_VERSION = re.compile(r"^version:[ \t]+(\S+)$", re.MULTILINE)
_COMPILER = re.compile(r"mxcc version \S{1,40} \([0-9a-f]{7,40}\)")
_INSTALLED = re.compile(r"InstalledDir: /\S{1,200}")
_RAS = re.compile(r"MCCL RAS client version \d[\d.]{0,40}")
_FORMS = re.compile(
    r"Linux |Python 3|ldd \(|(?:export |declare -x )?[A-Z][A-Z0-9_]+=|.* -> |metax[ \t]|nvidia[ \t]"
    r"|mxcc |InstalledDir: |MCCL RAS "
)
"""How the lines begin that tell something without a label."""
_ONLINE = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
_VALUES = {
    "libc": re.compile(r"glibc-(\d\.\d+)"),
    "sdk": re.compile(r"(\d+(?:\.\d+){2,}[\w.-]{0,40})(?:,.*)?"),
    "kmd": re.compile(r"(\d+(?:\.\d+)+[\w.-]{0,40})"),
    # Three digits: what stands for this label on a card of another vendor has fewer.
    "nvidia-kmd": re.compile(r"(\d{3}\.\d{2,3}(?:\.\d{1,3})?)"),
    "python": _PYTHON,
    "torch": re.compile(r"(\d[\w.]{0,40}\+(?:metax|maca|mc)\d[\w.]{0,40})"),
    "torch-public": re.compile(r"(\d[\w.]{0,40})(?:\+[\w.]{1,60})?"),
    "cpu": re.compile(r"((?!(?i:MetaX|MXC|NVIDIA))\S.{2,100})"),
    "cpus": re.compile(rf"({_ONLINE.pattern})"),
    "arch": re.compile(rf"({_MACHINES})"),
    "kernel": re.compile(rf"({_KERNEL.pattern})"),
    "memory": re.compile(r"(\d{4,15} kB)"),
}
_LABELS = {
    "libc version": "libc",
    "maca driver version": "kmd",
    "maca sdk version": "sdk",
    "nvidia driver version": "nvidia-kmd",
    "python version": "python",
    "pytorch version": "torch",
    "model name": "cpu",
    "型号名称": "cpu",
    "on-line cpu(s) list": "cpus",
    "在线 cpu 列表": "cpus",
    "architecture": "arch",
    "架构": "arch",
    "kernel": "kernel",
    "kernel version": "kernel",
    "kernel release": "kernel",
    "memtotal": "memory",
}
"""What stands before a colon, or in the first of two cells, and what it means."""
_FILES = {"arch": ARCH, "kernel": RELEASE}


def read(lines: Iterable[Line], said: Said) -> None:
    """Take down what every single line says."""
    system: dict[str, set[str]] = {}
    typed = ""
    for line in lines:
        if line.host:
            said.hosts.add(line.host)
            said.typed.setdefault(line.host.partition(".")[0], set()).add(tool(line.typed))
        if line.edge:
            _system(system, said)
            system, typed = {}, line.typed
            continue
        words = line.words
        if not words:
            _system(system, said)
            system = {}
            continue
        if _FORMS.match(words):
            _by_form(words, said)
        if ":" in words or words[0] == "|":
            _by_label(words, said)
        for pattern in (_RELEASE_LINE, _LSB) if words[0] in "IVDR" else ():
            if found := pattern.fullmatch(words):
                system.setdefault(found[1], set()).add(found[found.lastindex or 0])
        _by_command(typed, words, said)
        typed = ""
    _system(system, said)


def _by_command(typed: str, words: str, said: Said) -> None:
    """Take down the first line of what a command printed that says no more than a version."""
    if typed == "uname -r" and _KERNEL.fullmatch(words):
        said.files.add(RELEASE, words)
    elif typed in {"uname -m", "arch"} and re.fullmatch(_MACHINES, words):
        said.files.add(ARCH, words)
    elif _SHOW_VERSION_TXT.fullmatch(typed) and (found := _VERSION_TXT.fullmatch(words)):
        said.words.add("sdk", found[1])


def _by_label(words: str, said: Said) -> None:
    cells = _CELLS.fullmatch(words)
    found = cells or _LABEL.match(words)
    if found is None:
        return
    label, value = " ".join(found[1].lower().split()), found[2].strip()
    if label == "model name" and "Name" in found[1]:
        return  # of a card
    if label in {"os", "operating system"}:
        _named_system(value, said)
    elif label == "python platform" and (platform := _PLATFORM.fullmatch(value)):
        said.files.add(RELEASE, platform["release"])
        said.files.add(ARCH, platform["arch"])
        said.words.add("libc", platform["libc"])
    meaning = _LABELS.get(label)
    if meaning == "torch" and (public := _VALUES["torch-public"].fullmatch(value)):
        said.words.add("torch-public", public[1])
    form = _VALUES.get(meaning or "")
    match = form.match(value) if meaning == "python" and form else form and form.fullmatch(value)
    if match and meaning in _FILES:
        said.files.add(_FILES[meaning], match[1])
    elif meaning and match:
        said.words.add(meaning, match[1])


def _by_form(words: str, said: Said) -> None:
    if found := _UNAME.fullmatch(words):
        said.files.add(RELEASE, found["release"])
        said.files.add(BUILD, found["build"])
        said.files.add(ARCH, found["arch"])
    elif found := _PYTHON_SAYS.fullmatch(words):
        said.words.add("python", found[1])
    elif found := _LDD.fullmatch(words):
        said.words.add("libc", found[2])
    elif found := _VARIABLE.fullmatch(words):
        # What a shell would put in the place of another variable or a command is not told, nor
        # what people put dots or stars or a word in brackets for.
        if _TELLING.fullmatch(found[3]):
            said.variables.add(found[1], found[3])
    elif found := _LINK.fullmatch(words):
        target = found[2]
        said.links.add(SDK, target if target.startswith("/") else f"/opt/{target}")
    elif found := _MODULE.fullmatch(words):
        said.directories.add(f"/sys/module/{found[1]}")
    elif _COMPILER.fullmatch(words) or _INSTALLED.fullmatch(words):
        said.words.add("mxcc" if words.startswith("mxcc") else "mxcc-folder", words)
    elif _RAS.fullmatch(words):
        said.printed(("mcclras", "--version"), f"{words}\n")


def _named_system(value: str, said: Said) -> None:
    found = _OS.fullmatch(value)
    known = _SYSTEMS.get(found["name"].lower()) if found else None
    if found and known:
        said.words.add("os", _os(*known, found["version"]))


def _os(name: str, fields: int, version: str) -> str:
    return f"{name} {'.'.join(version.split('.')[:fields])}"


def _system(found: dict[str, set[str]], said: Said) -> None:
    """Take down what ``os-release`` or ``lsb_release`` says, if all of it is there."""
    for name, version in (("ID", "VERSION_ID"), ("Distributor ID", "Release")):
        names, versions = found.get(name, set()), found.get(version, set())
        if len(names) != 1 or len(versions) != 1:
            continue
        (name_told,), (version_told,) = names, versions
        if name == "ID":
            said.words.add("os", f"{name_told} {version_told}")
        elif known := _SYSTEMS.get(name_told.lower()):
            said.words.add("os", _os(*known, version_told))


def read_modules(lines: Iterable[Line], said: Said) -> None:
    """Take down what ``modinfo`` says of a vendor's module."""
    name: str = ""
    fields: list[str] = []
    for line in lines:
        words = line.words
        begins = _MODULE_FILE.fullmatch(words) if words.startswith("filename:") else None
        if name and (begins or not _MODULE_FIELD.fullmatch(words)):
            _module(name, "".join(fields), said)
            name, fields = "", []
        if begins:
            name, fields = begins[1], []
        if name:
            fields.append(f"{words}\n")
    if name:
        _module(name, "".join(fields), said)


def _module(name: str, text: str, said: Said) -> None:
    said.printed(("modinfo", name), text)
    versions = _MODULE_VERSION.findall(text)
    if len(versions) == 1:
        said.printed(("modinfo", "-F", "version", name), f"{versions[0]}\n")


def processors(ranges: str) -> int:
    """Return how many numbers a list like ``0-31,64-95`` names."""
    ends = (part.partition("-") for part in ranges.split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)
