"""What goes with an image that was built: documents, and signatures, attached as OCI referrers."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv import __version__, _files, attachment, envelope, interior, provenance
from mxenv import lock as locks
from mxenv._files import write_atomically
from mxenv.attachment import DOCUMENTS, EMPTY, EMPTY_TYPE, PROVENANCE, SIGNATURE, Subject
from mxenv.configuration import canonical, digest
from mxenv.envelope import Envelope, Signature
from mxenv.errors import Incompatible, UsageError
from mxenv.stores import Descriptor, places
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from mxenv.api.signing import Signer
    from mxenv.attachment import Kind
    from mxenv.engines import Layer, Order, Product
    from mxenv.facts import Snapshot
    from mxenv.lock import Lock
    from mxenv.stores import Sink, Source

MEMORY = "attached"
"""The folder of a cache that says what was attached for which inputs."""
REMEMBERED = 1000
"""Images of which it is known."""
MANY = 3
"""Distributions that are named; of one wrong base they are many."""


def documents(
    lock: Lock, *, manifest: str, layers: Sequence[Layer], base: Snapshot | None
) -> dict[str, bytes]:
    """Return every document that goes with an image, by name: equal images, equal bytes."""
    # Imported late: most builds find that all of it is attached already.
    from mxenv import sbom  # noqa: PLC0415 - the library alone takes a tenth of a second
    from mxenv import snapshot as snapshots  # noqa: PLC0415 - the same
    from mxenv.api import nodes  # noqa: PLC0415 - the same

    inside = locks.without_image(lock)
    text = locks.render(inside).encode()
    titles = tuple((layer.made.title, layer.made.diff_id) for layer in layers)
    facts = interior.snapshot(inside, base, titles)
    _check_inside(lock, facts)
    return {
        "lock": text,
        "snapshot": snapshots.to_json(facts, nodes.keys()).encode(),
        "verdict": interior.verdict(inside),
        "sbom": sbom.render(inside, manifest=manifest, version=__version__),
        "provenance": provenance.render(
            inside, manifest=manifest, lock_digest=digest(text), version=__version__
        ),
    }


def _check_inside(lock: Lock, inside: Snapshot) -> None:
    """Refuse an image whose inside is not the lock's: the base's facts, the layers laid over.

    Each layer was read back when it was made; here is found what only all of it together shows.
    """
    from mxenv.api import _packages  # noqa: PLC0415 - imported late: as above

    present = replace(_packages.of_snapshot(inside, lock.target.prefix), gap="")
    wrong = [f for f in _packages.compare(lock, present) if f.outcome is not Outcome.COMPATIBLE]
    if wrong:
        said = "; ".join(f"{f.subject} is {f.found}, not {f.expected}" for f in wrong[:MANY])
        raise Incompatible(
            f"what is inside is not what was locked: {said}",
            context=lock.name,
            hint="run `mxenv lock` again: base and lock do not belong together",
        )


def attach_built(order: Order, product: Product, lock_path: Path, *, signer: Signer | None) -> None:
    """Attach every document to what was just built, wherever it was put."""
    if order.push is not None:
        from mxenv.stores import registry  # noqa: PLC0415 - imported late: it brings requests

        sink: Sink = registry.open_sink(order.push)
        address = places.pinned(f"{places.IMAGE}:{order.push}", product.manifest)
    elif order.out is not None and (order.out / "oci-layout").is_file():
        from mxenv.stores import layout  # noqa: PLC0415 - imported late: only one of the two

        sink = layout.open_sink(order.out)
        address = f"{places.LAYOUT}:{order.out}@{product.manifest}"
    else:
        return
    source = places.source_of(address)
    there = {one.digest for one in source.referrers(product.manifest)}
    memory = order.cache / MEMORY / _key(order, product, signer)
    known = _remembered(memory)
    if known and known <= there:
        return
    made = attach(
        order.lock,
        lock_path,
        source=source,
        sink=sink,
        layers=product.layers,
        there=there,
        signer=signer,
    )
    with suppress(UsageError, OSError):
        # Without it the next build makes all of it again, to find that it is there.
        write_atomically(memory, "\n".join(made))
        _forget(memory.parent)


def _key(order: Order, product: Product, signer: Signer | None) -> str:
    """Return the digest of everything that the documents are a function of."""
    layers = [(layer.made.title, layer.made.diff_id) for layer in product.layers]
    by = signer.key if signer is not None else ""
    inputs = [__version__, order.lock_text, product.manifest, layers, by]
    return digest(canonical(inputs)).removeprefix("sha256:")


def _forget(folder: Path) -> None:
    """Keep what was written last, or the folder would grow for ever."""
    written = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in written[:-REMEMBERED]:
        path.unlink()


def _remembered(memory: Path) -> set[str]:
    """Return the manifests that were attached for the same inputs before."""
    try:
        return set(_files.read(memory, limit=1 << 16).decode().split())
    except (OSError, ValueError):
        return set()


def attach(  # noqa: PLR0913 - the image, where it lies, and what it was made of
    lock: Lock,
    lock_path: Path,
    *,
    source: Source,
    sink: Sink,
    layers: Sequence[Layer],
    there: Collection[str],
    signer: Signer | None = None,
) -> tuple[str, ...]:
    """Attach every document to the image at ``source``, signed if there is a ``signer``.

    What is ``there`` already is not written again. Returns the digests of all their manifests.
    """
    from mxenv.api import _base_records  # noqa: PLC0415 - imported late: as above

    found, _ = source.manifest(lock.target.platform)
    facts = None
    if lock.base.listing:
        facts = _base_records.facts_of(_base_records.locked(lock, lock_path), str(lock_path))
    contents = documents(lock, manifest=found.digest, layers=layers, base=facts)
    wanted = [(kind, contents[kind.name], "") for kind in DOCUMENTS]
    if signer is not None:
        vouched = attachment.vouched(lock.name, found.digest, contents)
        payloads = (vouched, contents[PROVENANCE.name])
        wanted += [(SIGNATURE, _signed(one, signer), signer.key) for one in payloads]
    return tuple(_put(sink, one, found, there) for one in wanted)


def _signed(payload: bytes, signer: Signer) -> bytes:
    value = signer.sign(envelope.signed_bytes(payload))
    return envelope.render(
        Envelope(payload=payload, signatures=(Signature(key=signer.key, value=value),))
    )


def _put(
    sink: Sink, wanted: tuple[Kind, bytes, str], image: Descriptor, there: Collection[str]
) -> str:
    """Attach one document, unless it is ``there``; return the digest of its manifest."""
    kind, content, key = wanted
    subject = Subject(media_type=image.media_type, digest=image.digest, size=image.size)
    manifest = attachment.manifest(kind, content, subject, key=key)
    if digest(manifest) not in there:
        for media_type, blob in ((EMPTY_TYPE, EMPTY), (kind.media_type, content)):
            _write(sink, media_type, blob)
        sink.attach(manifest, image)
    return digest(manifest)


def _write(sink: Sink, media_type: str, content: bytes) -> None:
    descriptor = Descriptor(media_type=media_type, digest=digest(content), size=len(content))
    if not sink.has(descriptor.digest):
        sink.write(descriptor, lambda: io.BytesIO(content))
