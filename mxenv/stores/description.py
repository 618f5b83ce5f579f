"""What an image says of itself, wherever it lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.errors import LayoutError
from mxenv.stores import _documents
from mxenv.stores._digests import printable

if TYPE_CHECKING:
    from mxenv.stores import Descriptor, ImageDescription, Source


def describe(source: Source, platform: str) -> ImageDescription:
    """Return the manifest and configuration of the image for ``platform``; no layer is read."""

    def complain(message: str) -> LayoutError:
        return LayoutError(printable(message), context=source.name)

    def read(descriptor: Descriptor) -> bytes:
        with source.blob(descriptor) as stream:
            return stream.read()

    return _documents.describe(source.manifest(platform), read, platform, complain)
