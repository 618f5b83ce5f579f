"""How the distributions that a report lists would lie on a disk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Unreadable
from mxenv.frozen import frozen
from mxenv.question import Found

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mxenv.question import Matches
    from mxenv.transports._report_packages import Lists
    from mxenv.transports._report_said import Said

REPORTED = "/reported"
"""Stands for the prefix of a Python environment that the report does not name."""
Files = dict[str, str | Unreadable]

_SITE = re.compile(
    r"(?P<prefix>/.+)/lib(?:64)?/python(?P<series>3\.\d+)/(?P<kind>site|dist)-packages"
)
_SERIES = re.compile(r"3\.\d+")


@frozen(kw_only=False)
class Laid:
    """Where the lists were laid."""

    running: Matches
    """Interpreters, which lead a probe to prefixes that it would not look below."""
    hidden: tuple[str, ...]
    """Directories of which nobody knows what else is in them."""


def lay(lists: Lists, said: Said, files: Files) -> Laid:
    """Lay every list into ``files`` as metadata."""
    for version in said.words.said.get("python", ()):
        lists.python("", version)
    _torch(lists, said)
    sites = [match for site in lists.sites if (match := _SITE.fullmatch(site))]
    named = lists.prefixes | {site["prefix"] for site in sites}
    if len(named) == 1:
        lists.unite("", next(iter(named)))
    laid = sorted({_lay(env, lists, sites, files) for env in lists.packages})
    return Laid(
        running=tuple(
            (f"/proc/{number}/exe", Found(f"{prefix}/bin/python3"))
            for number, prefix in enumerate(dict.fromkeys(prefix for prefix, _ in laid), start=1)
        ),
        # A list is of what its command shows, or was cut: a second directory stands for the rest.
        hidden=tuple(f"{prefix}/lib64/python{series}/site-packages" for prefix, series in laid),
    )


def _torch(lists: Lists, said: Said) -> None:
    """Take what torch says of itself for its version, where no list has it.

    Upstream's builds call themselves otherwise than their metadata does; the vendor's do not.
    """
    told = [values.said.get("torch", []) for values in lists.packages.values()]
    listed = {version for versions in told for version in versions}
    public = {version.partition("+")[0] for version in listed}
    for version in said.words.said.get("torch", ()):
        lists.add("", "torch", version)
    for version in said.words.said.get("torch-public", ()):
        if listed and version not in public:
            lists.add("", "torch", version)


def _lay(env: str, lists: Lists, sites: Iterable[re.Match[str]], files: Files) -> tuple[str, str]:
    """Lay one environment into ``files``; return its prefix, and the series of its Python."""
    own = [site for site in sites if site["prefix"] == env]
    told = lists.pythons.get(env)
    versions = told.said["python"] if told else []
    series = {match[0] for version in versions if (match := _SERIES.match(version))}
    series |= {site["series"] for site in own}
    only = next(iter(series)) if len(series) == 1 else ""
    prefix = env if env and only else REPORTED
    kind = "dist" if {site["kind"] for site in own} == {"dist"} else "site"
    folder = f"{prefix}/lib/python{only or '3'}/{kind}-packages"
    for name, version in lists.packages[env]:
        # Two versions of one name are one distribution of which the version is not clear.
        text = f"Name: {name}\nVersion: {version}\n"
        # A dash would end the name (PEP 427).
        info = f"{name.replace('-', '_')}.dist-info"
        put(files, f"{folder}/{info}/METADATA", text, version)
    if told and only:
        # Debian's own interpreter has its headers in /usr, and what pip adds in /usr/local.
        top = "/usr" if kind == "dist" and prefix == "/usr/local" else prefix
        for _, version in told:
            text = f'#define PY_VERSION "{version}"\n'
            put(files, f"{top}/include/python{only}/patchlevel.h", text, version)
    return prefix, only or "3"


def put(files: Files, path: str, text: str, value: str | Unreadable) -> None:
    """Lay a file with ``text``, which is made of ``value``, beside what may lie there already."""
    content = value if isinstance(value, Unreadable) else text
    known = files.get(path, content)
    if isinstance(known, str) and isinstance(content, str) and known != content:
        content = Unreadable("the report says different things of it")
    files[path] = known if isinstance(known, Unreadable) else content
