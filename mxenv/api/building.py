"""From a lock to its image: build it, record its digests, or show that they are the same."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mxenv import _plugins
from mxenv import lock as locks
from mxenv._files import write_atomically
from mxenv.api import attesting, signing
from mxenv.api.project import base_of, files_of, read_lock
from mxenv.engines import GZIP, Engine, Known, Layer, Order
from mxenv.errors import EngineError, Incompatible, UsageError
from mxenv.lock import WHEELHOUSE, Built

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.engines import Product
    from mxenv.lock import Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """An image that was built, or built again to compare."""

    config: str
    """The digest of the configuration: the same on every machine."""
    manifest: str
    layers: tuple[Layer, ...]
    """Those that were added to the base, from the bottom up."""
    name: str
    """How the image is asked for; empty if it was only compared."""
    written: int
    """Bytes that were written to the layout, or sent to the registry."""
    read: int
    """Bytes of the base that were read."""
    seconds: tuple[tuple[str, float], ...]
    notes: tuple[str, ...]
    changed: bool
    """True if the lock said otherwise, or nothing, and says it now."""


def build(  # noqa: PLR0913 - each is a choice of the user
    lock_path: Path,
    *,
    engine: str = "oci",
    out: Path | None = None,
    push: str | None = None,
    wheelhouse: Path | None = None,
    files: Path | None = None,
    cache: Path | None = None,
    check: bool = False,
    with_base: bool = False,
    record: bool = True,
    sign: Path | None = None,
    compression: str = GZIP,
    interpreter: str = "",
) -> BuildResult:
    """Build the image that a lock stands for, into a layout or a registry.

    Lock, snapshot, verdict, SBOM and provenance are attached to it, signed with the key ``sign``.
    The digests are written into the lock unless ``record`` is false. With ``check`` nothing is
    written at all: every layer is made anew, and `Incompatible` raised if it is not the lock's.
    Another ``compression`` makes another manifest; the lock keeps the digest of the usual one.
    ``interpreter`` is a Python that compiles modules, where the lock asks for that.
    """
    lock = read_lock(lock_path)
    # Before anything is built: a key that cannot be read would end it at the last step.
    signer = signing.signer(sign) if sign is not None else None
    chosen: Engine = _plugins.load("engines", engine)
    if compression not in chosen.compressions:
        known = " or ".join(chosen.compressions)
        raise UsageError(
            f"the engine {engine} does not pack layers with {compression}", hint=f"it has {known}"
        )
    order = Order(
        lock=lock,
        lock_text=locks.render(locks.without_image(lock)),
        base=base_of(lock, lock_path),
        wheelhouse=wheelhouse or lock_path.parent / WHEELHOUSE,
        files=files or files_of(lock, lock_path),
        cache=cache or cache_root(os.environ),
        known=_known(lock, lock_path),
        out=out if out or push else Path("dist") / lock.name,
        push=push,
        with_base=with_base,
        compression=compression,
        interpreter=interpreter,
    )
    if check:
        return _compared(chosen, order, lock_path)
    product = chosen.build(order)
    attesting.attach_built(order, product, lock_path, signer=signer)
    built = _built(product)
    changed = record and built != lock.built
    if changed:
        _record(lock_path, lock, built)
    return _result(product, changed=changed)


def _known(lock: Lock, lock_path: Path) -> Known | None:
    """Return what the record beside the lock says of the base, if the lock names one."""
    if not lock.base.listing:
        return None
    from mxenv.api import _base_records, _listed  # noqa: PLC0415 - imported late: not every base

    record = _base_records.locked(lock, lock_path)
    image = _listed.description_of(record, lock.base.reference)
    return Known(image=image, listing=record.listing)


def _compared(engine: Engine, order: Order, lock_path: Path) -> BuildResult:
    """Make every layer anew, keep nothing, and hold it against what the lock says."""
    said = order.lock.built
    if said is None:
        raise Incompatible(
            "the lock does not say which image it stands for",
            context=f"{lock_path}: tool.mxenv.image",
            hint="run `mxenv build` once, and commit the lock",
        )
    with TemporaryDirectory(prefix="mxenv-check-") as folder:
        product = engine.build(replace(order, cache=Path(folder), out=None, push=None))
    made = _built(product)
    if made != said:
        raise Incompatible(
            f"the image is not the lock's: {'; '.join(_differences(said, made, product))}",
            context=str(lock_path),
            hint="run `mxenv build`, and look at what changed in the lock",
        )
    return replace(_result(product, changed=False), name="")


def _differences(said: Built, made: Built, product: Product) -> Iterator[str]:
    """Yield what is not the same, each side with its digest."""
    for layer in product.layers:
        if layer.made.diff_id not in said.layers:
            yield f"layer {layer.made.title} is {layer.made.diff_id}, which the lock does not have"
    for title, one, other in (
        ("configuration", said.config, made.config),
        ("manifest", said.manifest, made.manifest),
    ):
        if one != other:
            yield f"{title} {other}, not {one}"


def _built(product: Product) -> Built:
    return Built(
        config=product.config,
        manifest=product.pinned or product.manifest,
        layers=tuple(layer.made.diff_id for layer in product.layers),
    )


def _record(lock_path: Path, lock: Lock, built: Built) -> None:
    """Write the digests into the lock, unless it was changed while the image was built."""
    there = read_lock(lock_path)
    if locks.without_image(there) != locks.without_image(lock):
        raise UsageError(
            "was changed while its image was built; the digests are not written into it",
            context=str(lock_path),
            hint="run `mxenv build` again",
        )
    write_atomically(lock_path, locks.render(replace(there, built=built)))


def _result(product: Product, *, changed: bool) -> BuildResult:
    return BuildResult(
        config=product.config,
        manifest=product.manifest,
        layers=product.layers,
        name=product.name,
        written=product.written,
        read=product.read,
        seconds=product.seconds,
        notes=product.notes,
        changed=changed,
    )


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return where layers are kept: ``MXENV_CACHE_DIR``, or the user's cache folder."""
    if chosen := environ.get("MXENV_CACHE_DIR"):
        return Path(chosen)
    if kept := environ.get("XDG_CACHE_HOME"):
        return Path(kept) / "mxenv"
    try:
        return Path.home() / ".cache" / "mxenv"
    except RuntimeError as error:
        # A container may run under a number that no user has.
        raise EngineError(
            "there is no home folder to keep layers in", hint="set MXENV_CACHE_DIR to a folder"
        ) from error
