"""What is sent to a registry and comes from it besides headers, and how that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import urllib3

from mxenv.errors import LayoutError
from mxenv.frozen import frozen
from mxenv.stores._documents import LARGEST
from mxenv.stores._words import reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import requests

_PIECE = 1 << 18

Body = tuple["Callable[[], BinaryIO]", int]
"""How to open what is sent, for every attempt anew, and how long it is."""


@frozen
class Ask:
    """What is asked, wherever a redirect leads."""

    method: str
    scope: str
    headers: Mapping[str, str]
    body: Body | None
    patience: float


class Passing(Exception):
    """An attempt failed in a way that the next may not."""

    def __init__(self, word: str, wait: float | None = None) -> None:
        """Keep the registry's ``word`` and how long it asked to be left alone."""
        super().__init__(word)
        self.word = word
        self.wait = wait


class Sized:
    """A body with a length, so that it is sent with one."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        """Take a stream that holds ``size`` bytes."""
        self._stream = stream
        self._size = size
        self._at = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        while data := self.read(1 << 16):
            yield data

    def read(self, size: int = -1) -> bytes:
        """Read on; what is shorter than it was said to be would be waited for without end."""
        # Larger pieces than `http.client` asks for: it has no reason for 16 KiB.
        data = self._stream.read(max(size, _PIECE) if size >= 0 else size)
        self._at += len(data)
        if self._at > self._size or (not data and self._at < self._size):
            more = "" if self._at < self._size else "more than "
            raise LayoutError(f"what is sent has {more}{min(self._at, self._size)} bytes")
        return data


def small_body(response: requests.Response) -> bytes:
    """Return a small body, whole."""
    content = b""
    try:
        # Only a read that finds nothing tells an end from a connection that broke.
        while len(content) <= LARGEST and (data := response.raw.read(_PIECE)):
            content += data
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise Passing(f"broke off: {reason(error)}") from error
    finally:
        response.close()
    if len(content) > LARGEST:
        raise Passing("sent more than any manifest needs")
    return content
