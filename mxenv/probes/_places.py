"""Where Python environments are looked for, and what is asked about each place."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from mxenv.facts import Unreadable
from mxenv.frozen import frozen
from mxenv.probes import _distributions
from mxenv.probes._distributions import SITE64, matches
from mxenv.probes._environment import INTERPRETER
from mxenv.question import Env, Found, Glob, Option, Part
from mxenv.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.probes._distributions import Site
    from mxenv.question import Answers, Question

USER = "/root/.local"
"""Where distributions lie that belong to a user who is not known; never an interpreter."""
PREFIXES = (
    "/usr",
    "/usr/local",
    "/opt/conda",
    "/opt/conda/envs/*",
    "/opt/miniconda3",
    "/opt/miniconda3/envs/*",
    "/opt/venv",
    "/opt/mxenv",
    "/venv",
    USER,
    "/root/.pyenv/versions/*",
    "/root/miniconda3",
    "/root/miniconda3/envs/*",
)
"""Where images and nodes keep environments; all is asked at once."""
FURTHER = (
    "/opt/*",
    "/opt/*/*",
    "/opt/*/envs/*",
    "/opt/*/versions/*",
    "/srv/*",
    "/srv/*/*",
    "/srv/*/.venv",
    "/srv/*/*/.venv",
    *(
        f"{home}/{place}"
        for home in ("/root", "/home/*")
        for place in (
            "*",
            "*/venv",
            "*/.venv",
            "*/envs/*",
            ".venv",
            ".conda/envs/*",
            ".virtualenvs/*",
            ".pyenv/versions/*",
            ".local/share/uv/python/*",
        )
    ),
)
"""Where people keep them; only those that have a Python are asked about."""
PYTHONS = tuple(Glob(f"{place}/bin/python3") for place in FURTHER)
ACTIVE = (Env("VIRTUAL_ENV"), Env("CONDA_PREFIX"))
RUNNING = Glob("/proc/[0-9]*/exe", Part.LINK)
PROGRAMS = Glob("/proc/[0-9]*/cmdline", Part.PROGRAM, 4096)
"""What a virtual environment is run by is a link, and ``exe`` shows where that leads."""
HOME = Env("HOME")
BASE = Env("PYTHONUSERBASE")
NAMED = Option("python")
QUESTIONS: tuple[Question, ...] = (*ACTIVE, HOME, BASE, NAMED, RUNNING, PROGRAMS, *PYTHONS)

PREFIX = re.compile(r"(?:/[^/\s*?\[\]]+){1,20}")
PROGRAM = re.compile(r"(?P<prefix>/.+?)/bin/python3?(?:\.\d+)?")


@frozen(kw_only=False)
class Asked:
    """The questions about the environments below one prefix, which may be a pattern."""

    prefix: str

    def meant(self, prefix: str) -> bool:
        """Return whether an environment at ``prefix`` would be found by these questions."""
        return bool(re.fullmatch(re.escape(self.prefix).replace(r"\*", "[^/]+"), prefix))

    @property
    def binaries(self) -> Glob:
        """The interpreters."""
        return Glob(f"{self.prefix}/bin/python3*", Part.LINK)

    @property
    def headers(self) -> Glob:
        """A header that is installed with every Python that was not packaged by Debian."""
        return Glob(f"{self.prefix}/include/python3*/patchlevel.h", Part.WHOLE, 1 << 16)

    @property
    def pyvenv(self) -> Glob:
        """What makes a folder a virtual environment (PEP 405)."""
        return Glob(f"{self.prefix}/pyvenv.cfg", Part.WHOLE, 1 << 16)

    @property
    def conda(self) -> Glob:
        """Conda's record of its Python."""
        return Glob(f"{self.prefix}/conda-meta/python-3*.json")

    @property
    def lib64(self) -> Glob:
        """Where ``lib64`` leads: nearly always to ``lib``, and all is there once."""
        return Glob(f"{self.prefix}/lib64", Part.LINK)

    @property
    def sites(self) -> tuple[Site, ...]:
        """Where distributions lie below it."""
        return _distributions.sites(self.prefix)

    def sites64(self, answers: Answers) -> tuple[Site, ...]:
        """Return where they lie besides, now that it is known where ``lib64`` leads."""
        if isinstance(answers[self.lib64], Unreadable):
            return (_distributions.site(f"{self.prefix}/{SITE64}"),)
        return tuple(
            _distributions.site(f"{path.removesuffix('/lib64')}/{SITE64}")
            for path, leads in matches(answers, self.lib64)
            if path.endswith("/lib64")
            and not (isinstance(leads, Found) and leads.value == f"{path.removesuffix('64')}")
        )

    @property
    def all(self) -> tuple[Glob, ...]:
        """Every question of the first round."""
        own = (self.binaries, self.headers, self.pyvenv, self.conda, self.lib64)
        return (*own, *(glob for site in self.sites for glob in site.all))


