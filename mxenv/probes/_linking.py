"""Where a dynamic linker would find what shared objects need, and what it would not find.

What a framework has loaded counts as found, and so does what lies in a vendor's folder: programs
that use those have them on their search path. Of libraries elsewhere only their being there, and
what they need themselves, is looked at.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.elf import search_path
from mxenv.facts import Absent, Unreadable
from mxenv.frozen import frozen
from mxenv.probes import _objects
from mxenv.probes._distributions import matches
from mxenv.probes._objects import Object, read_object
from mxenv.question import File, Found, Glob, Link, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.probes._objects import Group, Place
    from mxenv.question import Answers, Question

MAIN = File("/etc/ld.so.conf", limit=1 << 16)
PARTS = Glob("/etc/ld.so.conf.d/*.conf", Part.WHOLE, 1 << 16)
TRIPLES = {
    "x86_64": "x86_64-linux-gnu",
    "aarch64": "aarch64-linux-gnu",
    "loongarch64": "loongarch64-linux-gnu",
    "ppc64le": "powerpc64le-linux-gnu",
    "riscv64": "riscv64-linux-gnu",
    "s390x": "s390x-linux-gnu",
}
"""How Debian names the directory of a machine's libraries."""
SDK = ("/opt/maca/lib", "/opt/maca/tools/cu-bridge/lib", "/opt/maca/ompi/lib", "/opt/maca/ucx/lib")
"""What MetaX's guide to its installation puts on the search path; the first one is the SDK."""
USUAL = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
PROCESS = (
    "libc.so.6",
    "libm.so.6",
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "libdl.so.2",
    "libpthread.so.0",
)
"""What every process has loaded that has a framework in it."""
LINKERS = {
    "x86_64": "ld-linux-x86-64.so.2",
    "aarch64": "ld-linux-aarch64.so.1",
    "loongarch64": "ld-linux-loongarch-lp64d.so.1",
    "ppc64le": "ld64.so.2",
    "riscv64": "ld-linux-riscv64-lp64d.so.1",
    "s390x": "ld64.so.1",
}
"""The dynamic linker of each machine; it defines symbols as well, and is there in any case."""
LOOKS = 1_000_000
"""Places to look in for all that is needed; a node with two vendors has a tenth of it."""
MOST = 3000
"""Questions about libraries elsewhere; two vendors and ten environments make a third of it."""

Resolved = Object | Found[str] | Absent | Unreadable
"""A library that was read; one that is known to be there; none; or nobody knows."""


@frozen
class World:
    """All objects that were read, and the libraries around them."""

    answers: Answers
    places: tuple[Place, ...]
    groups: tuple[Group, ...]
    objects: Mapping[str, tuple[Object, ...]]
    """By owner."""
    house: Mapping[str, Mapping[str, Object]]
    """By directory of distributions (empty: vendors only), then by the names that others use."""
    beside: Mapping[str, Mapping[str, str]]
    """By directory of distributions, the paths of what lies beside by their names."""
    folders: tuple[str, ...]
    """Where the system's configuration, and the caller's variable, say that libraries are."""
    resolved: dict[tuple[str, ...], Resolved] = field(default_factory=dict)
    """What was looked for already; nearly all objects look for the same in the same places."""


def world(answers: Answers, places: tuple[Place, ...], groups: tuple[Group, ...]) -> World:
    """Return what is known so far of the objects of all groups."""
    objects = {group.owner: _objects.objects(answers, group) for group in groups}
    looks = (
        len(each.elf.needed) * (8 + len(each.elf.runpath or each.elf.rpath))
        for all_of_it in objects.values()
        for each in all_of_it
    )
    if sum(looks) > LOOKS:
        raise ValueError("its shared objects need more than can be looked for")
    vendors = {
        name: each for g in groups if not g.site for each in objects[g.owner] for name in each.names
    }
    house = {"": vendors}
    for at in places:
        mine = [each for g in groups if g.site == at.site for each in objects[g.owner]]
        house[at.site] = vendors | {name: each for each in mine for name in each.names}
    return World(
        answers=answers,
        places=places,
        groups=groups,
        objects=objects,
        house=house,
        beside={
            at.site: {path.rpartition("/")[2]: path for path, _ in matches(answers, at.beside)}
            for at in places
        },
        folders=tuple(dict.fromkeys((*_folders(answers), *(SDK[1:] if SDK[0] in objects else ())))),
    )


def _folders(answers: Answers) -> Iterator[str]:
    variable, main = answers[_objects.PATHS], answers[MAIN]
    told = variable.value.split(":") if isinstance(variable, Found) else []
    texts = [main.value] if isinstance(main, Found) else []
    texts += [part.value for _, part in matches(answers, PARTS) if isinstance(part, Found)]
    told += [line.strip() for text in texts for line in text.splitlines()]
    for folder in told:
        if re.fullmatch(r"(?:/[^/\s*?\[\]]+)+/?", folder) and "/.." not in folder:
            yield folder.rstrip("/")


