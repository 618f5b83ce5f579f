"""How a registry lists what speaks of an image: by itself, or by a tag that clients keep."""

from __future__ import annotations

import random
import time
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.errors import RegistryError
from mxenv.frozen import frozen
from mxenv.stores import OCI_INDEX, Descriptor, _documents, _referrers
from mxenv.stores._bodies import small_body
from mxenv.stores._digests import printable

if TYPE_CHECKING:
    import requests

    from mxenv.stores._client import Client
    from mxenv.stores._reference import Reference

OK, CREATED, NOT_FOUND = 200, 201, 404
_NO_LIST = frozenset({NOT_FOUND, 405, 501})
"""What a registry answers that keeps no list: the first by the specification, all in practice."""

_ACCEPT = {"Accept": OCI_INDEX}

ROUNDS = 16
"""How often the tag is written before others who write it at the same time have won."""
_PAGES = 100
"""How many pages of a list are read: a registry that goes on and on has lost its way."""
_SETTLED = (0.25, 3.0)
"""Seconds, at least and at most, that another writer is given to write what it has read."""


@frozen
class Listing:
    """What speaks of the images of one repository."""

    reference: Reference
    client: Client
    ours: dict[str, dict[Descriptor, None]] = field(default_factory=dict)
    """What was attached to each image here, by its digest: the list must have it in the end."""

    def read(self, digest: str) -> tuple[Descriptor, ...]:
        """Return what the registry lists, or else what the tag does."""
        target = f"/v2/{self.reference.repository}/referrers/{digest}"
        found: dict[Descriptor, None] = {}
        for _ in range(_PAGES):
            response, content = self._get(target, "pull")
            if response.status_code in _NO_LIST:
                response.close()
                tagged, _ = self._tagged(digest, "pull")
                listed = () if tagged is None else _referrers.listed(tagged, self._complain(digest))
                return tuple(sorted(listed, key=lambda one: one.digest))
            if response.status_code != OK:
                raise self.client.refusal(f"cannot list what speaks of {digest}", response)
            found |= dict.fromkeys(_referrers.listed(content, self._complain(digest)))
            target = response.links.get("next", {}).get("url", "")
            if not target:
                return tuple(sorted(found, key=lambda one: one.digest))
        raise self._complain(digest)(f"goes on after {_PAGES} pages")

    def add(self, digest: str, *entries: Descriptor) -> None:
        """Put ``entries`` into the list that the tag names, and see that they stay there.

        Who reads, adds and writes may undo what another wrote meanwhile. So the tag is written
        only over what was read, for a registry that knows conditions; and read again when another
        who had read the same has had the time to write it, for one that does not.
        """
        self.ours.setdefault(digest, {}).update(dict.fromkeys(entries))
        for number in range(ROUNDS):
            begun = time.monotonic()
            content, etag = self._tagged(digest, "push")
            if not self._missing(content, digest):
                return
            joined = _referrers.joined(content, self.ours[digest], self._complain(digest))
            if self._put(digest, joined, etag) and self._settled(joined, digest, begun):
                return
            # Two that collided once would do so again if they kept in step.
            self.client.sleep(random.uniform(0.0, min(1.0, 0.05 * 2**number)))  # noqa: S311 - no secret
        raise RegistryError(
            f"others write the list of what speaks of {digest} all the time",
            context=self.reference.place,
            hint="try again when they are done",
        )

    def _settled(self, ours: bytes, digest: str, begun: float) -> bool:
        """Return whether our part of the list is there once nobody changes it any more."""
        wait = min(max((time.monotonic() - begun) * 1.5, _SETTLED[0]), _SETTLED[1])
        for _ in range(ROUNDS):
            self.client.sleep(wait)
            content, _ = self._tagged(digest, "push")
            if self._missing(content, digest):
                return False
            if content == ours:
                return True
            ours = content or b""
        return True

    def _missing(self, content: bytes | None, digest: str) -> bool:
        """Return whether the list lacks anything of ours."""
        there = () if content is None else _referrers.listed(content, self._complain(digest))
        return not {one.digest for one in self.ours[digest]} <= {one.digest for one in there}

    def _tagged(self, digest: str, scope: str) -> tuple[bytes | None, str]:
        """Return the list that the tag names, if there is one, and how its state is called."""
        tag = _referrers.fallback_tag(digest)
        target = f"/v2/{self.reference.repository}/manifests/{tag}"
        response, content = self._get(target, scope)
        if response.status_code == NOT_FOUND:
            response.close()
            return None, ""
        if response.status_code != OK:
            raise self.client.refusal(f"no {self.reference.repository} {tag}", response)
        return content, response.headers.get("ETag", "")

    def _put(self, digest: str, content: bytes, etag: str) -> bool:
        """Write the list; return whether it was still what had been read."""
        target = f"/v2/{self.reference.repository}/manifests/{_referrers.fallback_tag(digest)}"
        # A weak one says of two states that they are much the same: no condition is met by it.
        condition = {"If-Match": etag} if etag and not etag.startswith("W/") else {}
        headers = {"Content-Type": OCI_INDEX, **condition}
        refused = f"{self.reference.place} did not take the list of what speaks of {digest}"
        response = self.client.put(target, content, headers, refused)
        response.close()
        return response.status_code == CREATED

    def _get(self, target: str, scope: str) -> tuple[requests.Response, bytes]:
        content = b""

        def fetch() -> requests.Response:
            nonlocal content
            response = self.client.call("GET", target, scope=scope, headers=_ACCEPT)
            if response.status_code == OK:
                content = small_body(response)
            return response

        return self.client.attempt(fetch), content

    def _complain(self, digest: str) -> _documents.Complain:
        tag = _referrers.fallback_tag(digest)

        def complain(message: str) -> RegistryError:
            return RegistryError(printable(message), context=f"{self.reference.place}:{tag}")

        return complain
