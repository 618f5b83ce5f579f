"""Whether shared objects can be loaded here, as far as that is told without loading any."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv.elf import GLIBC, GLIBCXX, numbers, order
from mxenv.facts import Absent, Fact, FactKey, Observed, Unreadable
from mxenv.probe import Probe
from mxenv.probes import _objects, _places
from mxenv.probes._objects import Object
from mxenv.probes._reading import best

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mxenv.facts import Reading
    from mxenv.probes._linking import World
    from mxenv.probes._objects import Group, Place
    from mxenv.question import Answers, Question

WHERE = "/opt/maca/lib, /opt/mxdriver/lib, /usr/local/cuda/lib64, site-packages"
KEYS = (
    FactKey(
        name="elf.objects",
        meaning="how many shared objects a distribution, or a vendor's folder, has",
        instance="owner",
        sources=WHERE,
    ),
    FactKey(
        name="elf.machine",
        meaning="the machines that they are for; of libc.so.6 that of the system",
        instance="owner",
        sources="the header of each",
    ),
    FactKey(
        name="elf.glibc",
        meaning="the newest version of glibc that one of them needs",
        instance="owner",
        sources="the versions that each needs (.gnu.version_r)",
    ),
    FactKey(
        name="elf.glibcxx",
        meaning="the newest version of libstdc++ that one of them needs",
        instance="owner",
        sources="the versions that each needs (.gnu.version_r)",
    ),
    FactKey(
        name="elf.cxx11_abi",
        meaning="the C++ ABI of their names (_GLIBCXX_USE_CXX11_ABI)",
        instance="owner",
        sources="the names of their dynamic symbols",
    ),
    FactKey(
        name="elf.provides",
        meaning="the newest version that the system's libc or a libstdc++ defines",
        instance="library",
        sources="libc.so.6, libstdc++.so.6 (.gnu.version_d)",
    ),
    FactKey(
        name="elf.missing",
        meaning="libraries that one needs and that are nowhere; absent if there is none",
        instance="path",
        sources="what each needs (DT_NEEDED), its own search path and the linker's",
    ),
    FactKey(
        name="elf.undefined",
        meaning="symbols of an extension that nothing loaded with it defines; absent if none",
        instance="path",
        sources="its dynamic symbols, those of its framework and of the libraries it needs",
    ),
)
LIBC = "libc.so.6"
OF_LIBRARIES = {LIBC: ("elf.provides", "elf.machine"), "libstdc++.so.6": ("elf.provides",)}
"""What a library says of the system that it is the system's."""
FOLDERS = (
    *_objects.SYSTEM_GLOBS,
    *(glob for group in _objects.VENDOR_GROUPS for glob in group.globs),
)


def more(answers: Answers) -> Iterator[Question]:
    """Ask for the objects, then for what they need elsewhere, then for what it defines."""
    found = _world(answers)
    if found is None:
        return
    from mxenv.probes import _linking, _undefined  # noqa: PLC0415 - imported late: most need none

    for step in (_linking.first, _linking.further, _undefined.questions):
        questions = tuple(step(found))
        yield from questions
        if any(question not in answers.given for question in questions):
            return


def _world(answers: Answers) -> World | None:
    """Return what is known of all objects; `None` if there can be none."""
    places, groups = _objects.environments(answers)
    groups = (*_objects.vendor_groups(answers), *groups)
    if not groups:
        return None
    from mxenv.probes import _linking  # noqa: PLC0415 - imported late: most nodes have none

    return _linking.world(answers, places, groups)


def read(answers: Answers) -> Iterator[Fact]:
    """Read every group; where all is well that is a summary, and what is not well by its path."""
    found = _world(answers)
    places, groups = (found.places, found.groups) if found else ((), ())
    facts = [*_system(answers, places), *(_found(found) if found else ())]
    told = {fact.key for fact in facts if not fact.volatile}
    yield from facts
    nothing = _nothing(answers, groups)
    for key in KEYS:
        if key.name not in told:
            yield Fact(key=key.name, reading=nothing, source=WHERE)


def _found(found: World) -> Iterator[Fact]:
    met = _met(found)
    for group in found.groups:
        for fact in _group(found.answers, group, found.objects[group.owner]):
            yield replace(fact, volatile=True) if group.site in met else fact
    yield from _resolved(found, met)


def _met(found: World) -> frozenset[str]:
    """Return the directories of distributions that were met only through what passes."""
    passing = {asked.prefix for asked in _places.passing(found.answers)}
    return frozenset(at.site for at in found.places if at.env in passing)


def _nothing(answers: Answers, groups: tuple[Group, ...]) -> Reading:
    """Return why there is no fact: there is nothing to say, or it cannot be told."""
    asked = [*FOLDERS, *_objects.metadata(answers)]
    closed = [answer for q in asked if isinstance(answer := answers[q], Unreadable)]
    hidden = [reason for group in groups for _, reason in _objects.unread(answers, group)]
    return best(*closed, *hidden, Absent())


def _system(answers: Answers, places: tuple[Place, ...]) -> Iterator[Fact]:
    """Yield what the libraries define that decide how new a system is."""
    read: dict[str, Object | tuple[str, Unreadable] | None]
    read = {name: _first(answers, name) for name in _objects.BASIC}
    for at in places:
        path = f"{at.env}/lib/libstdc++.so.6"
        read[path] = _objects.read_object(answers, path)
    met = {asked.prefix for asked in _places.passing(answers)} if places else set()
    for library, each in read.items():
        match each:
            case Object(path=path):
                readings = _told(library, each)
            case (path, unknown):
                readings = dict.fromkeys(OF_LIBRARIES[library], unknown)
            case None:
                continue
        for key, reading in readings.items():
            fact = Fact(key=key, instance=library, reading=reading, source=path)
            passing = library.removesuffix("/lib/libstdc++.so.6") in met
            yield replace(fact, volatile=True) if passing else fact


