"""How image descriptions are read, and what they have in common with locks."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from mxenv import archive, table
from mxenv.codes import CODES
from mxenv.credential import without_login
from mxenv.errors import ImageError
from mxenv.image import IN_FILES, SCHEMA, SCRATCH, AddedFile, Image
from mxenv.layers import SHARE
from mxenv.verdict import Waiver

if TYPE_CHECKING:
    from mxenv.table import Table

PLATFORMS = ("linux/amd64", "linux/arm64")
KERNELS = ("/proc", "/sys", "/dev")
"""What a container sees of its kernel there covers whatever an image has."""

_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_HOST = r"(?:localhost|\[[0-9a-fA-F:]+\]|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:))"
_REFERENCE = re.compile(
    rf"{_HOST}(?::[0-9]+)?"
    r"(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)+"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@sha256:[0-9a-f]{64})?"
)
"""The grammar of the OCI distribution specification, with the registry's host always named."""
_SYSTEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]*[A-Za-z0-9+](?:=[A-Za-z0-9][A-Za-z0-9.+:~^_-]*)?")
"""What Debian, RPM and Alpine allow in names and versions; apt would remove ``name-``."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|PASSWORD|PASSWD|SECRET|CREDENTIALS?|APIKEY|(?:API|ACCESS|PRIVATE)_KEY)(?:_|$)",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"://[^/\s@]+@")


def parse(text: str, *, context: str) -> Image:
    """Return the image that ``text`` describes; `ImageError` names ``context`` and the place."""
    root = table.document(text, context=context, error=ImageError)
    if (schema := root.text("schema")) != SCHEMA:
        root.fail("schema", f"{schema!r} is not a schema of this mxenv", hint=f"write {SCHEMA!r}")
    root.only(
        *("schema", "name", "base", "accelerator", "platform", "python", "system", "variables"),
        *("files", "models", "operators", "host", "waivers", "run"),
    )
    python, system, host = root.table("python"), root.table("system"), root.table("host")
    python.only("version", "environment", "requires", "bytecode")
    system.only("packages")
    host.only("requires")
    image = Image(
        name=named(root),
        base=base(root, "base"),
        accelerator=root.text("accelerator", "metax"),
        platform=_platform(root),
        python=python.text("version", ""),
        environment=_environment(python),
        requires=requirements(python),
        bytecode=python.flag("bytecode"),
        system=system_packages(system, "packages"),
        run=tuple(_script(entry) for entry in root.tables("run")),
        variables=variables(root),
        files=tuple(map(added_file, distinct(root.tables("files")))),
        models=root.texts("models"),
        operators=root.text("operators", ""),
        host=host.texts("requires"),
        waivers=tuple(waiver(entry) for entry in root.tables("waivers")),
    )
    _check_python(image, python)
    if image.base == SCRATCH and image.system:
        system.fail("packages", "nothing can be installed on 'scratch'", hint="name another base")
    if image.base == SCRATCH and image.run:
        root.fail("run", "nothing can be run on 'scratch'", hint="name another base")
    return image


def waiver(entry: Table) -> Waiver:
    """Return the waiver of one ``[[waivers]]`` entry: a reason, an owner and an end, always."""
    entry.only("code", "subject", "reason", "owner", "expires")
    if (code := entry.text("code")) not in CODES:
        near = difflib.get_close_matches(code, CODES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`mxenv explain` lists them"
        entry.fail("code", f"{code!r} is the code of no finding", hint=hint)
    return Waiver(
        code=code,
        subject=entry.text("subject", ""),
        reason=entry.text("reason"),
        owner=entry.text("owner"),
        expires=entry.day("expires"),
    )


def named(root: Table) -> str:
    """Return the field ``name``, which becomes part of a file's name."""
    name = root.text("name")
    if not _NAME.fullmatch(name):
        root.fail(
            "name",
            f"{name!r} cannot be part of a lockfile's name",
            hint="lower-case letters and digits, with - or _ between them; PEP 751 allows no dot",
        )
    return name


def base(entry: Table, field: str) -> str:
    """Return the base that ``field`` names."""
    text = entry.text(field)
    if text == SCRATCH or (text.startswith(IN_FILES) and text not in IN_FILES):
        return text
    if not _REFERENCE.fullmatch(text):
        entry.fail(
            field,
            f"{without_login(text)!r} is no image reference",
            hint="'scratch', oci:DIR, docker-archive:FILE, or host/repository:tag, its host named",
        )
    return text


def _platform(root: Table) -> str:
    platform = root.text("platform", PLATFORMS[0])
    if platform not in PLATFORMS:
        root.fail("platform", f"{platform!r} is not known", hint=f"known: {', '.join(PLATFORMS)}")
    return platform


