"""How a lock is read: PEP 751 with ``[tool.mxenv]``, and nothing that mxenv did not write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv import distribution, image, image_reader, table
from mxenv.errors import LockError
from mxenv.lock import (
    MACHINES,
    PEP751,
    SCHEMA,
    WHEELHOUSE,
    Base,
    Built,
    Lock,
    Package,
    Provided,
    Recipe,
    Relied,
    Source,
    Target,
    Wheel,
    public_url,
)
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mxenv.image import AddedFile
    from mxenv.inventoried import Inventoried
    from mxenv.table import Table

TARGET = ("platform", "python", "prefix", "interpreter", "purelib", "platlib", "scripts", "data")

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*==[^\s;,]+ --hash=sha256:[0-9a-f]{64}")
_NORMALISED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def parse(text: str, *, context: str) -> Lock:
    """Return the lock that ``text`` is; `LockError` names ``context`` and the place in it."""
    root = table.document(text, context=context, error=LockError)
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
        *("image", "run", "bytecode", "inventories"),
    )
    target = _target(tool.table("target", required=True))
    _check_environment(root, target)
    packages, provided = _packages(root), _provided(tool)
    for index, package in enumerate(packages):
        if package.name in dict(provided):
            message = f"{package.name!r} is provided by the base, which is never replaced"
            root.fail(f"packages[{index}]", message, hint="run `mxenv lock` again")
    return Lock(
        name=image_reader.named(tool),
        inputs=_digest(tool, "inputs"),
        accelerator=tool.text("accelerator"),
        base=_base(tool),
        target=target,
        packages=packages,
        requires=image_reader.requirements(tool),
        bytecode=tool.flag("bytecode"),
        provided=tuple(Provided(name=n, version=v) for n, v in provided),
        facts=tool.pairs("facts"),
        variables=image_reader.variables(tool),
        files=tuple(map(_file, image_reader.distinct(tool.tables("files"), "sha256"))),
        models=tool.texts("models"),
        inventories=_inventories(tool.tables("inventories")),
        system=image_reader.system_packages(tool, "system"),
        run=tuple(
            image_reader.script(tool, f"run[{index}]", text)
            for index, text in enumerate(tool.texts("run"))
        ),
        host=tool.texts("host"),
        relied=_relied(tool),
        waivers=tuple(image_reader.waiver(entry) for entry in tool.tables("waivers")),
        built=_built(tool),
        recipe=_recipe(tool),
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


def _sha256(entry: Table, name: str = "sha256") -> str:
    value = entry.text(name)
    if not _SHA256.fullmatch(value):
        entry.fail(name, f"{value!r} is not 64 hexadecimal digits")
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


def _packages(root: Table) -> tuple[Package, ...]:
    if "packages" not in root.values:
        root.fail("packages", "missing")
    packages: dict[str, Package] = {}
    for entry in root.tables("packages"):
        entry.only("name", "version", "requires-python", "wheels", "sdist", "tool")
        name = entry.text("name")
        if not _NORMALISED.fullmatch(name):
            entry.fail("name", f"{name!r} is not normalised", hint="PEP 503: lower case, with -")
        if name in packages:
            entry.fail("name", f"{name!r} is locked twice")
        wheels = entry.tables("wheels")
        if len(wheels) != 1:
            entry.fail("wheels", f"{len(wheels)} wheels for {name!r}; a lock is for one target")
        version = entry.text("version")
        packages[name] = Package(
            name=name,
            version=version,
            wheel=_wheel(wheels[0], name, version),
            requires_python=entry.text("requires-python", ""),
            source=_source(entry, name),
        )
    return tuple(packages.values())


def _wheel(entry: Table, package: str, version: str) -> Wheel:
    from packaging.utils import (  # noqa: PLC0415 - imported late: only who reads a lock needs it
        InvalidWheelFilename,
        parse_wheel_filename,
    )
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - the same

    entry.only("name", "path", "url", "size", "hashes")
    name = entry.text("name")
    try:
        held, held_version, _, _ = parse_wheel_filename(name)
        agree = held == package and held_version == Version(version)
    except InvalidWheelFilename as fault:
        entry.fail("name", str(fault))
    except InvalidVersion:
        entry.fail("name", f"not a wheel of {package} {version!r}, which is no version")
    if not agree or "/" in name:
        entry.fail("name", f"{name!r} is not a wheel of {package} {version}")
    url = _place(entry, name)
    hashes = entry.table("hashes", required=True)
    hashes.only("sha256")
    return Wheel(name=name, sha256=_sha256(hashes), size=entry.integer("size", 0), url=url)


def _place(entry: Table, name: str) -> str:
    """Return the URL of a wheel; what has none lies in the wheelhouse."""
    if "url" not in entry.values:
        if (path := entry.text("path")) != f"{WHEELHOUSE}/{name}":
            entry.fail("path", f"{path!r} is not {WHEELHOUSE}/ and the file's name")
        return ""
    url = entry.text("url")
    if public_url(url) != url:
        # What is wrong with it may be a password, and is not repeated.
        hint = "https:// or http://, without a login, a question mark or a fragment"
        entry.fail("url", "is no URL that everybody may see", hint=hint)
    if "path" in entry.values:
        entry.fail("path", "stands beside a URL: installers would never look at that")
    return url


def _source(entry: Table, package: str) -> Source | None:
    if "sdist" not in entry.values and "tool" not in entry.values:
        return None
    sdist = entry.table("sdist", required=True)
    sdist.only("name", "path", "size", "hashes")
    name = sdist.text("name")
    if distribution.project_of(name) != package or name.endswith(".whl") or "/" in name:
        sdist.fail("name", f"{name!r} is not a source distribution of {package}")
    if (path := sdist.text("path")) != f"{WHEELHOUSE}/{name}":
        sdist.fail("path", f"{path!r} is not {WHEELHOUSE}/ and the file's name")
    hashes = sdist.table("hashes", required=True)
    hashes.only("sha256")
    tool = entry.table("tool", required=True)
    tool.only("mxenv")
    mxenv = tool.table("mxenv", required=True)
    mxenv.only("build")
    build = mxenv.table("build", required=True)
    build.only("builder", "python", "epoch", "requires")
    requires = build.texts("requires")
    for index, pin in enumerate(requires):
        if not _PIN.fullmatch(pin):
            hint = "as 'hatchling==1.27.0 --hash=sha256:' and 64 hexadecimal digits"
            build.fail(f"requires[{index}]", f"{pin!r} is no exact requirement", hint=hint)
    return Source(
        name=name,
        sha256=_sha256(hashes),
        size=sdist.integer("size", 0),
        builder=build.text("builder"),
        python=build.text("python"),
        epoch=build.integer("epoch"),
        requires=requires,
    )


def _provided(tool: Table) -> tuple[tuple[str, str], ...]:
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - imported late

    entry = tool.table("provided")
    for name, version in (pairs := tool.pairs("provided")):
        if not _NORMALISED.fullmatch(name):
            entry.fail(name, "not normalised", hint="PEP 503: lower case, with -")
        try:
            Version(version)
        except InvalidVersion:
            entry.fail(name, f"{version!r} is no version" if version else "empty")
    return pairs


def _file(entry: Table) -> tuple[AddedFile, str]:
    file, sha256 = image_reader.added_file(entry), _sha256(entry)
    return file, sha256


def _inventories(entries: Sequence[Table]) -> tuple[Inventoried, ...]:
    if not entries:
        return ()
    from mxenv import inventoried  # noqa: PLC0415 - imported late: most locks have none

    return inventoried.read(entries)


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
