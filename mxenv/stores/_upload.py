"""A blob on its way into a registry, in as many requests as it takes."""

from __future__ import annotations

import io
import re
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlencode

from mxenv.errors import LayoutError, RegistryError
from mxenv.stores._bodies import Passing
from mxenv.stores._digests import printable
from mxenv.stores._words import last_word

if TYPE_CHECKING:
    from collections.abc import Callable

    import requests

    from mxenv.stores import Descriptor
    from mxenv.stores._client import Client
    from mxenv.stores._reference import Reference

CHUNK = 16 << 20
"""Bytes that are sent at once, and kept until the registry has them."""
LARGEST_CHUNK = 256 << 20
"""Bytes; a registry that wants larger pieces gets the blob in one request."""
_SPEED = 20_000_000
"""Bytes per second that a registry hashes at the least, before it says that a blob is there."""
_BLOB = {"Content-Type": "application/octet-stream"}

OK, CREATED, ACCEPTED, NO_CONTENT = 200, 201, 202, 204
BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, RANGE = 400, 401, 403, 404, 416


def upload(
    client: Client,
    reference: Reference,
    descriptor: Descriptor,
    open_blob: Callable[[], BinaryIO],
    chunk: int = CHUNK,
) -> None:
    """Store a blob; one larger than ``chunk`` goes in pieces, and goes on where it broke."""
    with closing(Feed(descriptor=descriptor, open_blob=open_blob)) as feed:
        going = Upload(
            client=client, reference=reference, descriptor=descriptor, feed=feed, chunk=chunk
        )
        if descriptor.size <= chunk:
            content = feed.piece(0, descriptor.size)
            going.at_once(lambda: io.BytesIO(content))
        elif not going.in_pieces():
            feed.close()
            going.at_once(open_blob)


@dataclass(slots=True, kw_only=True)
class Feed:
    """What is sent, piece by piece; the last piece is kept, in case it did not arrive."""

    descriptor: Descriptor
    open_blob: Callable[[], BinaryIO]
    _stream: BinaryIO | None = None
    _at: int = 0
    """Where the stream stands: behind the piece that is kept."""
    _kept: bytes = b""

    def piece(self, start: int, length: int) -> bytes:
        """Return ``length`` bytes from ``start`` on, or what was kept of them."""
        size = self.descriptor.size
        if self._at - len(self._kept) <= start < self._at:
            return self._kept[start - self._at :]
        if self._stream is None or start != self._at:
            self.close()
            self._stream = self.open_blob()
            for skipped in range(0, start, CHUNK):
                self._read(min(CHUNK, start - skipped))
        self._kept = b""
        self._kept = self._read(length)
        # Only who reads past the end learns whether all of it was as it should be.
        if self._at == size and self._stream.read(1):
            raise LayoutError(f"{self.descriptor.digest} has more than {size} bytes")
        return self._kept

    def _read(self, length: int) -> bytes:
        pieces = []
        left = length
        while left and self._stream is not None and (data := self._stream.read(left)):
            pieces.append(data)
            left -= len(data)
        self._at += length - left
        if left:
            raise LayoutError(
                f"{self.descriptor.digest} has {self._at} bytes, not {self.descriptor.size}"
            )
        return b"".join(pieces)

    def close(self) -> None:
        """Let go of the stream, and of what was kept."""
        if self._stream is not None:
            self._stream.close()
        self._stream, self._at, self._kept = None, 0, b""


