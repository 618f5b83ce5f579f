"""What shows MetaX's kernel module: whether it is loaded, which version, built for which kernel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Command, Completed, File, Found, Glob, Link, Part, Question
from mxenv.vendors._kernel_module import KERNEL, MODULES, in_modules, in_sysfs
from mxenv.vendors._metax_brand import METAX, SECONDS, Brand, speaks
from mxenv.vendors._metax_place import MODULE, Place
from mxenv.vendors._mxsmi import version
from mxenv.vendors._place import ON_HOST
from mxenv.vendors._words import ended, excerpt, matched, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answer

NAME = "metax"
GVM = "mxgvm"
VERSION = File("/sys/module/metax/version", limit=4096)
PARAMETERS = Glob("/sys/module/metax/parameters/*", part=Part.WHOLE, limit=4096)
BUILT = (
    Glob("/lib/modules/*/extra/metax.ko*"),
    Glob("/lib/modules/*/updates/metax.ko*"),
    Glob("/lib/modules/*/updates/dkms/metax.ko*"),
    Glob("/lib/modules/*/weak-updates/metax.ko*"),
)
MORE_BUILT = (
    Glob("/lib/modules/*/extra/metax/metax.ko*"),
    Glob("/lib/modules/*/weak-updates/metax/metax.ko*"),
)
"""Asked only where there is a card, since a node may have many kernels."""
MODINFO = Command(("modinfo", NAME), seconds=SECONDS)

QUESTIONS: tuple[Question, ...] = (VERSION, PARAMETERS, MODULES, KERNEL, *BUILT)

_RELEASE = r"\d+(?:\.\d+)+[\w.+~-]*"
_FIELD = r"^{}:[ \t]+(\S+)"
_OWN = re.compile(r"/sys/module/([A-Za-z0-9_]{1,64})")
_PASSED_ON = re.compile(r"vfio\w*|pci_stub|xen_pciback")
"""Drivers that hold a card for a virtual machine."""


def more(answers: Answers, place: Place) -> Iterator[Question]:
    """Yield what to ask now that a card, or a module, was seen."""
    cards = place.pci if isinstance(place.pci, dict) else {}
    if cards or place.module or any(isinstance(answers[glob], Found) for glob in BUILT):
        yield from (MODINFO, *MORE_BUILT)
    yield from map(driver, cards)
    for name in names(answers, place):
        if name != NAME:
            yield from (_version_of(name), _parameters_of(name))


def driver(bdf: str) -> Link:
    """Return the question which module drives a card."""
    return Link(f"/sys/bus/pci/devices/{bdf}/driver/module")


def names(answers: Answers, place: Place) -> tuple[str, ...]:
    """Return the modules that drive cards, whatever brand calls them how."""
    readings = set(drivers(answers, place).values())
    found = {str(reading.value) for reading in readings if isinstance(reading, Observed)}
    return tuple(sorted(name for name in found if not _PASSED_ON.fullmatch(name)))


def _version_of(name: str) -> File:
    return File(f"/sys/module/{name}/version", limit=VERSION.limit)


def _parameters_of(name: str) -> Glob:
    return Glob(f"/sys/module/{name}/parameters/*", part=Part.WHOLE, limit=PARAMETERS.limit)


def drivers(answers: Answers, place: Place) -> dict[str, Reading]:
    """Return the module that drives each card on the bus."""
    cards = place.pci if isinstance(place.pci, dict) else {}
    return {bdf: _driver(answers, bdf) for bdf in cards}


def _driver(answers: Answers, bdf: str) -> Reading:
    match answers[driver(bdf)]:
        case Found(path) if found := _OWN.fullmatch(path):
            return Observed(found[1])
        case Found() | Absent():
            return Absent()
        case Unreadable() as unreadable:
            return unreadable


def facts(answers: Answers, place: Place, brand: Brand) -> Iterator[Fact]:
    """Yield everything that the kernel and its modules' files say."""
    others = [name for name in names(answers, place) if name != NAME]
    yield Fact(key="metax.kmd", reading=_version(answers, place), source=VERSION.path)
    for name in others:
        reading = _exported(answers, _version_of(name))
        yield Fact(key="metax.kmd", reading=reading, source=_version_of(name).path)
    yield from _loaded(answers, brand, others)
    yield from _modinfo(answers, place)
    yield from _parameters(answers, PARAMETERS)
    for name in others:
        yield from _parameters(answers, _parameters_of(name))
    yield from _built(answers, place)


def _version(answers: Answers, place: Place) -> Reading:
    if answers[VERSION] == Absent() and place.module is False:
        return Absent()
    return _exported(answers, VERSION)


def _exported(answers: Answers, file: File) -> Reading:
    match answers[file]:
        case Found(text):
            told = ended(text)
            return told if isinstance(told, Unreadable) else version(told)
        case Absent():
            return Unreadable("the module exports no version")
        case Unreadable() as unreadable:
            return unreadable


