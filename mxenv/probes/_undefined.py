"""Which symbols of extensions nothing defines that is loaded with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Observed, Unreadable
from mxenv.frozen import frozen
from mxenv.probes._linking import Loaded, loaded, program, resolve
from mxenv.probes._linking import process as names_of
from mxenv.probes._objects import FRAMEWORK, Object
from mxenv.question import Found, Symbols

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.facts import Reading
    from mxenv.probes._linking import World
    from mxenv.probes._objects import Group, Place
    from mxenv.question import Answers

CORE = re.compile(r".*/torch/(?:_C\.[^/]*|lib/lib(?:c10|torch|shm)[a-z0-9_]*)\.so|.*/paddle/.*")
"""The libraries of a framework itself, without those that it brings along."""
OWN = re.compile(r"_ZNK?(?:2at|3c10|5torch)|aoti_torch_")
"""How the names of symbols begin that only torch defines."""
CHECKED = 200
"""Objects whose symbols are looked up."""
TOLD = 20
"""Symbols that are told of one object."""


@frozen
class Check:
    """An object, and what else is in a process that has loaded it."""

    path: str
    site: str
    """The directory of distributions that it is in."""
    question: Symbols | None
    """`None` if there are more objects than are looked at."""
    gaps: tuple[str, ...]
    torch: bool
    """True if torch's own libraries are there, so that what is not in them is nowhere."""


def questions(found: World) -> Iterator[Symbols]:
    """Yield what to ask about symbols."""
    yield from (check.question for check in checks(found) if check.question is not None)


def checks(found: World) -> Iterator[Check]:
    """Yield what to look up: objects that are built against a framework of another make."""
    left = CHECKED
    for at in found.places:
        framework = tuple(_framework(found, at))
        process = _process(found, at, framework)
        for group in found.groups:
            if group.site != at.site or not group.linked:
                continue
            for each in found.objects[group.owner]:
                if not _counts(found, at, group, each):
                    continue
                if left:
                    left -= 1
                    yield _check(found, at, each, process, torch=bool(framework))
                else:
                    yield Check(path=each.path, site=at.site, question=None, gaps=(), torch=False)


def _framework(found: World, at: Place) -> Iterator[Object]:
    for group in found.groups:
        if group.site == at.site and group.owner.rpartition("/")[2] in FRAMEWORK:
            yield from (each for each in found.objects[group.owner] if CORE.fullmatch(each.path))


def _process(found: World, at: Place, framework: tuple[Object, ...]) -> Loaded:
    """Return what every process of the environment has loaded that uses its framework."""
    python = program(found, at)
    roots = framework if python is None else (*framework, python)
    known = loaded(found, at.site, roots)
    paths, gaps = dict.fromkeys(known.paths), dict.fromkeys(known.gaps)
    if python is None:
        gaps["python3"] = None
        return Loaded(paths=tuple(paths), gaps=tuple(gaps))
    for name in names_of(python):
        other = resolve(found, at.site, python, name)
        if isinstance(other, Object):
            paths[other.path] = None
        elif not isinstance(other, Absent):
            gaps[name] = None
    return Loaded(paths=tuple(paths), gaps=tuple(gaps))


def _counts(found: World, at: Place, group: Group, each: Object) -> bool:
    """Return whether anything of another make is needed: the system's libraries are its own."""
    if group.owner.rpartition("/")[2] in FRAMEWORK and not CORE.fullmatch(each.path):
        return False
    return any(name in found.house[at.site] for name in each.elf.needed)


def _check(found: World, at: Place, each: Object, process: Loaded, *, torch: bool) -> Check:
    own = loaded(found, at.site, (each,))
    paths = dict.fromkeys((*own.paths, *process.paths))
    del paths[each.path]
    return Check(
        path=each.path,
        site=at.site,
        question=Symbols(each.path, tuple(paths)),
        gaps=tuple(dict.fromkeys((*own.gaps, *process.gaps))),
        torch=torch,
    )


def undefined(answers: Answers, check: Check) -> Reading | None:
    """Return the symbols that nothing defines, `None` if there is none.

    Where a library is not there, what it defines is not known; what only torch defines is, if
    torch's libraries are.
    """
    if check.question is None:
        return Unreadable(f"not looked at: there are more than {CHECKED} to look at")
    answer = answers[check.question]
    if not isinstance(answer, Found):
        return answer
    names = answer.value.split()
    known = [name for name in names if not check.gaps or (check.torch and OWN.match(name))]
    if known:
        more = [f"and {len(known) - TOLD} more"] if len(known) > TOLD else []
        return Observed((*known[:TOLD], *more))
    if names:
        return Unreadable(
            f"{len(names)} symbols may be in what is not there: {', '.join(check.gaps)}"
        )
    return None