KNOWN = tuple(map(Asked, PREFIXES))


def lasting(answers: Answers) -> tuple[Asked, ...]:
    """Return the questions about all that lies on the disk, or was named."""
    found = set(pythons(answers))
    found.update(prefix for _, prefix in named(answers) if prefix)
    return (*KNOWN, *_asked(found))


def passing(answers: Answers) -> tuple[Asked, ...]:
    """Return the questions about what a variable or a running process led to."""
    prefixes = {user_base(answers)}
    for variable in ACTIVE:
        value = answers[variable]
        if isinstance(value, Found):
            prefixes.add(value.value.rstrip("/"))
    for _, leads in answers.each(matches(answers, RUNNING)):
        match = INTERPRETER.fullmatch(leads.value) if isinstance(leads, Found) else None
        if match:
            prefixes.add(match["prefix"])
    for _, program in answers.each(matches(answers, PROGRAMS)):
        match = PROGRAM.fullmatch(program.value) if isinstance(program, Found) else None
        if match:
            prefixes.add(match["prefix"])
    known = {_masked(asked.prefix) for asked in lasting(answers)}
    return tuple(asked for asked in _asked(prefixes) if _masked(asked.prefix) not in known)


def user_base(answers: Answers) -> str:
    """Return where the user who asks keeps distributions of their own (PEP 370)."""
    base, home = answers[BASE], answers[HOME]
    if isinstance(base, Found) and base.value:
        return base.value.rstrip("/")
    return f"{home.value.rstrip('/') if isinstance(home, Found) else '/root'}/.local"


def named(answers: Answers) -> Iterator[tuple[str, str]]:
    """Yield each path that whoever asks has named, and its prefix: empty if it can be none."""
    option = answers[NAMED]
    for line in option.value.splitlines() if isinstance(option, Found) else ():
        path = line.strip()
        if path:
            match = PROGRAM.fullmatch(path)
            prefix = match["prefix"] if match else path.rstrip("/")
            yield path, prefix if sound(prefix) else ""


def sound(path: str) -> bool:
    """Return whether ``path`` can be asked for as it stands."""
    return bool(PREFIX.fullmatch(path)) and not re.search(r"/\.\.?(?:/|$)", path)


def pythons(answers: Answers) -> Iterator[str]:
    """Yield each prefix, of those where people keep environments, that has a Python."""
    for glob in PYTHONS:
        for path, part in answers.each(matches(answers, glob)):
            if isinstance(part, Found) and path.endswith("/bin/python3"):
                yield path.removesuffix("/bin/python3")


def _asked(prefixes: set[str]) -> Iterator[Asked]:
    """Return the questions about prefixes, but about none that another one's mask looks like.

    What two people have in their homes would be taken for one thing once their names are gone.
    """
    alike = Counter(map(_masked, prefixes))
    for prefix in sorted(prefixes):
        if sound(prefix) and alike[_masked(prefix)] == 1 and not _known().fullmatch(prefix):
            yield Asked(prefix)


@lru_cache(maxsize=4096)
def _masked(prefix: str) -> str:
    """Return how a prefix looks once it is masked, which is asked again in every round."""
    return clean(prefix)


@cache
def _known() -> re.Pattern[str]:
    return re.compile("|".join(re.escape(p).replace(r"\*", "[^/]+") for p in PREFIXES))
