"""Writes an OCI image with neither daemon nor root: one layer a wheel, the base by digest."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv import __version__, configuration, layers, start_gate, union
from mxenv.configuration import Made
from mxenv.engines import GZIP, ZSTD, Engine, Layer, Order, Product, _layer
from mxenv.engines._below import Base
from mxenv.engines._cache import Cache
from mxenv.engines._output import Nowhere, Output
from mxenv.errors import RegistryError, UsageError
from mxenv.frozen import frozen
from mxenv.image import SCRATCH
from mxenv.stores import OCI_CONFIG, OCI_MANIFEST, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mxenv.engines._bytecode import Interpreter
    from mxenv.engines._layer import Ready
    from mxenv.stores import Descriptor, Sink, Source

WORKERS = 4
"""Layers made at once: hashing and inflating let go of the interpreter, the rest does not."""


def build(order: Order) -> Product:
    """Build into a layout or a registry, whichever the order names."""
    if order.lock.needs_engine:
        raise UsageError(
            "system packages and steps need an engine that can run commands in the image",
            context=f"{order.lock.name}: {'system' if order.lock.system else 'run'}",
            hint="build it with --engine docker, or bring them in the base",
        )
    sink, there = _sink(order)
    return assemble(order, source=_source(order), sink=sink, there=there)


def _source(order: Order) -> Source | None:
    """Open the base where the order says, at the digest that was locked."""
    if order.base == SCRATCH:
        return None
    if order.known is not None and order.push is None and not order.with_base:
        return None  # nothing will be asked of it
    return places.source_of(places.pinned(order.base, order.lock.base.digest))


def _sink(order: Order) -> tuple[Sink, frozenset[str]]:
    """Open the place where the image goes; return what it is known to have, too."""
    if order.push is not None:
        from mxenv.stores import registry  # noqa: PLC0415 - imported late: it brings requests

        repository = registry.open_sink(order.push)
        name = _tag(order)
        return repository, repository.named(name) if name else frozenset()
    if order.out is None:
        return Nowhere(), frozenset()
    from mxenv.stores import layout  # noqa: PLC0415 - imported late: only one of the two

    return layout.open_sink(order.out), frozenset()


def assemble(
    order: Order, *, source: Source | None, sink: Sink, there: frozenset[str] = frozenset()
) -> Product:
    """Make the image from `source`, the base (`None` for ``scratch``), and put it into `sink`.

    What is ``there`` already, as the sink said, is not asked for.
    """
    steps = _Steps()
    cache = Cache(root=order.cache)
    cache.tidy()
    with steps.step("base"):
        base = Base.read(order, source)
    with steps.step("layers"):
        image = _image(order, base, cache)
    writer = Output(sink=sink, cache=cache, there=there)
    with steps.step("write"):
        try:
            digest = _put(order, image, base, writer, source)
        except RegistryError:
            if not writer.there:
                raise
            # Perhaps it has lost what it named: then each blob is looked for.
            writer.there = frozenset()
            digest = _put(order, image, base, writer, source)
    return Product(
        config=configuration.digest(image.config),
        manifest=digest,
        layers=tuple(map(_layer_of, image.ready)),
        name=_name(order, digest),
        written=writer.written + len(image.manifest),
        read=base.read_bytes + writer.streamed,
        seconds=tuple(steps.taken),
        pinned=configuration.digest(_manifest(order, image.pinned, image.config, base)),
        compiler=image.compiler,
        notes=tuple(_notes(order, base)),
    )


@frozen
class _Image:
    """An image whose parts are all made, and put nowhere yet."""

    pinned: Sequence[Ready]
    """Its layers as the lock's digests have them: with the usual compressor."""
    ready: Sequence[Ready]
    """Its layers as they were asked for."""
    config: bytes
    manifest: bytes
    compiler: str
    """The version of the Python that compiled its modules; empty if none did."""


def _image(order: Order, base: Base, cache: Cache) -> _Image:
    """Make every part of the image that lies above ``base``."""
    compiler = _compiler(order)
    version = compiler.version if compiler else ""
    plan = layers.plan(order.lock, base_layers=len(base.layers), compiler=version)
    pinned = _ready(plan, order, cache, compiler)
    if order.hold is not None:
        # Before anything leaves: what is wrong inside is neither sent nor named.
        order.hold([_layer_of(layer) for layer in pinned])
    ready = _packed(pinned, order, cache)
    config = configuration.configuration(
        order.lock,
        [_made(layer) for layer in pinned],
        lock_digest=configuration.digest(order.lock_text.encode()),
        base=base.configuration,
    )
    manifest = _manifest(order, ready, config, base)
    return _Image(pinned=pinned, ready=ready, config=config, manifest=manifest, compiler=version)


def _put(order: Order, image: _Image, base: Base, writer: Output, source: Source | None) -> str:
    """Put the image where it was asked for; return the digest of its manifest."""
    if order.push is not None or order.with_base:
        writer.base(base.layers, source)
    # A registry is talked to over one connection.
    writer.layers(image.ready, workers=1 if order.push is not None else _workers())
    writer.bytes(image.config, OCI_CONFIG)
    return writer.sink.tag(image.manifest, OCI_MANIFEST, _tag(order))


def _compiler(order: Order) -> Interpreter | None:
    """Return the Python that compiles modules, if the lock asks for bytecode."""
    if not order.lock.bytecode:
        return None
    from mxenv.engines import _bytecode  # noqa: PLC0415 - imported late: few images ask for it

    return _bytecode.interpreter(order)


