"""Which operators an installed torch can run, as it says of itself; only if that is asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Fact, FactKey, Unreadable
from mxenv.probe import Probe
from mxenv.probes import _places
from mxenv.probes._distributions import matches, place
from mxenv.probes._places import ACTIVE, KNOWN, NAMED, PROGRAM, USER, Asked
from mxenv.question import Answers, Command, Found, Option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.facts import Reading
    from mxenv.question import Question

WANTED = Option("operators")
LOAD = Option("load")
SECONDS = 80.0
"""A torch on a cold network disk takes most of it to be imported."""
START = ("-I", "-B", "-c", "@operators")
"""Nothing of the caller's is imported, nothing is written; the script is mxenv's own."""
ANY = "{python}"
TORCH = re.compile(r"/torch-[^/]*\.(?:dist|egg)-info(?:/|$)")
MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_]\w*)?", re.ASCII)
UNASKED = Unreadable("looked at only if it is asked for (--operators)")
NAME_ONE = "name its interpreter with --python"
KEY = FactKey(
    name="torch.operators",
    meaning="which operators a build of torch can run, and how; asked for by --operators only",
    instance="env",
    sources="the dispatcher of torch, imported by the interpreter of --python",
    # A build is told by its version and its record; and it is not asked every time.
    volatile=True,
)


def on_demand(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield what may be run for whoever asks for operators: the interpreters that were named.

    Where none is, it may be any that `programs` chooses.
    """
    if WANTED.name in options:
        rest = (*START, *_modules(options.get(LOAD.name, "")))
        named = options.get(NAMED.name)
        given = Answers({} if named is None else {NAMED: Found(named)})
        interpreters = [ANY] if named is None else dict(_named(given)).values()
        yield from ((program, *rest) for program in interpreters)


def _modules(text: str) -> list[str]:
    return [line for line in text.splitlines() if MODULE.fullmatch(line)]


def _named(answers: Answers) -> Iterator[tuple[str, str]]:
    """Yield the environments that were named, and their interpreters."""
    for path, prefix in _places.named(answers):
        if prefix:
            yield prefix, path if PROGRAM.fullmatch(path) else f"{prefix}/bin/python3"


def programs(answers: Answers) -> dict[str, str] | Unreadable:
    """Return the interpreter to run of each environment, or why none is.

    One that was merely found is never run: a home or a process may be anybody's. Without a name
    it is the one that is active, or else the only one with torch where a system keeps them.
    """
    if isinstance(answers[NAMED], Found):
        return dict(_named(answers)) or Unreadable("what --python names is no environment")
    active = {_active(answers, variable.name) for variable in ACTIVE} - {""}
    usual = {asked.prefix for asked in KNOWN if asked.prefix != USER}
    for prefixes in (active, usual):
        found = sorted({p for prefix in prefixes for p in _with_torch(answers, Asked(prefix))})
        if len(found) == 1:
            return {found[0]: f"{found[0]}/bin/python3"}
        if found:
            return Unreadable(f"several environments have a torch ({', '.join(found)}): {NAME_ONE}")
    return Unreadable(f"no torch was found where a system keeps it: {NAME_ONE}")


def _active(answers: Answers, variable: str) -> str:
    value = next(answers[one] for one in ACTIVE if one.name == variable)
    prefix = value.value.rstrip("/") if isinstance(value, Found) else ""
    return prefix if _places.sound(prefix) else ""


def _with_torch(answers: Answers, asked: Asked) -> Iterator[str]:
    """Yield the prefix of each environment of these questions that has a torch."""
    for site in asked.sites:
        for glob in site.metadata:
            for path, _ in matches(answers, glob):
                if found := TORCH.search(path):
                    where = place(path[: found.start()])
                    if where is not None:
                        yield where.prefix


def _asked(answers: Answers) -> dict[str, Command]:
    """Return what is to be run in each environment."""
    load = answers[LOAD]
    rest = (*START, *_modules(load.value if isinstance(load, Found) else ""))
    which = programs(answers)
    if isinstance(which, Unreadable):
        return {}
    return {env: Command((program, *rest), SECONDS) for env, program in which.items()}


def more(answers: Answers) -> Iterable[Question]:
    """Ask torch, if that is wanted, once it is known where one is."""
    if not isinstance(answers[WANTED], Found):
        return ()
    late = [
        glob
        for variable in ACTIVE
        if (prefix := _active(answers, variable.name))
        for site in Asked(prefix).sites
        for glob in site.metadata
        if glob not in answers.given
    ]
    # What is active is looked at in this round, and first in the next.
    return late or _asked(answers).values()


def read(answers: Answers) -> Iterator[Fact]:
    """Yield the table of each torch that was asked, or why there is none."""
    wanted = answers[WANTED]
    if not isinstance(wanted, Found):
        reading = wanted if isinstance(wanted, Unreadable) else UNASKED
        yield Fact(key=KEY.name, reading=reading, source="torch")
        return
    asked = _asked(answers)
    which = programs(answers)
    if isinstance(which, Unreadable):
        yield Fact(key=KEY.name, reading=which, source="torch")
    for env, command in asked.items():
        source = f"{command.argv[0]} {' '.join(command.argv[len(START) :])}"
        yield Fact(key=KEY.name, instance=env, reading=_reading(answers, command), source=source)


def _reading(answers: Answers, command: Command) -> Reading:
    from mxenv.probes import _torch_said  # noqa: PLC0415 - imported late: it is seldom asked

    return _torch_said.reading(answers[command], command.seconds)


PROBE = Probe(
    keys=(KEY,),
    questions=(WANTED, LOAD, NAMED),
    read=read,
    more=more,
    on_demand=on_demand,
)
