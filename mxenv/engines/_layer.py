"""How the layers of a lock are made: of wheels, of added files, and of what says what it is."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from contextlib import ExitStack
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv import interior, start_gate
from mxenv.configuration import LAYER, lock_path
from mxenv.engines._blob import Content, Packed, write
from mxenv.errors import LockError
from mxenv.frozen import frozen
from mxenv.layers import FORMAT, SHARE, START_GATE, Entry, base_directories, check_union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from mxenv import layers
    from mxenv.engines import Order
    from mxenv.engines._blob import Blob
    from mxenv.engines._bytecode import Interpreter, Modules
    from mxenv.engines._cache import Cache
    from mxenv.engines._wheel import Installed, Unpacked

CHUNK = 1024 * 1024

VERDICT = f"{SHARE}/verdict.json"
"""What was known of the set when it was locked."""


@frozen
class Ready:
    """A layer whose bytes lie in the cache."""

    title: str
    key: str
    blob: Blob
    cached: bool
    again: Callable[[], Blob] = field(compare=False)
    """Makes it anew, though it lies in the cache."""
    media_type: str = LAYER


def of_wheels(
    layer: layers.Layer, order: Order, cache: Cache, compiler: Interpreter | None = None
) -> Ready:
    """Return the layer of some wheels; only one that was never made needs the wheels."""

    def make() -> Blob:
        return _made(layer, order, cache, compiler)

    found = cache.find(layer.key)
    return Ready(
        title=layer.title,
        key=layer.key,
        blob=found or make(),
        cached=found is not None,
        again=make,
    )


def _made(layer: layers.Layer, order: Order, cache: Cache, compiler: Interpreter | None) -> Blob:
    """Make the layer of some wheels, which stay open until it has been read back."""
    from mxenv.engines._inside import check  # noqa: PLC0415 - imported late: most layers are there
    from mxenv.engines._wheel import opened  # noqa: PLC0415 - the same

    where, skipped = order.lock.target, base_directories(order.lock)
    sites = frozenset({where.purelib, where.platlib})
    with ExitStack() as stack:
        modules = stack.enter_context(_modules(compiler)) if compiler else None
        brought: list[tuple[str, list[Content]]] = []
        for package in layer.packages:
            path = order.wheelhouse / package.wheel.name
            wheel = stack.enter_context(opened(path, package, where, modules))
            files = [_content(wheel, installed, modules) for installed in wheel.files]
            brought.append((f"{package.name}=={package.version}", files))
        contents = _together(brought)
        return cache.make(
            layer.key,
            lambda file: write(file, contents, skipped=skipped),
            check=lambda file, draft: check(file, draft, packages=layer.packages, sites=sites),
        )


def _together(brought: Sequence[tuple[str, Sequence[Content]]]) -> list[Content]:
    """Return the files of wheels that share a layer; what two of them bring is there once."""
    if len(brought) > 1:
        union = (
            (owner, [Entry(path=c.path, sha256=c.hash, size=c.size, mode=c.mode) for c in files])
            for owner, files in brought
        )
        check_union(union)
    return list({content.path: content for _, files in brought for content in files}.values())


def _modules(compiler: Interpreter) -> AbstractContextManager[Modules]:
    from mxenv.engines import _bytecode  # noqa: PLC0415 - imported late: few images ask for it

    return _bytecode.modules(compiler)


def _content(wheel: Unpacked, installed: Installed, modules: Modules | None = None) -> Content:
    """Return a file of a wheel as a file of a layer."""
    member, archive, compiled = installed.member, wheel.archive, installed.compiled
    if compiled is not None and modules is not None:
        return Content(
            path=installed.path,
            mode=installed.mode,
            size=installed.size,
            hash=installed.hash,
            place=f"{archive.name}: bytecode",
            pieces=lambda: (modules.read(compiled),),
        )
    if member is None:
        return _given(installed.path, installed.data, mode=installed.mode, place=archive.name)
    return Content(
        path=installed.path,
        mode=installed.mode,
        size=installed.size,
        hash=installed.hash,
        place=f"{archive.name}: {member.name}",
        pieces=lambda: archive.pieces(member),
        packed=Packed(size=member.packed, crc=member.crc, pieces=lambda: archive.packed(member))
        if member.deflated
        else None,
    )


def _given(path: str, data: bytes, *, mode: int, place: str) -> Content:
    """Return a file whose bytes are known."""
    return Content(
        path=path,
        mode=mode,
        size=len(data),
        hash=_promised(hashlib.sha256(data).digest()),
        place=place,
        pieces=lambda: (data,),
    )


def _promised(digest: bytes) -> str:
    """Return a digest as a RECORD has it."""
    return f"sha256={urlsafe_b64encode(digest).decode().rstrip('=')}"


def of_files(order: Order, cache: Cache) -> Ready:
    """Return the layer of the added files: as it was, whatever else of a lock has changed."""
    return _given_layer(f"files {order.lock.name}", list(added(order)), order, cache)


def of_lock(order: Order, cache: Cache) -> Ready:
    """Return the last layer: the lock, its verdict, and the start gate.

    It is another one with each change, and texts alone: what packs it is part of the format.
    """
    return _given_layer(f"lock {order.lock.name}", list(documents(order)), order, cache, pack=_gzip)


def _gzip(data: bytes) -> bytes:
    from mxenv.deflation import gzipped  # noqa: PLC0415 - imported late: seldom made

    return gzipped(data)


def _given_layer(
    title: str,
    contents: list[Content],
    order: Order,
    cache: Cache,
    pack: Callable[[bytes], bytes] | None = None,
) -> Ready:
    """Return a layer that no wheel is in."""
    inputs = [[c.path, c.mode, c.size, c.hash] for c in contents]
    skipped, where = base_directories(order.lock), order.lock.target
    sites = frozenset({where.purelib, where.platlib})
    said = [bool(pack), FORMAT, inputs, sorted(skipped), sorted(sites)]
    key = hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def make() -> Blob:
        from mxenv.engines._inside import check  # noqa: PLC0415 - imported late: as above

        return cache.make(
            key,
            lambda file: write(file, contents, skipped=skipped, pack=pack),
            check=lambda file, draft: check(file, draft, packages=None, sites=sites),
        )

    found = cache.find(key)
    return Ready(
        title=title,
        key=key,
        blob=found or make(),
        cached=found is not None,
        again=make,
    )


def documents(order: Order) -> Iterator[Content]:
    """Yield what mxenv itself puts into every image."""
    lock = order.lock
    yield _given(lock_path(lock.name), order.lock_text.encode(), mode=0o644, place="lock")
    yield _given(VERDICT, interior.verdict(lock), mode=0o644, place="verdict")
    script = start_gate.render(lock.host).encode()
    yield _given(START_GATE, script, mode=0o755, place="start gate")


def added(order: Order) -> Iterator[Content]:
    """Yield the files of the project, which must be those that were locked."""
    for file, sha256 in order.lock.files:
        path = order.files / file.source
        try:
            size = path.stat().st_size
            with path.open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise LockError(
                f"{file.source}: cannot be read: {error.strerror}",
                context=str(path),
                hint="name the folder of image.toml, or run `mxenv lock` again",
            ) from error
        if found != sha256:
            raise LockError(
                f"{file.source}: has the SHA-256 {found}, not {sha256} as locked",
                context=str(path),
                hint="run `mxenv lock` again",
            )
        yield Content(
            path=file.target,
            mode=file.mode,
            size=size,
            hash=_promised(bytes.fromhex(sha256)),
            place=str(path),
            pieces=lambda path=path: _read(path),  # type: ignore[misc]
        )


def _read(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file."""
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            yield data
