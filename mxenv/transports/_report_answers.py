"""Which questions a report answers, and how."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

from mxenv.facts import Unreadable, View
from mxenv.frozen import frozen
from mxenv.question import Completed, Found, Glob, Part, Status
from mxenv.transports import _report_environments, _report_labels, _report_packages, _report_smi
from mxenv.transports._memory import MemoryTree, tree
from mxenv.transports._report_said import MISSING, Said
from mxenv.transports._report_text import TOOLS, lines
from mxenv.transports._tree import DIRECTORY, Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.question import Matches

__all__ = ["MISSING", "Report", "understood"]

Outputs = dict[tuple[str, ...], Completed | Unreadable]
RUNNING = Glob("/proc/[0-9]*/exe", Part.LINK)
"""A running interpreter is what shows that there is an environment at an uncommon place."""
SOME = Unreadable("the report may list only some distributions")
SDK_FILE = "/opt/maca/Version.txt"
DRIVER = "/sys/module/metax/version"
NVIDIA_DRIVERS = ("/sys/module/nvidia/version", "/proc/driver/nvidia/version")
GETCONF = ("getconf", "GNU_LIBC_VERSION")
CONTAINER = re.compile(r"[0-9a-f]{12}")
"""The host name that Docker and Podman give to a container."""
KUBERNETES = "KUBERNETES_SERVICE_HOST"
PYTHON = frozenset({"conda", "pip", "pip3", "python", "python3", "uv", "vllm"})
"""What shows an environment, of which a container has its own."""
SHOWING = TOOLS - {"docker", "export", "kubectl"}
"""What shows the machine on which it is typed."""
MOST = 4096
"""Processors of one machine that are believed."""


@frozen(kw_only=False)
class UnclearTree:
    """Files, some of which the report shows twice, and otherwise."""

    tree: MemoryTree
    unclear: Mapping[str, Unreadable]

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``."""
        return self.tree.lstat(path)

    def readlink(self, path: str) -> str:
        """Return the text of a link."""
        return self.tree.readlink(path)

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory, or say why they cannot be known."""
        self._look_into(path)
        return self.tree.names(path)

    def open(self, path: str) -> BinaryIO:
        """Open a file, or say why it cannot be known."""
        self._look_into(path)
        return self.tree.open(path)

    def _look_into(self, path: str) -> None:
        if path in self.unclear:
            raise Unanswered(self.unclear[path].reason)


@frozen
class Report:
    """Everything that a report answers."""

    tree: UnclearTree
    outputs: Outputs
    variables: dict[str, str | Unreadable]
    links: dict[str, str | Unreadable]
    directories: Mapping[str, Found[Status]]
    globs: Mapping[Glob, Matches]
    view: View
    dates: tuple[str, ...]
    machines: tuple[str, ...]
    """Those that it shows, if it shows several."""


def understood(text: str) -> Report:
    """Return what ``text`` answers."""
    found = tuple(lines(text))
    said = Said()
    _report_smi.read(found, said)
    _report_smi.read_json(found, said)
    _report_labels.read(found, said)
    _report_labels.read_modules(found, said)
    lists = _report_packages.read(found)
    outputs = _outputs(said)
    files: dict[str, str | Unreadable] = {
        path: f"{text}\n" if isinstance(text, str) else text for path, text in said.files
    }
    release = files.get(_report_labels.RELEASE)
    if isinstance(release, Unreadable):
        files[_report_labels.BUILD] = release
    _drivers(said, outputs, files)
    _nvidia_drivers(said, outputs, files)
    _from_words(said, files)
    laid = _report_environments.lay(lists, said, files)
    return Report(
        tree=_tree(files, laid.hidden),
        outputs=outputs,
        variables=dict(said.variables),
        links=dict(said.links),
        directories={path: Found(DIRECTORY) for path in said.directories},
        globs={RUNNING: laid.running} if laid.running else {},
        view=_view(said),
        dates=tuple(said.dates),
        machines=_machines(said),
    )


def _machines(said: Said) -> tuple[str, ...]:
    """Return the names of several machines whose outputs stand side by side.

    A container is part of its host; but what Python has in one is not what it has in the other.
    """
    showing = {host: tools & SHOWING for host, tools in said.typed.items() if tools & SHOWING}
    inside = {host for host in showing if CONTAINER.fullmatch(host)}
    python = {host for host, tools in showing.items() if tools & PYTHON}
    several = (showing.keys() - inside, inside, python)
    return tuple(next((sorted(some) for some in several if len(some) > 1), ()))


def _tree(files: Mapping[str, str | Unreadable], hidden: Iterable[str]) -> UnclearTree:
    contents = {path: v.encode() if isinstance(v, str) else b"" for path, v in files.items()}
    contents |= {f"{path}/x": b"" for path in hidden}
    unclear = {path: v for path, v in files.items() if isinstance(v, Unreadable)}
    return UnclearTree(tree(contents, {}), unclear | dict.fromkeys(hidden, SOME))


def _from_words(said: Said, files: dict[str, str | Unreadable]) -> None:
    """Add the files that hold what stands beside labels."""
    words = dict(said.words)
    forms = {
        "os": (_report_labels.OS, _os_release),
        "sdk": (SDK_FILE, "Version:{}\n".format),
        "memory": (_report_labels.MEMORY, "MemTotal: {}\n".format),
    }
    for name, (path, written) in forms.items():
        value = words.get(name)
        if value is not None:
            _report_environments.put(files, path, written(str(value)), value)
    cpu, ranges = words.get("cpu"), said.words.one("cpus")
    count = _report_labels.processors(ranges) if ranges else 0
    text = f"model name : {cpu}\n" if isinstance(cpu, str) else ""
    text += "".join(f"processor : {n}\n" for n in range(count if count <= MOST else 0))
    text += "\n" if text else ""
    if isinstance(cpu, Unreadable):
        files[_report_labels.CPUS] = cpu
    elif text:
        files[_report_labels.CPUS] = text


def _os_release(value: str) -> str:
    name, _, version = value.partition(" ")
    return f'ID={name}\nVERSION_ID="{version}"\n'


def _outputs(said: Said) -> Outputs:
    outputs: Outputs = {
        argv: _report_smi.settled(printed) for argv, printed in said.outputs.items()
    }
    words = dict(said.words)
    libc = words.get("libc")
    if libc is not None:
        outputs[GETCONF] = Completed(0, f"glibc {libc}\n") if isinstance(libc, str) else libc
    compiler = [said.words.one(name) for name in ("mxcc", "mxcc-folder")]
    if compiler[0] or compiler[1]:
        text = "".join(f"{line}\n" for line in compiler if line)
        outputs["mxcc", "--version"] = Completed(0, text)
    return outputs


def _drivers(said: Said, outputs: Outputs, files: dict[str, str | Unreadable]) -> None:
    """Let ``mx-smi`` say what stands beside a label, which it said, unless it says otherwise."""
    told = said.words.one("kmd")
    printed = [output.stdout for several in said.outputs.values() for output in several]
    shown = [version for text in printed for version in _report_smi.drivers(text)]
    for version in shown:
        said.words.add("kmd", version)
    driver = dict(said.words).get("kmd")
    if isinstance(driver, Unreadable):
        files[DRIVER] = driver
        for options in _report_smi.OF_THE_NODE:
            outputs[_report_smi.MX, *options] = driver
    elif told and not shown:
        said_so = Completed(0, f'{{"driver_version": "{told}"}}\n')
        outputs.setdefault((_report_smi.MX, "-j"), said_so)


def _nvidia_drivers(said: Said, outputs: Outputs, files: dict[str, str | Unreadable]) -> None:
    """Let the label, and every table of ``nvidia-smi``, say which driver it is, if it is one."""
    for output in said.outputs.get((_report_smi.NVIDIA,), []):
        for version in _report_smi.nvidia_drivers(output.stdout):
            said.words.add("nvidia-kmd", version)
    driver = dict(said.words).get("nvidia-kmd")
    if isinstance(driver, Unreadable):
        files |= dict.fromkeys(NVIDIA_DRIVERS, driver)
        if (_report_smi.NVIDIA,) in outputs:
            outputs[(_report_smi.NVIDIA,)] = driver
    elif driver is not None:
        files[NVIDIA_DRIVERS[0]] = f"{driver}\n"


def _view(said: Said) -> View:
    """Return whose view it is: a container has a name that was made up, a pod its variable."""
    inside = said.hosts and all(CONTAINER.fullmatch(host) for host in said.hosts)
    return View.CONTAINER if inside or KUBERNETES in said.variables.said else View.HOST
