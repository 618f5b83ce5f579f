"""What shows MetaX's driver without asking ``mx-smi``: its module, packages and device nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Command, Completed, File, Found, Glob, Part, Question
from mxenv.vendors._metax_place import DRM, MODULE, Place
from mxenv.vendors._mxsmi import excerpt, version

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = File("/sys/module/metax/version", limit=4096)
PARAMETERS = Glob("/sys/module/metax/parameters/*", part=Part.WHOLE, limit=4096)
MODULES = File("/proc/modules")
KERNEL = File("/proc/sys/kernel/osrelease")
BUILT = (
    Glob("/lib/modules/*/extra/metax.ko*"),
    Glob("/lib/modules/*/updates/metax.ko*"),
    Glob("/lib/modules/*/updates/dkms/metax.ko*"),
    Glob("/lib/modules/*/weak-updates/metax.ko*"),
)
DPKG = File("/var/lib/dpkg/status", Part.PACKAGES, limit=32 << 20)
RPM = Command(("rpm", "-q", "--qf", "%{VERSION}\\n", "metax-driver"))
NODES = Glob("/dev/mx*")
DRI = Glob("/dev/dri/*")

QUESTIONS: tuple[Question, ...] = (
    VERSION,
    PARAMETERS,
    MODULES,
    KERNEL,
    *BUILT,
    DPKG,
    RPM,
    NODES,
    DRI,
)

CONTROL_NODE = "/dev/mxcd"
_NODE = re.compile(r"/dev/(?:mxcd|mxgvm|mxnd|mxgd)")
_LINE = re.compile(r"^metax \d+ \d+ \S+ (\w+)", re.MULTILINE)
_STANZA = re.compile(r"^Package: metax-driver\n(?:(?!\n).*\n?)*", re.MULTILINE)
_FIELD = re.compile(r"^(Status|Version): (.*)$", re.MULTILINE)
_INSTALLED = "installed"


def facts(answers: Answers, place: Place) -> Iterator[Fact]:
    """Yield everything that files and packages say of the driver."""
    yield Fact(key="metax.kmd", reading=_version(answers, place), source=VERSION.path)
    loaded = "metax.module.loaded"
    yield Fact(key=loaded, reading=_in_sysfs(answers), source=MODULE.path)
    yield Fact(key=loaded, reading=_in_modules(answers), source=MODULES.path)
    yield from _parameters(answers)
    yield from _built(answers, place)
    package = "metax.driver_package"
    yield Fact(key=package, reading=_dpkg(answers), source=DPKG.path)
    yield Fact(key=package, reading=_rpm(answers), source=" ".join(RPM.argv[:2]))
    yield from _nodes(answers, place)


def _version(answers: Answers, place: Place) -> Reading:
    match answers[VERSION]:
        case Found(text):
            return version(text)
        case Absent() if place.module is False:
            return Absent()
        case Absent():
            return Unreadable("the module exports no version")
        case Unreadable() as unreadable:
            return unreadable


def _in_sysfs(answers: Answers) -> Reading:
    match answers[MODULE]:
        case Found():
            return Observed("loaded")
        case Absent():
            return Absent()
        case Unreadable() as unreadable:
            return unreadable


def _in_modules(answers: Answers) -> Reading:
    match answers[MODULES]:
        case Found(text):
            line = _LINE.search(text)
            if line and line[1] != "Live":
                return Unreadable(f"it is on its way: {line[1]}", passing=True)
            return Observed("loaded") if line else Absent()
        case Absent() if isinstance(answers[KERNEL], Found):
            # A kernel that can load no modules has no list of them.
            return Absent()
        case Absent():
            return Unreadable("/proc is not to be seen")
        case Unreadable() as unreadable:
            return unreadable


def _parameters(answers: Answers) -> Iterator[Fact]:
    key, source = "metax.module.parameter", PARAMETERS.pattern
    match answers[PARAMETERS]:
        case Found(matches) if matches:
            for path, content in matches:
                name = path.rpartition("/")[2]
                yield Fact(key=key, instance=name, reading=_value(content), source=path)
        case Found() | Absent():
            yield Fact(key=key, reading=Absent(), source=source)
        case Unreadable() as unreadable:
            yield Fact(key=key, reading=unreadable, source=source)


def _value(content: Found[str] | Absent | Unreadable) -> Reading:
    return Observed(content.value.strip()) if isinstance(content, Found) else content


def _built(answers: Answers, place: Place) -> Iterator[Fact]:
    """Yield for which kernels the module was built; the running one is always spoken of."""
    key = "metax.module.built"
    given = tuple(answers[glob] for glob in BUILT)
    built: dict[str, Fact] = {}
    for answer in given:
        for path, _ in answer.value if isinstance(answer, Found) else ():
            kernel, where = _kernel(path)
            fact = Fact(key=key, instance=kernel, reading=Observed(where), source=path)
            built.setdefault(kernel, fact)
    yield from built.values()
    kernel_answer = answers[KERNEL]
    running = kernel_answer.value.strip() if isinstance(kernel_answer, Found) else ""
    if running in built or (built and not running):
        return
    blind = [answer for answer in given if isinstance(answer, Unreadable)]
    reading: Reading = blind[0] if blind else Absent()
    if place.container is not False:
        reading = Unreadable("the modules of the running kernel lie on the host")
    yield Fact(key=key, instance=running, reading=reading, source="/lib/modules/*")


def _kernel(path: str) -> tuple[str, str]:
    kernel, _, rest = path.removeprefix("/lib/modules/").partition("/")
    return kernel, rest.rpartition("/")[0]


def _dpkg(answers: Answers) -> Reading:
    match answers[DPKG]:
        case Found(text):
            stanza = _STANZA.search(text)
            fields = dict(_FIELD.findall(stanza[0])) if stanza else {}
            if fields.get("Status", "").split()[-1:] != [_INSTALLED]:
                return Absent()
            return version(fields.get("Version", ""))
        case Absent():
            return Absent()
        case Unreadable() as unreadable:
            return unreadable


def _rpm(answers: Answers) -> Reading:
    match answers[RPM]:
        case Unreadable() as unreadable:
            return unreadable
        case Completed() as done if done.missing:
            return Absent()
        case Completed() as done if done.timed_out:
            return Unreadable("it did not end within its time limit", passing=True)
        case Completed() as done if done.returncode == 0 and done.stdout.endswith("\n"):
            return version(done.stdout)
        case Completed() as done if "is not installed" in done.stdout:
            return Absent()
        case Completed() as done:
            said = excerpt(done.stdout or done.stderr)
            return Unreadable(f"it exited with {done.returncode}: {said}")


def _nodes(answers: Answers, place: Place) -> Iterator[Fact]:
    """Yield the device nodes: the control node, and those that sysfs gives to MetaX's cards."""
    yield from _control(answers)
    present, owned = answers[DRI], answers[DRM]
    if not (isinstance(present, Found) and isinstance(owned, Found)) or not place.pci:
        return
    paths = {path for path, _ in present.value}
    for path, _ in owned.value:
        bdf, _, name = path.removeprefix("/sys/bus/pci/devices/").partition("/drm/")
        node = f"/dev/dri/{name}"
        if isinstance(place.pci, dict) and bdf.lower() in place.pci and node in paths:
            yield _node(node)


def _control(answers: Answers) -> Iterator[Fact]:
    match answers[NODES]:
        case Found(matches):
            found = sorted({path for path, _ in matches if _NODE.fullmatch(path)})
            yield from map(_node, found)
            if CONTROL_NODE not in found:
                yield _node(CONTROL_NODE, Absent())
        case Absent():
            yield _node(CONTROL_NODE, Absent())
        case Unreadable() as unreadable:
            yield _node(CONTROL_NODE, unreadable)


def _node(path: str, reading: Reading | None = None) -> Fact:
    return Fact(
        key="metax.node", instance=path, reading=reading or Observed("present"), source=path
    )