def _loaded(answers: Answers, brand: Brand, others: list[str]) -> Iterator[Fact]:
    key = "metax.module.loaded"
    for name in others:
        source = f"/sys/module/{name}"
        yield Fact(key=key, reading=Observed("loaded"), source=source)
    for source, reading in (
        (MODULE.path, in_sysfs(answers, MODULE)),
        (MODULES.path, in_modules(answers, NAME)),
    ):
        known = reading
        if reading == Absent() and brand is not METAX and speaks(answers, brand):
            known = Unreadable(f"how {brand.name} calls its module is not known")
        yield Fact(key=key, reading=known, source=source)
    gvm = in_modules(answers, GVM)
    yield Fact(key="metax.module.gvm", reading=gvm, source=MODULES.path)


def _modinfo(answers: Answers, place: Place) -> Iterator[Fact]:
    """Yield what the module's file says, which is what the next start will load."""
    source = " ".join(MODINFO.argv)
    keys = ("metax.module.on_disk", "metax.module.vermagic")
    if MODINFO not in answers.given:
        none = place.driver is False and all(answers[glob] == Absent() for glob in BUILT)
        reading: Reading = Absent() if none else Unreadable("not asked")
        if none and place.container is not False:
            reading = ON_HOST
        yield from (Fact(key=key, reading=reading, source=source) for key in keys)
        return
    told = _field(answers, "version")
    built = _field(answers, "vermagic")
    if isinstance(built, Observed):
        built = matched(str(built.value), re.compile(_RELEASE), "a kernel's release")
    if isinstance(told, Observed):
        told = version(str(told.value))
    elif told == Absent() and place.container is not False:
        told = built = ON_HOST
    for key, reading in zip(keys, (told, built), strict=True):
        yield Fact(key=key, reading=reading, source=source)
    yield Fact(key="metax.kmd", reading=_running(told, place), source=source)


def _running(on_disk: Reading, place: Place) -> Reading:
    """Return what the module on disk says of the driver that runs."""
    if isinstance(on_disk, Observed) and not place.module:
        return Unreadable(f"no driver is loaded; the module on disk is {on_disk.value}")
    if on_disk == Absent() and place.module:
        return Unreadable("the module that is loaded is not among those of the running kernel")
    return on_disk


def _field(answers: Answers, name: str) -> Reading:
    match answers[MODINFO]:
        case Unreadable() as unreadable:
            return unreadable
        case Completed() as done if done.missing:
            return Unreadable("there is no modinfo to ask")
        case Completed() as done if done.timed_out:
            return Unreadable("it did not end within its time limit", passing=True)
        case Completed() as done if done.returncode:
            if "not found" in done.stderr:
                return Absent()
            return Unreadable(f"it exited with {done.returncode}: {excerpt(done.stderr)}")
        case Completed() as done:
            # Only a line whose end was seen, and only if it is there once.
            pattern = _FIELD.format(name) + r"[^\n]*\n"
            found = re.findall(pattern, plain(done.stdout), re.MULTILINE)
            return Observed(found[0]) if len(found) == 1 else Unreadable(f"it names no {name}")


def _parameters(answers: Answers, glob: Glob) -> Iterator[Fact]:
    key = "metax.module.parameter"
    match answers[glob]:
        case Found(matches) if matches:
            for path, content in matches:
                name = path.rpartition("/")[2]
                yield Fact(key=key, instance=name, reading=_value(content), source=path)
        case Found() | Absent():
            yield Fact(key=key, reading=Absent(), source=glob.pattern)
        case Unreadable() as unreadable:
            yield Fact(key=key, reading=unreadable, source=glob.pattern)


def _value(content: Answer[str]) -> Reading:
    """Return the value of a parameter; one that was given none has none."""
    if not isinstance(content, Found):
        return content
    told = ended(content.value)
    if isinstance(told, Unreadable):
        return told
    return Observed(told) if told else Absent()


def _built(answers: Answers, place: Place) -> Iterator[Fact]:
    """Yield for which kernels the module was built; the running one is always spoken of."""
    key = "metax.module.built"
    asked = (*BUILT, *(glob for glob in MORE_BUILT if glob in answers.given))
    given = tuple(answers[glob] for glob in asked)
    built: dict[str, Fact] = {}
    for answer in given:
        for path, _ in answer.value if isinstance(answer, Found) else ():
            kernel, where = _kernel(path)
            fact = Fact(key=key, instance=kernel, reading=Observed(where), source=path)
            built.setdefault(kernel, fact)
    yield from built.values()
    kernel_answer = answers[KERNEL]
    running = kernel_answer.value.strip() if isinstance(kernel_answer, Found) else ""
    blind = [answer for answer in given if isinstance(answer, Unreadable)]
    for late in [one for one in blind if one.passing][:1] if running else ():
        yield Fact(key=key, reading=late, source="/lib/modules/*")
    if running in built or (built and not running):
        return
    none: Reading = Absent() if place.container is False else ON_HOST
    reading = blind[0] if blind else none
    yield Fact(key=key, instance=running, reading=reading, source="/lib/modules/*")


def _kernel(path: str) -> tuple[str, str]:
    kernel, _, rest = path.removeprefix("/lib/modules/").partition("/")
    return kernel, rest.rpartition("/")[0]
