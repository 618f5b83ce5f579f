"""How a lock is read: PEP 751 with ``[tool.mxenv]``, and nothing that mxenv did not write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv import image, image_reader, table
from mxenv.errors import LockError
from mxenv.lock import (
    MACHINES,
    PEP751,
    SCHEMA,
    AskedTorch,
    Base,
    Built,
    Lock,
    Provided,
    Recipe,
    Relied,
    Target,
)
from mxenv.lock_packages import NORMALISED, packages, sha256
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mxenv.image import AddedFile
    from mxenv.inventoried import Inventoried
    from mxenv.table import Table

TARGET = ("platform", "python", "prefix", "interpreter", "purelib", "platlib", "scripts", "data")

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def parse(text: str, *, context: str) -> Lock:
    """Return the lock that ``text`` is; `LockError` names ``context`` and the place in it."""
    root = table.document(text, context=context, error=LockError)
    tool = _tool(root)
    target = _target(tool.table("target", required=True))
    _check_environment(root, target)
    added, provided = packages(root), _provided(tool)
    for index, package in enumerate(added):
        if package.name in dict(provided):
            message = f"{package.name!r} is provided by the base, which is never replaced"
            root.fail(f"packages[{index}]", message, hint="run `mxenv lock` again")
    return Lock(
        name=image_reader.named(tool),
        inputs=_digest(tool, "inputs"),
        accelerator=tool.text("accelerator"),
        base=_base(tool),
        target=target,
        packages=added,
        requires=image_reader.requirements(tool),
        bytecode=tool.flag("bytecode"),
        provided=tuple(Provided(name=n, version=v) for n, v in provided),
        facts=tool.pairs("facts"),
        variables=image_reader.variables(tool),
        files=tuple(map(_file, image_reader.distinct(tool.tables("files"), "sha256"))),
        models=tool.texts("models"),
        inventories=_inventories(tool.tables("inventories")),
        torch=_torch(tool),
        operators=_operators(tool),
        system=image_reader.system_packages(tool, "system"),
        run=_steps(tool),
        host=tool.texts("host"),
        relied=_relied(tool),
        waivers=tuple(image_reader.waiver(entry) for entry in tool.tables("waivers")),
        built=_built(tool),
        recipe=_recipe(tool),
    )


def _tool(root: Table) -> Table:
    """Return ``[tool.mxenv]`` of a lock whose formats are known, and which says nothing else."""
    if (version := root.text("lock-version")) != PEP751:
        root.fail("lock-version", f"{version!r} is not known", hint=f"this mxenv knows {PEP751}")
    root.only("lock-version", "environments", "requires-python", "created-by", "packages", "tool")
    root.text("created-by")
    tools = root.table("tool", required=True)
    tool = tools.table("mxenv", required=True)
    tools.only("mxenv")
    if (schema := tool.text("schema")) != SCHEMA:
        tool.fail("schema", f"{schema!r} is not a schema of this mxenv", hint=f"known: {SCHEMA}")
    tool.only(
        *("schema", "name", "inputs", "accelerator", "requires", "models", "system", "host"),
        *("base", "target", "provided", "facts", "variables", "files", "relied", "waivers"),
        *("image", "run", "bytecode", "inventories", "torch", "operators"),
    )
    return tool


def _steps(tool: Table) -> tuple[str, ...]:
    return tuple(
        image_reader.script(tool, f"run[{index}]", text)
        for index, text in enumerate(tool.texts("run"))
    )


def _check_environment(root: Table, target: Target) -> None:
    if (found := root.texts("environments")) != (expected := (target.marker,)):
        root.fail("environments", f"{list(found)} is not that of tool.mxenv.target: {expected[0]}")
    if (python := root.text("requires-python")) != target.requires_python:
        root.fail("requires-python", f"{python!r} is not that of tool.mxenv.target")


def _digest(entry: Table, name: str) -> str:
    value = entry.text(name)
    if not _DIGEST.fullmatch(value):
        entry.fail(name, f"{value!r} is no digest", hint="sha256: and 64 hexadecimal digits")
    return value


def _base(tool: Table) -> Base:
    entry = tool.table("base", required=True)
    entry.only("reference", "digest", "snapshot", "listing")
    reference, digest = image_reader.base(entry, "reference"), entry.text("digest", "")
    if reference == image.SCRATCH:
        if digest:
            entry.fail("digest", "'scratch' has no digest")
    elif not _DIGEST.fullmatch(digest):
        entry.fail("", "not pinned by digest", hint="run `mxenv lock` again")
    return Base(
        reference=reference,
        digest=digest,
        snapshot=entry.text("snapshot", ""),
        listing=_digest(entry, "listing") if "listing" in entry.values else "",
    )


def _target(entry: Table) -> Target:
    entry.only(*TARGET, "libc", "links")
    target = Target(
        **{name: entry.text(name) for name in TARGET},
        libc=entry.text("libc", ""),
        links=_links(entry.table("links")),
    )
    if target.platform not in MACHINES:
        known = ", ".join(MACHINES)
        entry.fail("platform", f"{target.platform!r} is not known", hint=f"known: {known}")
    if not re.fullmatch(r"3\.[0-9]{1,2}", target.python):
        entry.fail("python", f"{target.python!r} is no Python version", hint="as '3.11'")
    for name in TARGET[2:]:
        image_reader.place(entry, name)
    if target.libc and not re.fullmatch(r"[0-9]+\.[0-9]+", target.libc):
        entry.fail("libc", f"{target.libc!r} is no version of the GNU C library", hint="as '2.36'")
    return target


def _links(entry: Table) -> tuple[tuple[str, str], ...]:
    for path in entry.values:
        if not image_reader.is_absolute(path):
            entry.fail(path, "is not an absolute, normalised path")
    return tuple((path, image_reader.place(entry, path)) for path in sorted(entry.values))


def _provided(tool: Table) -> tuple[tuple[str, str], ...]:
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - imported late

    entry = tool.table("provided")
    for name, version in (pairs := tool.pairs("provided")):
        if not NORMALISED.fullmatch(name):
            entry.fail(name, "not normalised", hint="PEP 503: lower case, with -")
        try:
            Version(version)
        except InvalidVersion:
            entry.fail(name, f"{version!r} is no version" if version else "empty")
    return pairs


def _file(entry: Table) -> tuple[AddedFile, str]:
    return image_reader.added_file(entry), sha256(entry)


def _inventories(entries: Sequence[Table]) -> tuple[Inventoried, ...]:
    if not entries:
        return ()
    from mxenv import inventoried  # noqa: PLC0415 - imported late: most locks have none

    return inventoried.read(entries)


def _torch(tool: Table) -> AskedTorch | None:
    if "torch" not in tool.values:
        return None
    entry = tool.table("torch")
    entry.only("file", "digest", "version", "key")
    return AskedTorch(
        file=entry.text("file"),
        digest=_digest(entry, "digest"),
        version=entry.text("version"),
        key=entry.text("key"),
    )


def _operators(tool: Table) -> tuple[tuple[str, str], ...]:
    pairs = tool.pairs("operators")
    if pairs:
        from mxenv import locked_operators  # noqa: PLC0415 - imported late: most locks have none

        for name, said in pairs:
            try:
                locked_operators.entry(said)
            except ValueError as error:
                tool.table("operators").fail(name, str(error), hint="run `mxenv lock` again")
    return pairs


def _relied(tool: Table) -> Relied | None:
    if "relied" not in tool.values:
        return None
    entry = tool.table("relied")
    entry.only("matrix", "outcome", "rows")
    outcome = entry.text("outcome")
    if outcome not in (known := [o.word for o in Outcome]):
        entry.fail("outcome", f"{outcome!r} is not known", hint=f"known: {', '.join(known)}")
    return Relied(matrix=entry.text("matrix", ""), rows=entry.texts("rows"), outcome=outcome)


def _built(tool: Table) -> Built | None:
    if "image" not in tool.values or "engine" in (entry := tool.table("image")).values:
        return None
    entry.only("config", "manifest", "layers", "compiler")
    layers = entry.texts("layers")
    for index, layer in enumerate(layers):
        if not _DIGEST.fullmatch(layer):
            entry.fail(f"layers[{index}]", f"{layer!r} is no digest")
    compiler = entry.text("compiler", "")
    if compiler and not re.fullmatch(r"3\.[0-9]{1,2}\.[0-9]{1,2}", compiler):
        entry.fail("compiler", f"{compiler!r} is no version of Python", hint="as '3.11.2'")
    return Built(
        config=_digest(entry, "config"),
        manifest=_digest(entry, "manifest"),
        layers=layers,
        compiler=compiler,
    )


def _recipe(tool: Table) -> Recipe | None:
    if "image" not in tool.values or "engine" not in (entry := tool.table("image")).values:
        return None
    entry.only("engine", "containerfile", "context")
    return Recipe(
        engine=entry.text("engine"),
        containerfile=_digest(entry, "containerfile"),
        context=_digest(entry, "context"),
    )
