"""What goes with an image that was built: documents, and signatures, attached as OCI referrers."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mxenv import __version__, _files, attachment, envelope, interior, provenance
from mxenv._files import write_atomically
from mxenv.attachment import (
    DOCUMENTS,
    EMPTY,
    EMPTY_TYPE,
    LOCK,
    PROVENANCE,
    SBOM,
    SIGNATURE,
    SNAPSHOT,
    VERDICT,
    Subject,
)
from mxenv.configuration import canonical, digest
from mxenv.envelope import Envelope, Signature
from mxenv.errors import Incompatible, UsageError
from mxenv.interior import Held
from mxenv.stores import Descriptor, places
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from mxenv.api.signing import Signer
    from mxenv.engines import Layer, Order, Product
    from mxenv.facts import Snapshot
    from mxenv.lock import Lock
    from mxenv.stores import Sink

MEMORY = "attached"
"""The folder of a cache that says what was attached for which inputs."""
REMEMBERED = 1000
"""Images of which it is known."""
BLOB_TYPE = "application/octet-stream"
"""What a blob is while nothing names it; its manifest says what it is."""
MANY = 3
"""Distributions that are named; of one wrong base they are many."""


@dataclass(slots=True, kw_only=True)
class Inside:
    """What is known of the inside of an image: the facts of its base, its layers laid over."""

    lock: Lock
    lock_path: Path
    facts: Snapshot | None = None

    def hold(self, layers: Sequence[Layer]) -> None:
        """Refuse an image whose inside is not the lock's, as the layers were read back.

        Each was held against its wheels when it was made; here is found what only all of them and
        the base together show.
        """
        from mxenv.api import _packages  # noqa: PLC0415 - imported late: an engine looks otherwise

        facts = self.known(layers)
        present = replace(_packages.of_snapshot(facts, self.lock.target.prefix), gap="")
        found = _packages.compare(self.lock, present)
        wrong = [one for one in found if one.outcome is not Outcome.COMPATIBLE]
        if wrong:
            said = "; ".join(f"{f.subject} is {f.found}, not {f.expected}" for f in wrong[:MANY])
            raise Incompatible(
                f"what is inside is not what was locked: {said}",
                context=self.lock.name,
                hint="run `mxenv lock` again: base, files and lock do not belong together",
            )

    def known(self, layers: Sequence[Layer] | None) -> Snapshot:
        """Return the snapshot; without ``layers``, of an image that was looked into."""
        if self.facts is None:
            held = (
                None
                if layers is None
                else [
                    Held(layer=one.made.diff_id, distributions=one.distributions) for one in layers
                ]
            )
            self.facts = interior.snapshot(self.lock, self._of_base(), held)
        return self.facts

    def _of_base(self) -> Snapshot | None:
        if not self.lock.base.listing:
            return None
        from mxenv.api import _base_records  # noqa: PLC0415 - imported late: not every base has one

        record = _base_records.locked(self.lock, self.lock_path)
        return _base_records.facts_of(record, str(self.lock_path))


def documents(order: Order, *, manifest: str, inside: Snapshot) -> dict[str, bytes]:
    """Return what is attached for every document, by name: equal images, equal bytes."""
    # Imported late: most builds find that all of it is attached already.
    from mxenv import sbom  # noqa: PLC0415 - as above
    from mxenv import snapshot as snapshots  # noqa: PLC0415 - the same
    from mxenv.api import nodes  # noqa: PLC0415 - the same

    text = order.lock_text.encode()
    of_lock = digest(text)
    made = {
        LOCK: text,
        SNAPSHOT: snapshots.to_json(inside, nodes.keys()).encode(),
        VERDICT: interior.verdict(order.lock),
        SBOM: sbom.render(order.lock, lock_digest=of_lock, version=__version__),
        PROVENANCE: provenance.render(
            order.lock, manifest=manifest, lock_digest=of_lock, version=__version__
        ),
    }
    return {kind.name: attachment.blob(kind, content) for kind, content in made.items()}


def attach_built(order: Order, product: Product, inside: Inside, *, signer: Signer | None) -> None:
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
    image, _ = source.manifest(order.lock.target.platform)
    # An engine's layers are its own: it has looked at what lies in them.
    facts = inside.known(product.layers or None)
    blobs = documents(order, manifest=image.digest, inside=facts)
    made = attach(order.lock.name, blobs, image, sink=sink, there=there, signer=signer)
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


def attach(  # noqa: PLR0913 - the image, where it lies, and what goes with it
    name: str,
    blobs: Mapping[str, bytes],
    image: Descriptor,
    *,
    sink: Sink,
    there: Collection[str],
    signer: Signer | None = None,
) -> tuple[str, ...]:
    """Attach every document to an image, signed if there is a ``signer``.

    What is ``there`` already is not written again. Returns the digests of all their manifests.
    """
    wanted = [(kind, blobs[kind.name], "") for kind in DOCUMENTS]
    if signer is not None:
        payloads = (attachment.vouched(name, image.digest, blobs), blobs[PROVENANCE.name])
        wanted += [(SIGNATURE, _signed(one, signer), signer.key) for one in payloads]
    subject = Subject(media_type=image.media_type, digest=image.digest, size=image.size)
    made = {attachment.manifest(kind, blob, subject, key=key): blob for kind, blob, key in wanted}
    missing = {one: blob for one, blob in made.items() if digest(one) not in there}
    if missing:
        _write(sink, EMPTY_TYPE, EMPTY)
    for blob in missing.values():
        _write(sink, BLOB_TYPE, blob)
    # The list, where one has to be kept, names them when all of them are there.
    sink.attach_all(tuple(missing), image)
    return tuple(map(digest, made))


def _signed(payload: bytes, signer: Signer) -> bytes:
    value = signer.sign(envelope.signed_bytes(payload))
    return envelope.render(
        Envelope(payload=payload, signatures=(Signature(key=signer.key, value=value),))
    )


def _write(sink: Sink, media_type: str, content: bytes) -> None:
    descriptor = Descriptor(media_type=media_type, digest=digest(content), size=len(content))
    if not sink.has(descriptor.digest):
        sink.write(descriptor, lambda: io.BytesIO(content))