@dataclass(slots=True, kw_only=True)
class Upload:
    """One blob and how far it got."""

    client: Client
    reference: Reference
    descriptor: Descriptor
    feed: Feed
    chunk: int
    _location: str = ""
    """Where the registry wants what comes next; empty before it was asked."""
    _at: int = 0
    """How much of the blob the registry has."""
    _unsure: bool = field(default=False)
    """Whether it has to be asked how much it has."""
    _resumed: bool = field(default=False)
    _most: int = 0
    """How much of it the registry ever had."""
    _least: int = 0
    """How large the registry wants pieces to be."""

    def in_pieces(self) -> bool:
        """Send piece after piece; return false if the registry takes only all at once."""
        failures = 0
        while True:
            try:
                if self._location and self._unsure:
                    self._ask()
                if not self._location:
                    self._begin()
                while self._at < self.descriptor.size:
                    if self._least > LARGEST_CHUNK or not self._send():
                        self._abandon()
                        return False
                    # Only what it never had before is progress: a line may always break there.
                    failures = 0 if self._at > self._most else failures
                    self._most = max(self._most, self._at)
                self._finish()
            except Passing as failure:
                failures += 1
                self._unsure = True
                self.client.pause(failures, failure)
            else:
                return True

    def at_once(self, open_blob: Callable[[], BinaryIO]) -> None:
        """Send all of it in one request; a failed attempt starts again from nothing."""

        def attempt() -> requests.Response:
            self._begin()
            return self._close(body=(open_blob, self.descriptor.size))

        self._check(self.client.attempt(attempt))

    def _begin(self) -> None:
        """Have the registry make room for a blob."""
        target = f"/v2/{self.reference.repository}/blobs/uploads/"
        response = self.client.call("POST", target, scope="push")
        location = response.headers.get("Location", "")
        if response.status_code != ACCEPTED or not location:
            raise self._refused(response)
        response.close()
        self._location, self._at, self._unsure, self._resumed = location, 0, False, False
        least = response.headers.get("OCI-Chunk-Min-Length", "")
        self._least = int(least) if least.isascii() and least.isdecimal() else 0

    def _send(self) -> bool:
        """Send the next piece; return false if the registry takes none."""
        chunk = max(self.chunk, self._least)
        data = self.feed.piece(self._at, min(self.descriptor.size - self._at, chunk))
        end = self._at + len(data)
        response = self.client.call(
            "PATCH",
            self._location,
            scope="push",
            headers={**_BLOB, "Content-Range": f"{self._at}-{end - 1}"},
            body=(lambda: io.BytesIO(data), len(data)),
        )
        match response.status_code:
            case 202 | 204 | 201 | 200:
                response.close()
                self._moved(response, end, before=self._at)
            case 404 if self._at:
                self._lost(last_word(response))
            case 416:
                raise Passing(last_word(response))
            case 401 | 403:
                raise self._refused(response)
            case _:
                response.close()
                return False
        return True

    def _ask(self) -> None:
        """Ask how much the registry has of it."""
        response = self.client.call("GET", self._location, scope="push")
        response.close()
        if response.status_code in {OK, ACCEPTED, NO_CONTENT} and response.headers.get("Range"):
            self._moved(response, self.descriptor.size, before=-1)
            self._unsure, self._resumed = False, True
        else:
            self._location = ""

    def _moved(self, response: requests.Response, end: int, *, before: int) -> None:
        """Note where the registry stands: at ``end`` at most, and farther than ``before``."""
        self._location = response.headers.get("Location", "") or self._location
        told = response.headers.get("Range", "")
        found = re.fullmatch(r"(?:bytes=)?0-([0-9]{1,18})", told.strip())
        # One byte and none are written the same way, and a registry hardly ever has one.
        at = end if found is None else int(found[1]) + 1 if int(found[1]) else 0
        if not before < at <= min(end, self.descriptor.size):
            self._lost(f"has {printable(told)} of what ends at {end}")
        self._at = at

    def _lost(self, word: str) -> None:
        """Begin anew: what the registry has is not what was sent."""
        self._location = ""
        raise Passing(word)

    def _finish(self) -> None:
        """Have the registry put the pieces together."""
        response = self._close(body=None)
        if response.status_code == NOT_FOUND:
            word = last_word(response)
            response.close()
            # The answer to an attempt before this one may have been what was lost.
            if not self._there():
                self._lost(word)
            return
        if response.status_code in {BAD_REQUEST, RANGE} and self._resumed:
            self._lost(last_word(response))
        self._check(response)

    def _close(self, body: tuple[Callable[[], BinaryIO], int] | None) -> requests.Response:
        joint = "&" if "?" in self._location else "?"
        return self.client.call(
            "PUT",
            f"{self._location}{joint}{urlencode({'digest': self.descriptor.digest})}",
            scope="push",
            headers=_BLOB,
            body=body,
            patience=self.descriptor.size / _SPEED,
        )

    def _check(self, response: requests.Response) -> None:
        """See that the blob was taken, and for what it is."""
        if response.status_code != CREATED:
            raise self._refused(response)
        response.close()
        told = response.headers.get("Docker-Content-Digest", self.descriptor.digest)
        if told != self.descriptor.digest:
            raise RegistryError(
                f"stored {printable(told)} for {self.descriptor.digest}",
                context=self.reference.place,
            )

    def _there(self) -> bool:
        target = f"/v2/{self.reference.repository}/blobs/{self.descriptor.digest}"
        response = self.client.call("HEAD", target, scope="push")
        response.close()
        return response.status_code == OK

    def _refused(self, response: requests.Response) -> Exception:
        what = f"{self.reference.place} did not take {self.descriptor.digest}"
        return self.client.refusal(what, response)

    def _abandon(self) -> None:
        abandon(self.client, self._location)
        self._location = ""


def abandon(client: Client, location: str) -> None:
    """Tell the registry that an upload does not go on; it may do with that as it likes."""
    if location:
        with suppress(RegistryError, Passing):
            client.call("DELETE", location, scope="push").close()
