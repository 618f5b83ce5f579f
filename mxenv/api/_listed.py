"""A base as its record tells it: an image that can be described, a host that knows every path."""

from __future__ import annotations

import hashlib
import io
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from mxenv.base_record import AGAIN
from mxenv.errors import InvalidFile
from mxenv.facts import View
from mxenv.question import Answers, Status
from mxenv.stores import Descriptor
from mxenv.stores.description import describe
from mxenv.transports._tree import Unanswered, Walker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.base_record import Record
    from mxenv.listing import Listing
    from mxenv.question import Question
    from mxenv.stores import ImageDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSource:
    """A base as its record tells it; its layers are not here."""

    record: Record
    name: str

    def manifest(self, platform: str) -> tuple[Descriptor, bytes]:
        """Return the manifest, which was compared with its digest when the record was read."""
        told = self.record.told
        if platform != told.platform:
            raise InvalidFile(f"is for {told.platform}, not for {platform}", context=self.name)
        size = len(told.manifest)
        found = Descriptor(media_type=told.media_type, digest=told.base, size=size)
        return found, told.manifest

    @contextmanager
    def blob(self, descriptor: Descriptor) -> Iterator[BinaryIO]:
        """Open the configuration."""
        content = self.record.told.configuration
        if f"sha256:{hashlib.sha256(content).hexdigest()}" != descriptor.digest:
            raise InvalidFile(f"does not hold {descriptor.digest}", context=self.name, hint=AGAIN)
        yield io.BytesIO(content)


def description_of(record: Record, name: str) -> ImageDescription:
    """Return what the base says of itself."""
    return describe(RecordedSource(record=record, name=name), record.told.platform)  # type: ignore[arg-type] # asked for no more


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHost:
    """A base as something that says what lies where; it knows the content of no file."""

    listing: Listing
    name: str
    view: View = View.IMAGE

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer every question about paths."""
        walker = Walker(_Tree(self.listing))
        return Answers({question: walker.answer(question) for question in questions})


@dataclass(frozen=True, slots=True)
class _Tree:
    """The paths of an image, as `mxenv.transports._tree.Tree` asks for them."""

    listing: Listing

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``."""
        place = self.listing.at(path)
        return None if place is None else Status(place.kind, place.size, place.mode)

    def readlink(self, path: str) -> str:
        """Return the text of a link."""
        place = self.listing.at(path)
        return place.target if place else ""

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory."""
        return self.listing.names(path)

    def open(self, path: str) -> BinaryIO:  # noqa: ARG002 - a tree is asked so
        """Say that no content is known."""
        raise Unanswered("its content is not in the record of the base")
