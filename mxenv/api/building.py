"""From a lock to its image: build it, record its digests, or show that they are the same."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mxenv import _plugins
from mxenv import lock as locks
from mxenv._files import write_atomically
from mxenv.api import attesting, caching, signing
from mxenv.api.project import base_of, files_of, read_lock, resolved_lock
from mxenv.engines import GZIP, Engine, Known, Layer, Order
from mxenv.errors import Incompatible, UsageError
from mxenv.frozen import frozen
from mxenv.lock import WHEELHOUSE, Built

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.engines import Product
    from mxenv.lock import Lock, Recipe


COMPARED = (
    "compared: the Containerfile and everything it takes from, by digest; nothing was built, since "
    "an engine's images differ each time"
)


@frozen
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
    recipe: Recipe | None = None
    """What an engine is given, if only that was compared."""


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
    cache_size: int | None = None,
    network: str = "",
    told: Callable[[str], None] | None = None,
) -> BuildResult:
    """Build the image that a lock stands for, into a layout or a registry.

    Lock, snapshot, verdict, SBOM and provenance are attached to it, signed with the key ``sign``.
    The digests are written into the lock unless ``record`` is false. With ``check`` nothing is
    written at all: every layer is made anew, and `Incompatible` raised if it is not the lock's.
    Another ``compression`` makes another manifest; the lock keeps the digest of the usual one.
    ``interpreter`` is a Python that compiles modules, where the lock asks for that. Layers are kept
    up to ``cache_size`` bytes; if it is not given, as the environment has it.

    A container engine's images differ each time: what it is given is written into the lock instead,
    where the lock needs one, and compared by ``check``. ``network`` is which network its steps may
    use, and ``told`` is told which step it is at.
    """
    lock = resolved_lock(lock_path)
    # Before anything is built: a key that cannot be read would end it at the last step.
    signer = signing.signer(sign) if sign is not None else None
    chosen = _engine(engine, compression)
    inside = attesting.Inside(lock=lock, lock_path=lock_path)
    order = Order(
        lock=lock,
        lock_text=locks.render(locks.without_image(lock)),
        base=base_of(lock, lock_path),
        wheelhouse=wheelhouse or lock_path.parent / WHEELHOUSE,
        files=files or files_of(lock, lock_path),
        cache=cache or caching.cache_root(os.environ),
        known=known_of(lock, lock_path),
        out=out if out or push or chosen.keeps else Path("dist") / lock.name,
        push=push,
        with_base=with_base,
        compression=compression,
        interpreter=interpreter,
        network=network,
        told=told,
        look=partial(_look, lock_path, wheelhouse or lock_path.parent / WHEELHOUSE),
        hold=inside.hold,
    )
    if check:
        return _compared(chosen, order, lock_path)
    size = caching.limit(os.environ) if cache_size is None else cache_size
    with caching.in_use(order.cache):
        product = chosen.build(order)
    product = _noted(product, caching.pruned(order.cache, size))
    attesting.attach_built(order, product, inside, signer=signer)
    return _recorded(chosen, order, product, lock_path if record else None)


def _engine(name: str, compression: str) -> Engine:
    chosen: Engine = _plugins.load("engines", name)
    if compression not in chosen.compressions:
        known = " or ".join(chosen.compressions)
        raise UsageError(
            f"the engine {name} does not pack layers with {compression}", hint=f"it has {known}"
        )
    return chosen


def _recorded(
    engine: Engine, order: Order, product: Product, lock_path: Path | None
) -> BuildResult:
    """Return what was built, its digests written into the lock if ``lock_path`` is given."""
    after = _after(engine, order, product)
    product = _noted(product, _surprise(order.lock.built, after.built, product))
    changed = lock_path is not None and after != order.lock
    if lock_path is not None and changed:
        _record(lock_path, order.lock, after)
    return _result(product, changed=changed)


def _look(lock_path: Path, wheelhouse: Path, address: str) -> None:
    """Hold what an engine has made against the lock."""
    from mxenv.api import _inspecting  # noqa: PLC0415 - imported late: not every engine asks

    _inspecting.Inspection(lock_path=lock_path, wheelhouse=wheelhouse).look(address)


def _after(engine: Engine, order: Order, product: Product) -> Lock:
    """Return the lock with what it stands for: an image, or what an engine makes one from."""
    if engine.recipe is None:
        return replace(order.lock, built=_built(product), recipe=None)
    if order.lock.needs_engine:
        return replace(order.lock, built=None, recipe=engine.recipe(order))
    # The digest that can be made again is that of the other engine, and stays.
    return order.lock


def _noted(product: Product, note: str) -> Product:
    return replace(product, notes=(*product.notes, note)) if note else product


def known_of(lock: Lock, lock_path: Path) -> Known | None:
    """Return what the record beside the lock says of the base, if the lock names one."""
    if not lock.base.listing:
        return None
    from mxenv.api import _base_records, _listed  # noqa: PLC0415 - imported late: not every base

    record = _base_records.locked(lock, lock_path)
    image = _listed.description_of(record, lock.base.reference)
    return Known(image=image, listing=record.listing)


def _compared(engine: Engine, order: Order, lock_path: Path) -> BuildResult:
    """Make every layer anew, keep nothing, and hold it against what the lock says."""
    if engine.recipe is not None:
        return _compared_recipe(engine.recipe(order), order, lock_path)
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


def _compared_recipe(made: Recipe, order: Order, lock_path: Path) -> BuildResult:
    """Hold what an engine would be given against what the lock says; nothing is built."""
    said = order.lock.recipe
    if said is None:
        raise Incompatible(
            "the lock does not say what an engine is given",
            context=f"{lock_path}: tool.mxenv.image",
            hint="run `mxenv build --engine docker` once, and commit the lock"
            if order.lock.needs_engine
            else "it needs no engine: without --engine the image itself is compared",
        )
    if made != said:
        parts = (
            ("Containerfile", said.containerfile, made.containerfile),
            ("build context", said.context, made.context),
        )
        differ = "; ".join(f"{name} {now}, not {then}" for name, then, now in parts if now != then)
        raise Incompatible(
            f"what the engine is given is not the lock's: {differ or 'another engine'}",
            context=str(lock_path),
            hint="run `mxenv build`, and look at what changed in the lock",
        )
    return BuildResult(
        config="",
        manifest="",
        layers=(),
        name="",
        written=0,
        read=0,
        seconds=(),
        notes=(COMPARED,),
        changed=False,
        recipe=made,
    )


def _surprise(said: Built | None, made: Built | None, product: Product) -> str:
    """Return how an image is not the one that the lock, which is the same, had before."""
    if said is None or made is None or said == made:
        return ""
    differ = "; ".join(_differences(said, made, product))
    return f"this is not the image that the lock had: {differ or 'another compiler'}"


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
        compiler=product.compiler,
    )


def _record(lock_path: Path, lock: Lock, after: Lock) -> None:
    """Write the digests into the lock, unless it was changed while the image was built."""
    there = read_lock(lock_path)
    if locks.without_image(there) != locks.without_image(lock):
        raise UsageError(
            "was changed while its image was built; the digests are not written into it",
            context=str(lock_path),
            hint="run `mxenv build` again",
        )
    write_atomically(
        lock_path, locks.render(replace(there, built=after.built, recipe=after.recipe))
    )


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
