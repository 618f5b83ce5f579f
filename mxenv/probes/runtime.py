"""What runs containers here: engines, low-level runtimes, vendors' toolkits, and their set-up."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mxenv.credential import MASK
from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable
from mxenv.probe import Probe
from mxenv.probes._reading import best, lines
from mxenv.question import Command, File, Found, Glob, Part, Stat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.question import Answers, Question

VERSION = r"v?(\d{1,4}(?:\.\d{1,6}){1,3}(?:-(?:alpha|beta|rc)[.\d]{0,4})?)(?=[\s,+~-])"
"""To its whole length, without what a build or a distribution adds."""

TOOLS = {
    "containerd": "containerd ",
    "crun": "crun version ",
    "docker": "Docker version ",
    "nvidia-ctk": "NVIDIA Container Toolkit CLI version ",
    "podman": "podman version ",
    "runc": "runc version ",
}
"""By the name of each tool, how the line begins in which ``--version`` says its version.

None of them asks a daemon for it.
"""
COMMANDS = {name: Command((name, "--version"), seconds=5.0) for name in TOOLS}
FIRST = "docker"
"""Nearly everywhere, and often in no package: it is run while files are read."""

OWN = {
    name: tuple(Stat(f"/usr/local/{folder}/{name}") for folder in ("bin", "sbin")) for name in TOOLS
}
"""Where a tool is put that comes in no package."""

DPKG = File("/var/lib/dpkg/status", Part.PACKAGES, limit=32 << 20)
PACKAGES = {
    "containerd": ("containerd.io", "containerd"),
    "crun": ("crun",),
    "docker": ("docker-ce", "docker.io"),
    "metax-docker": ("metax-docker",),
    "nvidia-ctk": ("nvidia-container-toolkit",),
    "podman": ("podman",),
    "runc": ("runc",),
}
"""In which packages each comes; what a vendor's wrapper would do when it is run is not known."""

WRAPPER = tuple(
    Stat(f"{folder}/mx-container-runtime")
    for folder in ("/var/lib/metax/tools/usr/bin", "/usr/local/bin", "/usr/bin")
)
"""MetaX's runtime, and where its operator and its packages put it."""

DAEMON = File("/etc/docker/daemon.json", Part.RUNTIMES, limit=1 << 20)
CONTAINERD = File("/etc/containerd/config.toml", Part.RUNTIMES, limit=1 << 20)
PARTS = Glob("/etc/containerd/conf.d/*.toml", Part.RUNTIMES, limit=1 << 20)

HANDLER = '[containerd.runtimes."'
DEFAULT = 'default_runtime_name = "'
"""How the lines begin that an excerpt keeps of containerd's set-up."""

