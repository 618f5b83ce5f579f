"""Images in a registry: the OCI distribution interface."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlencode

from mxenv.errors import RegistryError
from mxenv.frozen import frozen
from mxenv.stores import INDEXES, MANIFESTS, OCI_MANIFEST, Descriptor, _documents, _referrers
from mxenv.stores._attaching import Listing
from mxenv.stores._bodies import Passing, small_body
from mxenv.stores._client import Client
from mxenv.stores._digests import checked, digest_of, printable
from mxenv.stores._download import Download
from mxenv.stores._reference import Reference, parse
from mxenv.stores._upload import CHUNK, abandon, upload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import requests

    from mxenv.stores import Source

_ACCEPT = ", ".join(sorted(INDEXES | MANIFESTS))
_CHUNK = 1 << 18

OK, CREATED, ACCEPTED, NOT_FOUND = 200, 201, 202, 404


def open_source(reference: str, *, client: Client | None = None) -> RegistrySource:
    """Return the image that ``host[:port]/repository[:tag][@digest]`` names; ask nothing yet."""
    named = parse(reference)
    return RegistrySource(reference=named, client=client or _client(named))


def open_sink(reference: str, *, client: Client | None = None) -> RegistrySink:
    """Return the repository that ``reference`` names, to be written; nothing is sent yet."""
    named = parse(reference)
    client = client or _client(named)
    listing = Listing(reference=named, client=client)
    return RegistrySink(reference=named, client=client, listing=listing)


def _client(reference: Reference) -> Client:
    return Client(host=reference.host, environ=os.environ)


@frozen
class RegistrySource:
    """One image in a registry."""

    reference: Reference
    client: Client

    @property
    def name(self) -> str:
        """The image as a user would name it."""
        return str(self.reference)

    def manifest(self, platform: str) -> tuple[Descriptor, bytes]:
        """Return the manifest for ``platform``, its bytes verified."""
        top, content = self._manifest(self.reference.name)
        read = {top.digest: content}

        def fetch(descriptor: Descriptor) -> bytes:
            if descriptor.digest not in read:
                read[descriptor.digest] = self._manifest(descriptor.digest)[1]
            return read[descriptor.digest]

        return _documents.resolve(top, fetch, platform, self._complain)

    def blob(self, descriptor: Descriptor) -> AbstractContextManager[BinaryIO]:
        """Open a blob as a stream; a connection that breaks is taken up where it broke."""
        raw = Download(client=self.client, reference=self.reference, descriptor=descriptor)
        stream = io.BufferedReader(raw, _CHUNK)

        def complain(message: str) -> RegistryError:
            return RegistryError(f"{descriptor.digest} {message}", context=self.reference.place)

        return checked(stream, descriptor, complain)

    def has(self, digest: str) -> bool:
        """Return whether a blob is there, reading none of it."""
        return _has(self.client, self.reference, digest, "pull")

    def manifest_of(self, digest: str) -> bytes:
        """Return the manifest with this digest, as a referrer has one, its bytes verified."""
        return self._manifest(digest)[1]

    def referrers(self, digest: str) -> tuple[Descriptor, ...]:
        """Return what speaks of an image: what the registry lists, or else the tag for it."""
        return Listing(reference=self.reference, client=self.client).read(digest)

    def _complain(self, message: str) -> RegistryError:
        return RegistryError(printable(message), context=self.name)

    def _manifest(self, name: str) -> tuple[Descriptor, bytes]:
        """Return one manifest or index, compared with its digest if that is what was asked for."""
        content = b""
        kind = ""

        def fetch() -> requests.Response:
            nonlocal content, kind
            response = self.client.call(
                "GET",
                f"/v2/{self.reference.repository}/manifests/{name}",
                scope="pull",
                headers={"Accept": _ACCEPT},
            )
            if response.status_code == OK:
                content = small_body(response)
                kind = response.headers.get("Content-Type", "")
                expected = name if name.startswith("sha256:") else digest_of(content)
                if digest_of(content) != expected:
                    raise Passing(f"sent {digest_of(content)} for {expected}")
            return response

        response = self.client.attempt(fetch)
        if response.status_code != OK:
            raise self.client.refusal(f"no {self.reference.repository} {name}", response)
        found = Descriptor(
            media_type=_documents.media_type(content, kind, self._complain),
            digest=digest_of(content),
            size=len(content),
        )
        return found, content


def _has(client: Client, reference: Reference, digest: str, scope: str) -> bool:
    target = f"/v2/{reference.repository}/blobs/{digest}"
    response = client.attempt(lambda: client.call("HEAD", target, scope=scope))
    response.close()
    if response.status_code in {OK, NOT_FOUND}:
        return response.status_code == OK
    raise client.refusal(f"cannot look for {digest}", response)


@frozen
class RegistrySink:
    """A repository that is written to."""

    reference: Reference
    client: Client
    listing: Listing
    chunk: int = CHUNK
    """Blobs that are larger go in pieces of so many bytes."""

    def has(self, digest: str) -> bool:
        """Return whether a blob is there."""
        return _has(self.client, self.reference, digest, "push")

    def named(self, name: str) -> frozenset[str]:
        """Return the blobs of the image under ``name``: a registry keeps them as long as that.

        Nothing is known where there is none, or something else; a wrong answer costs a question.
        """
        target = f"/v2/{self.reference.repository}/manifests/{name}"
        content = b""

        def fetch() -> requests.Response:
            nonlocal content
            headers = {"Accept": OCI_MANIFEST}
            response = self.client.call("GET", target, scope="push", headers=headers)
            if response.status_code == OK:
                content = small_body(response)
            return response

        response = self.client.attempt(fetch)
        response.close()
        try:
            document = _documents.parse(content, self._complain)
            values = _documents.entries(document, "layers", self._complain)
            return frozenset(
                _documents.descriptor(value, self._complain, "layers").digest for value in values
            )
        except RegistryError:
            return frozenset()

    def mount(self, descriptor: Descriptor, source: Source) -> bool:
        """Have the registry take a blob from another of its repositories, if that is its own."""
        if not isinstance(source, RegistrySource) or source.reference.host != self.reference.host:
            return False
        if source.reference.repository == self.reference.repository:
            return self.has(descriptor.digest)
        query = {"mount": descriptor.digest, "from": source.reference.repository}
        scope = f"push, pull {source.reference.repository}"
        target = f"/v2/{self.reference.repository}/blobs/uploads/?{urlencode(query)}"
        response = self.client.attempt(lambda: self.client.call("POST", target, scope=scope))
        response.close()
        if response.status_code == ACCEPTED:
            # A registry that does not mount begins an upload instead.
            abandon(self.client, response.headers.get("Location", ""))
        return response.status_code == CREATED

    def write(self, descriptor: Descriptor, open_blob: Callable[[], BinaryIO]) -> None:
        """Upload a blob: a large one in pieces, and from where it broke if it did."""
        upload(self.client, self.reference, descriptor, open_blob, self.chunk)

    def tag(self, manifest: bytes, media_type: str, name: str) -> str:
        """Put a manifest under ``name``, or by its digest alone; return its digest."""
        return self._put(manifest, media_type, name)[0]

    def attach(self, manifest: bytes, subject: Descriptor) -> str:
        """Put a manifest that speaks of ``subject``; a registry that keeps no list gets the tag."""
        self.attach_all((manifest,), subject)
        return digest_of(manifest)

    def attach_all(self, manifests: Sequence[bytes], subject: Descriptor) -> None:
        """Put several that speak of ``subject``, and all of them into the list at once."""
        unlisted = []
        for manifest in manifests:
            entry = _referrers.entry(manifest, subject, self._complain)
            _, listed = self._put(manifest, entry.media_type, "")
            if listed != subject.digest:
                unlisted.append(entry)
        if unlisted:
            self.listing.add(subject.digest, *unlisted)

    def _put(self, manifest: bytes, media_type: str, name: str) -> tuple[str, str]:
        """Put a manifest; return its digest, and that of what the registry knows it to speak of."""
        digest = digest_of(manifest)
        target = f"/v2/{self.reference.repository}/manifests/{name or digest}"
        refused = f"{self.reference.place} did not take the manifest"
        response = self.client.put(target, manifest, {"Content-Type": media_type}, refused)
        response.close()
        told = response.headers.get("Docker-Content-Digest", digest)
        if told != digest:
            raise RegistryError(
                f"stored {printable(told)} for {digest}", context=self.reference.place
            )
        return digest, response.headers.get("OCI-Subject", "")

    def _complain(self, message: str) -> RegistryError:
        return RegistryError(printable(message), context=self.reference.place)