def _environment(python: Table) -> str:
    return place(python, "environment") if python.text("environment", "") else ""


def _check_python(image: Image, python: Table) -> None:
    if image.python and not re.fullmatch(r"3\.[0-9]{1,2}", image.python):
        python.fail("version", f"{image.python!r} is no Python version", hint="as '3.11'")
    if image.base != SCRATCH:
        return
    if not image.python:
        python.fail("version", "missing", hint="'scratch' has no Python to take it from")
    if image.environment:
        python.fail("environment", "'scratch' has no environment", hint="remove this line")


def requirements(python: Table) -> tuple[str, ...]:
    """Return the field ``requires``: what PEP 508 allows, but no URLs."""
    from packaging.requirements import (  # noqa: PLC0415 - imported late: only a file needs it
        InvalidRequirement,
        Requirement,
    )

    texts = python.texts("requires")
    for index, text in enumerate(texts):
        place = f"requires[{index}]"
        try:
            requirement = Requirement(text)
        except InvalidRequirement as fault:
            python.fail(place, f"{text!r}: {str(fault).splitlines()[0]}")
        if requirement.url:
            python.fail(
                place,
                f"{requirement.name!r} is asked for by URL",
                hint="name a version; where it comes from is configuration (--find-links, --index)",
            )
    return tuple(text.strip() for text in texts)


def system_packages(entry: Table, field: str) -> tuple[str, ...]:
    """Return the system packages in ``field``, each ``name`` or ``name=version``."""
    names = entry.texts(field)
    for index, name in enumerate(names):
        if not _SYSTEM.fullmatch(name):
            entry.fail(f"{field}[{index}]", f"{name!r} is no package's name")
    return names


def _script(entry: Table) -> str:
    entry.only("command")
    return script(entry, "command", entry.text("command"))


def script(entry: Table, place: str, text: str) -> str:
    """Return a script of ``/bin/sh`` that stands at ``place``."""
    if not text.strip() or "\0" in text:
        entry.fail(place, "is no script: empty, or with a NUL in it")
    return text


def variables(root: Table) -> tuple[tuple[str, str], ...]:
    """Return the table ``variables``, sorted by name."""
    found = root.pairs("variables")
    inner = root.table("variables")
    for name, value in found:
        if not _VARIABLE.fullmatch(name):
            inner.fail(name, "not the name of an environment variable")
        if "\0" in value or "\n" in value:
            inner.fail(name, "holds a line break or a NUL")
        if _SECRET_NAME.search(name) or _SECRET_VALUE.search(value):
            inner.fail(
                name,
                "looks like a credential, which everybody who has the image could read",
                hint="give it to the container when it starts",
            )
    return found


def distinct(entries: tuple[Table, ...], *more: str) -> tuple[Table, ...]:
    """Return ``[[files]]`` entries, with the fields ``more`` as well; no two have one target."""
    targets: set[str] = set()
    for entry in entries:
        entry.only("source", "target", "mode", *more)
        if (target := entry.text("target")) in targets:
            entry.fail("target", f"{target!r} is the target of two files")
        targets.add(target)
    return entries


def added_file(entry: Table) -> AddedFile:
    """Return the file of one ``[[files]]`` entry; it cannot leave its folder."""
    source = entry.text("source")
    if not _inside(source):
        entry.fail("source", f"{source!r} leaves the folder of the image description")
    target = place(entry, "target")
    for folder in (*KERNELS, SHARE):
        if f"{target}/".startswith(f"{folder}/"):
            whose = "mxenv" if folder == SHARE else "a container's kernel"
            entry.fail("target", f"{target!r}: what lies in {folder} is for {whose} to say")
    mode = entry.integer("mode", 0o644)
    if mode > 0o777:  # noqa: PLR2004 - the permission bits
        entry.fail("mode", "more than permission bits", hint="as 0o644 or 0o755")
    return AddedFile(source=source, target=target, mode=mode)


def place(entry: Table, field: str) -> str:
    """Return the path in an image that ``field`` names."""
    path = entry.text(field)
    if not is_absolute(path):
        entry.fail(field, f"{path!r} is not an absolute, normalised path")
    if not archive.can_hold(path):
        hint = f"no name begins with {archive.WHITEOUT!r}, which deletes files, or is too long"
        entry.fail(field, f"no layer can hold {path[:80]!r}", hint=hint)
    return path


def is_absolute(path: str) -> bool:
    """Return whether ``path`` is absolute and normalised, so that it can be compared as text."""
    return path.startswith("/") and _inside(path[1:])


def _inside(path: str) -> bool:
    plain = not any(ord(character) < ord(" ") for character in path)
    return plain and not any(part in {"", ".", ".."} for part in path.split("/"))