KEYS = (
    FactKey(
        name="runtime",
        meaning="version of a container engine, a runtime or a vendor's toolkit",
        instance="name",
        sources=f"--version of {', '.join(TOOLS)}; else {DPKG.path}",
    ),
    FactKey(
        name="runtime.handler",
        meaning="that an engine is set up to use a runtime of this name",
        instance="engine/name",
        sources=f"{DAEMON.path}, {CONTAINERD.path}, {PARTS.pattern}",
    ),
    FactKey(
        name="runtime.default",
        meaning="the runtime that an engine is set up to use where none is asked for",
        instance="engine",
        sources=f"{DAEMON.path}, {CONTAINERD.path}, {PARTS.pattern}",
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read what each tool says of itself, what its package says, and how engines are set up."""
    for name in sorted(TOOLS.keys() | PACKAGES):
        reading, source = _version(answers, name)
        yield Fact(key="runtime", instance=name, reading=reading, source=source)
    yield Fact(
        key="runtime",
        instance="mx-container-runtime",
        reading=_wrapped(answers),
        source=WRAPPER[0].path,
    )
    yield from _docker(answers)
    yield from _containerd(answers)


def more(answers: Answers) -> Iterator[Question]:
    """Ask the tools that come in no package: where one does, it need not be run."""
    if DPKG in answers.given:
        for name, command in COMMANDS.items():
            if name != FIRST and not _known(answers, name):
                yield command


def _version(answers: Answers, name: str) -> tuple[Reading, str]:
    """Return the version that counts: that of the tool that would be run."""
    if name in TOOLS:
        said = _said(answers, name)
        if isinstance(said, Observed) or not _known(answers, name):
            return said, f"{name} --version"
    return _packaged(answers, name), DPKG.path


def _known(answers: Answers, name: str) -> bool:
    """Return whether a tool is that of a package: none lies where it would be found before."""
    own = any(not isinstance(answers[question], Absent) for question in OWN[name])
    return not own and isinstance(_packaged(answers, name), Observed)


def _said(answers: Answers, name: str) -> Reading:
    completed = answers[COMMANDS[name]]
    if isinstance(completed, Unreadable):
        return completed
    if completed.missing:
        return Absent()
    if completed.timed_out:
        return Unreadable(f"{name} did not end in time", passing=True)
    if completed.returncode:
        return Unreadable(f"{name} exited with {completed.returncode}")
    first, end, _ = completed.stdout.partition("\n")
    said = first.removeprefix(TOOLS[name])
    if name == "containerd":
        # It also says in which package of the Go language it lies.
        said = said.partition(" ")[2]
    match = re.match(VERSION, said + end) if first.startswith(TOOLS[name]) else None
    return Observed(match[1]) if match else Unreadable(f"{name} said {completed.stdout[:40]!r}")


def _packaged(answers: Answers, name: str) -> Reading:
    """Return the version of a package without what the distribution adds to it."""
    answer = answers[DPKG]
    if not isinstance(answer, Found):
        return Unreadable("no packages of dpkg here") if isinstance(answer, Absent) else answer
    text = f"\n{answer.value}"
    for package in PACKAGES[name]:
        start = text.find(f"\nPackage: {package}\n")
        end = text.find("\n\n", start)
        stanza = text[start : end + 1 if end > 0 else None] if start >= 0 else ""
        # Many hold the package of their engine, so that it is never upgraded unasked.
        if (
            "\nStatus: install ok installed\n" in stanza
            or "\nStatus: hold ok installed\n" in stanza
        ):
            _, _, after = stanza.partition("\nVersion: ")
            epoch, colon, rest = after.partition("\n")[0].partition(":")
            match = re.match(VERSION, f"{rest if colon else epoch}\n") if "\n" in after else None
            return Observed(match[1]) if match else Unreadable(f"{package} has no version")
    return Absent()


def _wrapped(answers: Answers) -> Reading:
    """Return whether a runtime is there that nobody knows how to ask."""
    given = [answers[question] for question in WRAPPER]
    for question, answer in zip(WRAPPER, given, strict=True):
        if isinstance(answer, Found):
            return Unreadable(f"{question.path} is there, and nothing says its version")
    return best(*(answer for answer in given if not isinstance(answer, Found)))


def _docker(answers: Answers) -> Iterator[Fact]:
    """Read the one file that Docker's daemon is set up by."""
    answer = answers[DAEMON]
    names: tuple[str, ...]
    default: Reading
    if not isinstance(answer, Found):
        names, default = (), answer
    else:
        names, default = _daemon(answer.value)
    nothing = default if isinstance(default, Unreadable) else Absent()
    placed = [(name, DAEMON.path) for name in names]
    yield from _handlers("docker", placed, nothing, DAEMON.path)
    yield Fact(key="runtime.default", instance="docker", reading=default, source=DAEMON.path)


def _daemon(text: str) -> tuple[tuple[str, ...], Reading]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return (), Unreadable("not the JSON that Docker's daemon is set up by")
    names, default = given.get("runtimes", {}), given.get("default-runtime")
    if MASK in (default, *names):
        return (), Unreadable("a name in it is none")
    return tuple(names), Absent() if default is None else Observed(str(default))


def _containerd(answers: Answers) -> Iterator[Fact]:
    """Read the files that containerd is set up by; what it was built with is in none of them."""
    parts = answers[PARTS]
    files = [(CONTAINERD.path, answers[CONTAINERD])]
    files += parts.value if isinstance(parts, Found) else [(PARTS.pattern, parts)]
    nothing = best(*(answer for _, answer in files if not isinstance(answer, Found)))
    if any(isinstance(answer, Found) for _, answer in files):
        nothing = Unreadable("its files name none")
    names: list[tuple[str, str]] = []
    defaults: list[tuple[Reading, str]] = []
    for path, answer in files:
        for entry in lines(answer.value) if isinstance(answer, Found) else ():
            if entry.startswith(HANDLER):
                names.append((entry.removeprefix(HANDLER).removesuffix('"]'), path))
            elif entry.startswith(DEFAULT):
                defaults.append((Observed(entry.removeprefix(DEFAULT).removesuffix('"')), path))
    yield from _handlers("containerd", names, nothing, CONTAINERD.path)
    for reading, path in defaults or [(nothing, CONTAINERD.path)]:
        yield Fact(key="runtime.default", instance="containerd", reading=reading, source=path)


def _handlers(
    engine: str, names: Sequence[tuple[str, str]], nothing: Reading, source: str
) -> Iterator[Fact]:
    """Yield a fact for each name and where it stands; without one, why there is none."""
    key = "runtime.handler"
    for name, path in names:
        yield Fact(key=key, instance=f"{engine}/{name}", reading=Observed("set up"), source=path)
    if not names:
        yield Fact(key=key, instance=engine, reading=nothing, source=source)


PROBE = Probe(
    keys=KEYS,
    questions=(
        COMMANDS[FIRST],
        *(stat for stats in OWN.values() for stat in stats),
        *WRAPPER,
        DPKG,
        DAEMON,
        CONTAINERD,
        PARTS,
    ),
    read=read,
    more=more,
    read_only=tuple(command.argv for command in COMMANDS.values()),
)