def _ready(
    plan: Sequence[layers.Layer], order: Order, cache: Cache, compiler: Interpreter | None
) -> list[Ready]:
    """Make every layer of ours, from the bottom up, and hold them against one another."""
    with ThreadPoolExecutor(_workers()) as pool:
        # The first error ends the build; what waits behind it never starts.
        ready = _all(
            pool, [_maker(layer, order, cache, compiler) for layer in plan], _by_size(plan)
        )
    if order.lock.files:
        ready.append(_layer.of_files(order, cache))
    ready.append(_layer.of_lock(order, cache))
    cache.passed(
        [
            __version__,
            [[layer.title, layer.blob.diff_id] for layer in ready],
            order.lock_text if order.known is not None else "",
        ],
        lambda: _get_along(ready, order),
    )
    return ready


def _get_along(ready: Sequence[Ready], order: Order) -> None:
    """Refuse layers of which two, or one and the base, have the same path and not the same file."""
    owners = [(layer.title, layer.blob.entries) for layer in ready]
    layers.check_union(owners)
    if order.known is not None:
        union.check(owners, order.known.listing, order.lock)


def _maker(
    layer: layers.Layer, order: Order, cache: Cache, compiler: Interpreter | None
) -> Callable[[], Ready]:
    return lambda: _layer.of_wheels(layer, order, cache, compiler)


def _by_size(plan: Sequence[layers.Layer]) -> list[int]:
    """Return the numbers of the layers, the largest first: begun last, it would be waited for."""
    sizes = [sum(package.wheel.size for package in layer.packages) for layer in plan]
    return sorted(range(len(plan)), key=lambda number: -sizes[number])


def _all(
    pool: ThreadPoolExecutor, calls: Sequence[Callable[[], Ready]], order: Sequence[int]
) -> list[Ready]:
    """Return what each call returns; they are begun in ``order``, after an error no further one."""
    futures = {number: pool.submit(calls[number]) for number in order}
    try:
        return [futures[number].result() for number in range(len(calls))]
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _workers() -> int:
    return min(WORKERS, os.cpu_count() or 1)


def _packed(ready: list[Ready], order: Order, cache: Cache) -> list[Ready]:
    """Return the layers packed as the order asks."""
    if order.compression == GZIP:
        return ready
    from mxenv.engines import _zstd  # noqa: PLC0415 - imported late: only for those who ask

    with ThreadPoolExecutor(_workers()) as pool:
        return list(pool.map(lambda layer: _zstd.packed(layer, cache), ready))


def _manifest(order: Order, ready: Sequence[Ready], config: bytes, base: Base) -> bytes:
    """Return the manifest of the image with these layers."""
    compression = ""
    if any(layer.media_type != configuration.LAYER for layer in ready):
        from mxenv.engines import _zstd  # noqa: PLC0415 - imported late: the same

        compression = _zstd.stamp()
    return configuration.manifest(
        order.lock,
        [_made(layer) for layer in ready],
        config=config,
        base_layers=[_document(layer) for layer in base.layers],
        compression=compression,
    )


def _layer_of(ready: Ready) -> Layer:
    return Layer(made=_made(ready), cached=ready.cached, distributions=ready.blob.distributions)


def _made(ready: Ready) -> Made:
    return Made(
        title=ready.title,
        diff_id=ready.blob.diff_id,
        digest=ready.blob.digest,
        size=ready.blob.size,
        media_type=ready.media_type,
    )


def _document(descriptor: Descriptor) -> dict[str, object]:
    """Return a descriptor as a manifest has it."""
    document: dict[str, object] = {
        "mediaType": descriptor.media_type,
        "digest": descriptor.digest,
        "size": descriptor.size,
    }
    if descriptor.annotations:
        document["annotations"] = dict(descriptor.annotations)
    return document


@dataclass(slots=True)
class _Steps:
    """How long each step took."""

    taken: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure what is done inside."""
        start = time.monotonic()
        yield
        self.taken.append((name, time.monotonic() - start))


def _tag(order: Order) -> str:
    """Return the name that the manifest is put under."""
    if order.push is None:
        return order.lock.name
    if "@" in order.push:
        return ""
    return order.push.rpartition("/")[2].partition(":")[2] or "latest"


def _name(order: Order, digest: str) -> str:
    """Return how the image is asked for from now on."""
    if order.push is None:
        return f"oci:{order.out}:{_tag(order)}"
    return f"{order.push.partition('@')[0]}@{digest}"


def _notes(order: Order, base: Base) -> Iterator[str]:
    """Yield what somebody should know who takes the image to be whole."""
    if order.push is None and base.layers and not order.with_base:
        size = sum(layer.size for layer in base.layers)
        yield (
            f"the layout leaves out the base's layers ({len(base.layers)}, {size} bytes): "
            "it is whole only beside them; --with-base copies them"
        )
    if base.layers and order.known is None:
        yield (
            "which files the base holds is not known: whether a package brings one of them, too, "
            "was not looked at; `mxenv lock` without --snapshot finds out"
        )
    yield from start_gate.limits(order.lock.host, gated=order.base != SCRATCH)


ENGINE = Engine(title="OCI image, without a daemon", build=build, compressions=(GZIP, ZSTD))
