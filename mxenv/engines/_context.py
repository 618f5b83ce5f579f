"""What a container engine is given to build from: a tar file that is the same for everybody."""

from __future__ import annotations

import base64
import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from mxenv import image_programs, layers, rendering
from mxenv.archive import END, header, padding
from mxenv.engines import _layer
from mxenv.engines._cache import Cache
from mxenv.engines._wheel import opened
from mxenv.errors import EngineError, UsageError
from mxenv.frozen import frozen
from mxenv.image import SCRATCH
from mxenv.layers import SHARE
from mxenv.lock import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from mxenv.engines import Order
    from mxenv.engines._blob import Content
    from mxenv.lock import Package
    from mxenv.stores import ImageDescription, Source

CHUNK = 1 << 20


@frozen
class _File:
    """One file of the context: a few bytes, or one that lies on the disk."""

    mode: int = 0o644
    size: int
    pieces: Callable[[], Iterator[bytes]]


@dataclass(slots=True, kw_only=True)
class Context:
    """The files of a build context, and their digest once they were read to the end."""

    containerfile: str
    files: Mapping[str, _File]
    sent: int = 0
    """Bytes that were handed out."""
    digest: str = ""
    _open: bool = field(default=True, init=False)

    @property
    def size(self) -> int:
        """Return about how many bytes will be handed out."""
        return sum(file.size for file in self.files.values())

    def __iter__(self) -> Iterator[bytes]:
        """Yield the tar file: what is needed, sorted, nobody's, from 1980."""
        sha256 = hashlib.sha256()
        for piece in self._pieces():
            sha256.update(piece)
            self.sent += len(piece)
            yield piece
        self.digest = f"sha256:{sha256.hexdigest()}"

    def close(self) -> None:
        """Do nothing: whoever sends it closes it, and may send it again."""

    def _pieces(self) -> Iterator[bytes]:
        paths = [f"/{name}" for name in self.files]
        folders = layers.directories(paths, skipped=frozenset())
        for name in sorted((*paths, *folders)):
            file = self.files.get(name[1:])
            if file is None:
                yield header(name, mode=0o755, directory=True)
                continue
            yield header(name, size=file.size, mode=file.mode)
            found = 0
            for piece in file.pieces():
                found += len(piece)
                yield piece
            if found != file.size:
                raise EngineError("changed while it was read", context=name[1:])
            yield padding(file.size)
        yield END


@contextmanager
def opened_context(order: Order, base: Mapping[str, object]) -> Iterator[Context]:
    """Give the build context of an order, on a base with the configuration ``base``.

    Every wheel and every file is looked at before the first byte is handed out.
    """
    containerfile = rendering.render(order.lock, base)
    files = {rendering.NAME: _text(containerfile), **_own(order), **_added(order)}
    files |= _layers(order) if order.lock.base.reference == SCRATCH else _wheels(order)
    yield Context(containerfile=containerfile, files=files)


def recipe(order: Order, base: Mapping[str, object], engine: str) -> Recipe:
    """Return what an engine is given, by digests."""
    with opened_context(order, base) as context:
        for _ in context:
            pass
        return Recipe(
            engine=engine,
            containerfile=f"sha256:{hashlib.sha256(context.containerfile.encode()).hexdigest()}",
            context=context.digest,
        )


def archive(source: Source, image: ImageDescription, name: str) -> Iterator[bytes]:
    """Yield an image as ``docker save`` writes it, so that an engine loads it under ``name``."""
    layers_ = [f"{number}.tar" for number, _ in enumerate(image.layers)]
    documents = {"Config": "config.json", "RepoTags": [name], "Layers": layers_}
    manifest = json.dumps([documents]).encode()
    parts = (("config.json", image.config), *zip(layers_, image.layers, strict=True))
    for path, descriptor in parts:
        yield header(f"/{path}", size=descriptor.size)
        with source.blob(descriptor) as blob:
            yield from _read(lambda blob=blob: blob)  # type: ignore[misc]
        yield padding(descriptor.size)
    yield header("/manifest.json", size=len(manifest)) + manifest + padding(len(manifest)) + END


def _text(text: str, mode: int = 0o644) -> _File:
    data = text.encode()
    return _File(size=len(data), mode=mode, pieces=lambda: iter((data,)))


def _own(order: Order) -> dict[str, _File]:
    """Return what becomes the folder of mxenv in the image."""
    files = {
        f"{rendering.SHARED}{content.path.removeprefix(SHARE)}": _File(
            mode=content.mode, size=content.size, pieces=partial(_pieces, content)
        )
        for content in _layer.documents(order)
    }
    if order.lock.base.reference != SCRATCH:
        files[f"{rendering.OWN}/{rendering.INSTALL}"] = _text(image_programs.INSTALL)
        files[f"{rendering.OWN}/{rendering.CHECK}"] = _text(image_programs.CHECK)
    return files


def _added(order: Order) -> dict[str, _File]:
    names = (source for source, _ in rendering.added(order.lock))
    return {
        name: _File(mode=content.mode, size=content.size, pieces=partial(_pieces, content))
        for name, content in zip(names, _layer.added(order), strict=True)
    }


def _wheels(order: Order) -> dict[str, _File]:
    """Return the wheels, and for each the table by which it is put where it belongs."""
    if order.lock.bytecode:
        raise UsageError(
            "an engine that runs the image's own Python compiles nothing ahead",
            context=f"{order.lock.name}: bytecode",
            hint="leave 'bytecode' out of the image description",
        )
    files: dict[str, _File] = {}
    for package in order.lock.packages:
        path = order.wheelhouse / package.wheel.name
        files[f"{rendering.OWN}/{rendering.PLANS}/{package.name}.json"] = _plan(order, package)
        files[f"{rendering.WHEELS}/{package.wheel.name}"] = _File(
            size=path.stat().st_size, pieces=partial(_read, partial(_at, path))
        )
    return files


def _plan(order: Order, package: Package) -> _File:
    rows = []
    with opened(order.wheelhouse / package.wheel.name, package, order.lock.target) as wheel:
        for file in wheel.files:
            member = file.member.name if file.member else None
            data = None if file.member else base64.b64encode(file.data).decode()
            rows.append([file.path, file.mode, file.hash, member, data])
    return _text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def _layers(order: Order) -> dict[str, _File]:
    """Return the wheels of an image in which nothing can be run, unpacked as the default does."""
    from mxenv.engines import _bytecode  # noqa: PLC0415 - imported late: few images ask for it

    cache = Cache(root=order.cache)
    compiler = _bytecode.interpreter(order) if order.lock.bytecode else None
    plan = layers.plan(order.lock, base_layers=0, compiler=compiler.version if compiler else "")
    files: dict[str, _File] = {}
    for number, layer in enumerate(plan, 1):
        blob = _layer.of_wheels(layer, order, cache, compiler).blob
        files[rendering.layer_name(number)] = _File(
            size=blob.size, pieces=partial(_read, partial(cache.open, blob))
        )
    return files


def _pieces(content: Content) -> Iterator[bytes]:
    yield from content.pieces()


def _at(path: Path) -> BinaryIO:
    return path.open("rb")


def _read(opener: Callable[[], BinaryIO]) -> Iterator[bytes]:
    with opener() as file:
        while data := file.read(CHUNK):
            yield data
