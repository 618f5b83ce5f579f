"""How a lock is written: PEP 751, with all that mxenv adds in ``[tool.mxenv]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv import toml_text
from mxenv.lock import PEP751, SCHEMA, WHEELHOUSE
from mxenv.toml_text import Octal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mxenv.image import AddedFile
    from mxenv.inventoried import Inventoried
    from mxenv.lock import AskedTorch, Lock, Package, Source, Target
    from mxenv.verdict import Waiver


def render(lock: Lock) -> str:
    """Return ``lock`` as TOML: equal locks give equal text, one fact a line."""
    return toml_text.render(_root(lock))


def _root(lock: Lock) -> dict[str, object]:
    return {
        "lock-version": PEP751,
        "environments": [lock.target.marker],
        "requires-python": lock.target.requires_python,
        "created-by": "mxenv",
        "packages": [_package(package) for package in lock.packages],
        "tool": {"mxenv": _tool(lock)},
    }


def _package(package: Package) -> dict[str, object]:
    wheel, source = package.wheel, package.source
    return _said(
        {
            "name": package.name,
            "version": package.version,
            "requires-python": package.requires_python,
            "sdist": source
            and _said(
                {
                    "name": source.name,
                    "path": f"{WHEELHOUSE}/{source.name}",
                    "size": source.size,
                    "hashes": {"sha256": source.sha256},
                }
            ),
            "wheels": [
                _said(
                    {
                        "name": wheel.name,
                        # Installers take the path where there are both, and then need the file.
                        "path": "" if wheel.url else f"{WHEELHOUSE}/{wheel.name}",
                        "url": wheel.url,
                        "size": wheel.size,
                        "hashes": {"sha256": wheel.sha256},
                    }
                )
            ],
            "tool": source and {"mxenv": {"build": _build(source)}},
        }
    )


def _build(source: Source) -> dict[str, object]:
    return {
        "builder": source.builder,
        "python": source.python,
        "epoch": source.epoch,
        "requires": list(source.requires),
    }


def _tool(lock: Lock) -> dict[str, object]:
    base, relied = lock.base, lock.relied
    return _said(
        {
            "schema": SCHEMA,
            "name": lock.name,
            "inputs": lock.inputs,
            "accelerator": lock.accelerator,
            "requires": list(lock.requires),
            "bytecode": lock.bytecode,
            "models": list(lock.models),
            "system": list(lock.system),
            "run": list(lock.run),
            "host": list(lock.host),
            "base": _said(
                {
                    "reference": base.reference,
                    "digest": base.digest,
                    "snapshot": base.snapshot,
                    "listing": base.listing,
                }
            ),
            "target": _target(lock.target),
            "provided": {entry.name: entry.version for entry in lock.provided},
            "facts": dict(lock.facts),
            "variables": dict(lock.variables),
            "files": [_file(file, sha256) for file, sha256 in lock.files],
            "inventories": _inventories(lock.inventories),
            "torch": _torch(lock.torch) if lock.torch else {},
            "operators": dict(lock.operators),
            "relied": relied
            and {
                **_said({"matrix": relied.matrix}),
                "outcome": relied.outcome,
                "rows": list(relied.rows),
            },
            "waivers": [_waiver(waiver) for waiver in lock.waivers],
            "image": _image(lock),
        }
    )


def _image(lock: Lock) -> dict[str, object]:
    if recipe := lock.recipe:
        return {
            "engine": recipe.engine,
            "containerfile": recipe.containerfile,
            "context": recipe.context,
        }
    if built := lock.built:
        return {
            "config": built.config,
            "manifest": built.manifest,
            "layers": list(built.layers),
            **_said({"compiler": built.compiler}),
        }
    return {}


def _target(target: Target) -> dict[str, object]:
    return _said(
        {
            "platform": target.platform,
            "python": target.python,
            "prefix": target.prefix,
            "interpreter": target.interpreter,
            "purelib": target.purelib,
            "platlib": target.platlib,
            "scripts": target.scripts,
            "data": target.data,
            "libc": target.libc,
            "links": dict(target.links),
        }
    )


def _torch(asked: AskedTorch) -> dict[str, object]:
    return {
        "file": asked.file,
        "digest": asked.digest,
        "version": asked.version,
        "key": asked.key,
    }


def _inventories(kept: Sequence[Inventoried]) -> list[Mapping[str, object]]:
    if not kept:
        return []
    from mxenv import inventoried  # noqa: PLC0415 - imported late: most locks have none

    return [inventoried.written(one) for one in kept]


def _file(file: AddedFile, sha256: str) -> dict[str, object]:
    # In octal, as everybody reads permissions.
    mode = Octal(value=file.mode)
    return {"source": file.source, "target": file.target, "mode": mode, "sha256": sha256}


def _waiver(waiver: Waiver) -> dict[str, object]:
    return _said(
        {
            "code": waiver.code,
            "subject": waiver.subject,
            "reason": waiver.reason,
            "owner": waiver.owner,
            "expires": waiver.expires,
        }
    )


def _said(values: Mapping[str, object]) -> dict[str, object]:
    """Return what there is something to say of: nothing empty is written down."""
    return {name: value for name, value in values.items() if value}
