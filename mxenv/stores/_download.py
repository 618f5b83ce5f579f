"""A blob as it comes from a registry, over as many connections as it takes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import urllib3

from mxenv.errors import RegistryError
from mxenv.stores._client import ATTEMPTS, Client
from mxenv.stores._words import reason

if TYPE_CHECKING:
    import requests

    from mxenv.stores import Descriptor
    from mxenv.stores._reference import Reference

_CHUNK = 1 << 18
_FAR = 4 << 20
"""Bytes; a connection that brought so many has been of use."""

OK, PARTIAL = 200, 206


class Download(io.RawIOBase):
    """A blob as it comes; it derives from `io.RawIOBase` so that it can be buffered."""

    def __init__(self, *, client: Client, reference: Reference, descriptor: Descriptor) -> None:
        self._client = client
        self._target = f"/v2/{reference.repository}/blobs/{descriptor.digest}"
        self._descriptor = descriptor
        self._at = 0
        self._response: requests.Response | None = None
        self._broken = 0
        self._broke_at = 0

    def readable(self) -> bool:
        """Return true: reading is all that can be done."""
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Read on, over as many connections as it takes within reason."""
        while True:
            try:
                if self._response is None:
                    self._response = self._open()
                data = self._response.raw.read(len(buffer))
                if data or self._at >= self._descriptor.size:
                    break
                word = f"ended after {self._at} of {self._descriptor.size} bytes"
            except (urllib3.exceptions.HTTPError, OSError) as error:
                word = reason(error)
            self._again(word)
        self._at += len(data)
        buffer[: len(data)] = data
        return len(data)

    def _again(self, word: str) -> None:
        # Who gets far between two breaks gets there: only those without progress are counted.
        self._broken = 1 if self._at - self._broke_at >= _FAR else self._broken + 1
        self._broke_at = self._at
        if self._response is not None:
            self._response.close()
        self._response = None
        if self._broken >= ATTEMPTS:
            raise RegistryError(
                f"{self._descriptor.digest} broke off {self._broken} times: {word[:200]}",
                context=self._client.host,
            )
        self._client.sleep(0.5 * 2 ** (self._broken - 1))

    def _open(self) -> requests.Response:
        headers = {"Range": f"bytes={self._at}-"} if self._at else {}
        response = self._client.attempt(
            lambda: self._client.call("GET", self._target, scope="pull", headers=headers)
        )
        if response.status_code == PARTIAL and self._at:
            start = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")
            if start[0] == str(self._at):
                return response
        elif response.status_code == OK:
            self._skip(response)
            return response
        raise self._client.refusal(f"no blob {self._descriptor.digest}", response)

    def _skip(self, response: requests.Response) -> None:
        """Pass over what was read already, for a registry that knows no ranges."""
        left = self._at
        while left and (data := response.raw.read(min(left, _CHUNK))):
            left -= len(data)

    def close(self) -> None:
        """Let the connection go."""
        if self._response is not None:
            self._response.close()
        super().close()
