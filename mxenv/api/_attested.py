"""Whether what goes with an image speaks of this image and its lock, and who signed it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mxenv import attachment, envelope, interior, provenance, sbom
from mxenv import lock as locks
from mxenv import snapshot as snapshots
from mxenv.api import _attached, _packages
from mxenv.attachment import DOCUMENTS, VOUCHED
from mxenv.configuration import digest
from mxenv.errors import EngineError, InvalidFile, LockError, SnapshotError
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mxenv.api._attached import Attachments
    from mxenv.api.signing import Verifier
    from mxenv.attachment import Kind, Vouched
    from mxenv.envelope import Envelope
    from mxenv.lock import Lock
    from mxenv.stores import Source

ATTACH = "run `mxenv build` again to the same place: it attaches what is missing"
DISTRUST = "do not use this image before you know who attached it"
SIGN = "build it with --sign KEY, or name the key of those who did"
_MANY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image whose attachments are looked at."""

    source: Source
    digest: str
    """Of its manifest."""
    lock: Lock
    lock_digest: str
    """Of the text of the lock that it was made from, as its own label says."""


@dataclass(slots=True, kw_only=True)
class Signed:
    """What signatures say of an image."""

    by: list[Verifier] = field(default_factory=list)
    """The keys that were named, and did sign it."""
    documents: dict[str, Vouched] = field(default_factory=dict)
    """What they vouch for, by name."""
    others: list[str] = field(default_factory=list)
    """Signatures of other keys, or over other things."""


def findings(
    image: Image, attached: Attachments, keys: Sequence[Verifier], signed: Signed
) -> Iterator[Finding]:
    """Yield what is found of all that goes with an image, signatures first."""
    if keys:
        yield _signature(signed, attached, keys)
        if signed.by and signed.others:
            yield _told("MX353", "other signatures", signed.others)
    if not attached.any:
        return
    bad = [finding for kind in DOCUMENTS for finding in _document(image, attached, signed, kind)]
    yield from bad
    if not bad:
        yield Finding(
            code="MX340",
            outcome=Outcome.COMPATIBLE,
            subject="what goes with the image",
            found=f"{', '.join(kind.name for kind in DOCUMENTS)}: of this image and its lock",
        )
    attached.odd += _unsigned(attached, signed)
    if attached.odd or attached.passed_over:
        many = [f"{attached.passed_over} more, not read"] if attached.passed_over else []
        yield _told("MX343", "attached by somebody", [*attached.odd[:_MANY], *many])


def _unsigned(attached: Attachments, signed: Signed) -> Iterator[str]:
    """Yield the documents that others who look at a signed image find beside the signed ones."""
    for kind in DOCUMENTS:
        vouched = signed.documents.get(kind.name)
        for one in attached.documents.get(kind.name, ()) if signed.by else ():
            if vouched is None or one.digest != vouched.digest:
                yield f"{one.manifest}: another {kind.name} than the signed one"


def _told(code: str, subject: str, said: Sequence[str]) -> Finding:
    """Return what changes no verdict, and somebody may want to know."""
    more = [f"and {len(said) - _MANY} more"] if len(said) > _MANY + 1 else []
    shown = said[:_MANY] if more else said
    return Finding(
        code=code,
        outcome=Outcome.UNKNOWN,
        subject=subject,
        found="; ".join([*shown, *more]),
        advice=True,
    )


def signatures(image: str, attached: Attachments, keys: Sequence[Verifier]) -> Signed:
    """Return what the signatures of ``keys`` vouch for, and which other ones there are."""
    found = Signed()
    for document in attached.documents.get("signature", ()):
        try:
            enveloped = envelope.parse(document.content)
        except ValueError as error:
            attached.odd.append(f"{document.manifest}: {error}")
            continue
        _weigh(image, enveloped, keys, found)
    return found


def _weigh(image: str, enveloped: Envelope, keys: Sequence[Verifier], found: Signed) -> None:
    """Take what an envelope says for true if one of ``keys`` signed it, of this very image."""
    signed = envelope.signed_bytes(enveloped.payload)
    by = [key for key in keys if any(key.signed(signed, one.value) for one in enveloped.signatures)]
    if not by:
        # Nobody vouches for what it says: whose it claims to be is all there is to tell.
        names = {one.key or "a key without a name" for one in enveloped.signatures}
        found.others += sorted(f"by {name}" for name in names if f"by {name}" not in found.others)
        return
    try:
        said = provenance.parse(enveloped.payload)
    except ValueError as error:
        found.others.append(f"by {by[0].path}: {error}")
        return
    if said.subject != image:
        found.others.append(f"by {by[0].path}, for another image: {said.subject}")
    elif said.kind == VOUCHED:
        found.by += [key for key in by if key not in found.by]
        found.documents |= attachment.documents(said)