def _told(library: str, each: Object) -> dict[str, Reading]:
    """Return what a library that was read says of the system."""
    provided = numbers(each.elf.provides, GLIBC if library == LIBC else GLIBCXX)
    newest = Observed(provided[-1]) if provided else Unreadable("it defines no version")
    readings: dict[str, Reading] = {"elf.provides": newest}
    if library == LIBC:
        readings["elf.machine"] = Observed(each.elf.machine)
    return readings


def _first(answers: Answers, name: str) -> Object | tuple[str, Unreadable] | None:
    """Return the system's library, not that of the 32-bit programs on it.

    Where one could not be read, nobody knows which of them it is.
    """
    globs = tuple(glob for glob in _objects.SYSTEM_GLOBS if glob.pattern.endswith(f"/{name}"))
    group = _objects.Group(owner=name, globs=globs)
    for path, unknown in _objects.unread(answers, group):
        return path, unknown
    read = _objects.objects(answers, group)
    return max(read, key=lambda each: each.elf.bits, default=None)


def _group(answers: Answers, group: Group, objects: tuple[Object, ...]) -> Iterator[Fact]:
    hidden = _objects.unread(answers, group)
    if hidden:
        path, reason = hidden[0]
        others = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
        told = Unreadable(f"{path}{others}: {reason.reason}", reason.passing)
        yield Fact(key="elf.objects", instance=group.owner, reading=told, source=path)
    if not objects:
        return
    machines = sorted({each.elf.machine for each in objects})
    abis = sorted({each.elf.cxx11 for each in objects if each.elf.cxx11})
    readings: dict[str, Reading] = {
        "elf.objects": Observed(len(objects)),
        "elf.machine": Observed(", ".join(machines)),
        "elf.cxx11_abi": Observed(", ".join(abis)) if abis else Absent(),
    }
    for key, reading in readings.items():
        yield Fact(key=key, instance=group.owner, reading=reading, source=objects[0].folder)
    yield _newest("elf.glibc", GLIBC, group.owner, objects)
    yield _newest("elf.glibcxx", GLIBCXX, group.owner, objects)


def _newest(key: str, prefix: str, owner: str, objects: tuple[Object, ...]) -> Fact:
    """Return the newest version that is needed; the source is an object that needs it."""
    needs = {each.path: numbers(each.elf.needed_versions, prefix) for each in objects}
    newest = max(((order(n[-1]), path) for path, n in needs.items() if n), default=None)
    reading = Observed(needs[newest[1]][-1]) if newest else Absent()
    return Fact(key=key, instance=owner, reading=reading, source=newest[1] if newest else owner)


def _resolved(found: World, met: Collection[str]) -> Iterator[Fact]:
    """Yield what is nowhere: libraries, then symbols; and once what is not known of either."""
    from mxenv.probes import _linking, _undefined  # noqa: PLC0415 - imported late: most need none

    wrong: list[Fact] = []
    unknown: dict[tuple[str, bool], list[tuple[str, Unreadable]]] = {}
    alternatives: dict[str, set[str]] = {}
    for site, each in _linking.everything(found):
        alternatives.setdefault(_form(site, each.path), set()).add(each.path)
        names, hidden = _linking.missing(found, site, each)
        unknown.setdefault(("elf.missing", site in met), []).extend(hidden)
        if names:
            fact = _wrong("elf.missing", each.path, Observed(names), "DT_NEEDED")
            wrong.append(replace(fact, volatile=site in met))
    for check in _undefined.checks(found):
        reading = _undefined.undefined(found.answers, check)
        if isinstance(reading, Observed):
            fact = _wrong("elf.undefined", check.path, reading, "symbols")
            wrong.append(replace(fact, volatile=check.site in met))
        elif isinstance(reading, Unreadable):
            place = ("elf.undefined", check.site in met)
            unknown.setdefault(place, []).append((check.path, reading))
    troubled = {fact.instance for fact in wrong}
    hopeless = {at for paths in alternatives.values() if paths <= troubled for at in paths}
    yield from (fact for fact in wrong if fact.instance in hopeless)
    for (key, passing), of in sorted(unknown.items()):
        if of:
            yield replace(_unknown(key, of), volatile=passing)


def _wrong(key: str, path: str, reading: Reading, source: str) -> Fact:
    return Fact(key=key, instance=path, reading=reading, source=source)


def _form(site: str, path: str) -> str:
    """Return the same for libraries of a distribution of which one is loaded, not all.

    Those for a version of a card, or of another library, differ in its number.
    """
    return re.sub(r"[0-9]+[a-z]?", "#", path) if site else path


def _unknown(key: str, of: list[tuple[str, Unreadable]]) -> Fact:
    about = dict(of)
    name, reason = of[0]
    others = f" and {len(about) - 1} more" if len(about) > 1 else ""
    reading = Unreadable(f"of {name}{others} it is not known: {reason.reason}", reason.passing)
    return Fact(key=key, reading=reading, source=name)


PROBE = Probe(keys=KEYS, questions=(_objects.PATHS, *FOLDERS), read=read, more=more)