def first(found: World) -> Iterator[Question]:
    """Yield what is asked once it is known that there is something to look at."""
    if not found.groups:
        return
    yield from (MAIN, PARTS)
    for group in found.groups:
        yield from group.globs
    for at in found.places:
        yield from at.questions


def further(found: World) -> Iterator[Question]:
    """Yield where else to look for what is needed and lies in no folder that was looked into."""
    wanted: dict[Question, None] = {}
    for site, each in everything(found):
        for name in each.elf.needed:
            if _sound(name) and not _in_house(found, site, name):
                wanted.update(
                    (File(path, Part.ELF), None) for path in _paths(found, site, each, name)
                )
    for at in found.places:
        python = program(found, at)
        if python is not None:
            for name in (*process(python), *filter(_sound, python.elf.needed)):
                paths = _paths(found, at.site, python, name)
                wanted.update((File(path, Part.ELF), None) for path in paths)
    yield from list(wanted)[:MOST]


def everything(found: World) -> Iterator[tuple[str, Object]]:
    """Yield every object, after the directory of distributions that it belongs to."""
    for group in found.groups:
        for each in found.answers.each(found.objects[group.owner]):
            yield group.site, each


def _sound(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9_+][A-Za-z0-9_+.-]*", name))


def _in_house(found: World, site: str, name: str) -> Resolved | None:
    each = found.house[site].get(name)
    if each is None and name in found.beside.get(site, ()):
        return Found(found.beside[site][name])
    return each


def _paths(found: World, site: str, each: Object, name: str) -> Iterator[str]:
    """Yield where a library could be that ``each`` needs, in no particular order but once."""
    triple = TRIPLES.get(each.elf.machine, "")
    env = next((f"{at.env}/lib" for at in found.places if at.site == site), "")
    usual = [f"/lib/{triple}", f"/usr/lib/{triple}", *USUAL] if triple else USUAL
    folders = (*search_path(each.elf, each.folder), *((env,) if env else ()), *found.folders)
    for folder in dict.fromkeys((*folders, *usual)):
        yield f"{folder}/{name}"


def program(found: World, at: Place) -> Object | None:
    """Return the Python of an environment, where it really lies."""
    read, leads = read_object(found.answers, at.python), found.answers[Link(at.python)]
    if read is None or not isinstance(leads, Found):
        return read
    return Object(leads.value, read.elf)


def process(python: Object) -> tuple[str, ...]:
    """Return the names of what every process has loaded that has a framework in it."""
    linker = LINKERS.get(python.elf.machine)
    return (*PROCESS, linker) if linker else PROCESS


def resolve(found: World, site: str, each: Object, name: str) -> Resolved:
    """Return the library that ``each`` means by ``name``."""
    if (known := _in_house(found, site, name)) is not None:
        return known
    key = (site, name, each.elf.machine, each.folder, *each.elf.runpath, "", *each.elf.rpath)
    if key not in found.resolved:
        found.resolved[key] = _elsewhere(found, site, each, name)
    return found.resolved[key]


def _elsewhere(found: World, site: str, each: Object, name: str) -> Resolved:
    if not _sound(name):
        return Unreadable(f"{name!r} is no name of a library")
    hidden: Unreadable | None = None
    for path in _paths(found, site, each, name):
        read = read_object(found.answers, path)
        if read is not None and read.elf.machine == each.elf.machine:
            return read
        answer = found.answers[File(path, Part.ELF)]
        hidden = hidden or (answer if isinstance(answer, Unreadable) else None)
    if name == LINKERS.get(each.elf.machine):
        return Found("")
    return hidden or Absent()


def missing(
    found: World, site: str, each: Object
) -> tuple[tuple[str, ...], tuple[tuple[str, Unreadable], ...]]:
    """Return the libraries that ``each`` needs and that are nowhere, or that nobody knows of."""
    told = [(name, resolve(found, site, each, name)) for name in each.elf.needed]
    hidden = tuple((name, other) for name, other in told if isinstance(other, Unreadable))
    return tuple(name for name, other in told if isinstance(other, Absent)), hidden


@frozen
class Loaded:
    """What is in a process once some objects are loaded."""

    paths: tuple[str, ...]
    gaps: tuple[str, ...]
    """Libraries that are not known to be there: what they define is not known either."""


def loaded(found: World, site: str, roots: Iterable[Object]) -> Loaded:
    """Return all that is loaded with ``roots``."""
    todo = list(roots)
    paths: dict[str, None] = {each.path: None for each in todo}
    gaps: dict[str, None] = {}
    while todo:
        found.answers.patience.check()
        each = todo.pop()
        for name in each.elf.needed:
            other = resolve(found, site, each, name)
            match other:
                case Object(path):
                    # What the system's own libraries need is with them.
                    if path not in paths and name not in PROCESS:
                        todo.append(other)
                    paths[path] = None
                case Found(path):
                    paths.update({path: None} if path else {})
                case Absent() | Unreadable():
                    gaps[name] = None
    return Loaded(paths=tuple(paths), gaps=tuple(gaps))