def _signature(signed: Signed, attached: Attachments, keys: Sequence[Verifier]) -> Finding:
    named = ", ".join(f"{key.path} ({key.key})" for key in keys)
    if signed.by:
        good = ", ".join(f"{key.path} ({key.key})" for key in signed.by)
        return Finding(
            code="MX350",
            outcome=Outcome.COMPATIBLE,
            subject="signature",
            found=f"by {good}, over the image's manifest",
        )
    none = not attached.documents.get("signature")
    found = "none is attached to the image" if none else "; ".join(signed.others[:_MANY])
    if attached.passed_over:
        found += f"; {attached.passed_over} of what is attached was not read"
    return Finding(
        code="MX351" if none else "MX352",
        outcome=Outcome.INCOMPATIBLE,
        subject="signature",
        found=found or "none that can be read",
        expected=f"by {named}",
        remedy=SIGN,
    )


def _document(image: Image, attached: Attachments, signed: Signed, kind: Kind) -> Iterator[Finding]:
    """Yield what is wrong with one document; the good one among several is enough."""
    vouched = signed.documents.get(kind.name)
    there = attached.documents.get(kind.name, [])
    contents = {one.digest: one.content for one in there}
    if vouched is not None:
        try:
            # By digest: a list of thousands may hide it, and whoever made the list can be anybody.
            if vouched.digest not in contents:
                contents = {vouched.digest: _fetched(image.source, vouched, kind)}
            contents = {vouched.digest: contents[vouched.digest]}
        except (EngineError, InvalidFile) as error:
            yield _missing(kind, f"the signed one cannot be read: {error}")
            return
    if not contents:
        yield _missing(kind, "not attached" if not there else "none that can be read")
        return
    flaws = {name: list(FLAWS[kind.name](content, image)) for name, content in contents.items()}
    if all(flaws.values()):
        name, said = next(iter(flaws.items()))
        more = f" and {len(said) - _MANY} more" if len(said) > _MANY else ""
        yield Finding(
            code="MX342",
            outcome=Outcome.INCOMPATIBLE,
            subject=kind.name,
            found=f"{name}: {'; '.join(said[:_MANY])}{more}",
            expected="to speak of this image and its lock",
            remedy=DISTRUST,
        )


def _fetched(source: Source, vouched: Vouched, kind: Kind) -> bytes:
    return _attached.content(source, vouched.digest, vouched.size, kind)


def _missing(kind: Kind, found: str) -> Finding:
    return Finding(
        code="MX341",
        outcome=Outcome.UNKNOWN,
        subject=kind.name,
        found=found,
        expected="to go with the image",
        remedy=ATTACH,
    )


def _lock(content: bytes, image: Image) -> Iterator[str]:
    if (found := digest(content)) != image.lock_digest:
        yield f"it is {found}, and the image was made from {image.lock_digest}"
    try:
        carried = locks.parse(content.decode(), context="lock")
    except (LockError, UnicodeDecodeError) as error:
        yield f"not a lock: {error}"
        return
    if carried != locks.without_image(image.lock):
        yield "another lock than the one that was named"


def _verdict(content: bytes, image: Image) -> Iterator[str]:
    if content != interior.verdict(image.lock):
        yield "another verdict than the lock relied upon"


def _sbom(content: bytes, image: Image) -> Iterator[str]:
    return sbom.flaws(content, image.lock, lock_digest=image.lock_digest)


def _provenance(content: bytes, image: Image) -> Iterator[str]:
    return provenance.flaws(
        content, image.lock, manifest=image.digest, lock_digest=image.lock_digest
    )


def _snapshot(content: bytes, image: Image) -> Iterator[str]:
    """Yield where the facts of the inside are not those of the lock."""
    try:
        inside = snapshots.from_json(content.decode(), context="snapshot")
    except (SnapshotError, UnicodeDecodeError) as error:
        yield f"not a snapshot: {error}"
        return
    present = _packages.of_snapshot(inside, image.lock.target.prefix)

    for finding in _packages.compare(image.lock, replace(present, gap="")):
        if finding.outcome is not Outcome.COMPATIBLE:
            yield f"{finding.subject}: {finding.found}, not {finding.expected}"


FLAWS: Mapping[str, Callable[[bytes, Image], Iterator[str]]] = {
    "lock": _lock,
    "snapshot": _snapshot,
    "verdict": _verdict,
    "sbom": _sbom,
    "provenance": _provenance,
}
"""By the name of the kind: how a document is held against the image."""
