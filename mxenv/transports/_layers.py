"""How questions are answered from the layers of an image that nobody runs."""

from __future__ import annotations

import io
import math
import re
import time
from contextlib import contextmanager
from dataclasses import field
from fnmatch import translate
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from mxenv.errors import HostUnreachable
from mxenv.facts import Absent, Unreadable, View
from mxenv.frozen import slotted
from mxenv.question import Answers, Env, File, Found, Glob, Part, Status
from mxenv.stores.description import describe
from mxenv.stores.unpacked import LARGEST, Node, Origin, Unpacked, Want, read
from mxenv.transports._awaited import awaited
from mxenv.transports._silent import of_an_image
from mxenv.transports._tree import Unanswered, Walker
from mxenv.transports._watched import Watch, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mxenv.question import Given, Question
    from mxenv.stores import ImageDescription, Source
    from mxenv.transports import Terms

_ALWAYS = re.compile(r"METADATA|.+\.pth")
"""What is asked for in later rounds, nearly always: keeping it saves reading it again."""
_OBJECTS = re.compile(
    r".*(?:"
    r"/(?:site|dist)-packages/(?!nvidia/)(?:[^/]+/){0,2}[^/]+\.so[^/]*"
    r"|/opt/(?:maca|mx|hpcc)[^/]*/(?:mxgpu_llvm/)?lib/[^/]+\.so[^/]*"
    r"|/lib[^/]*/(?:[^/]+/)?(?:ld-linux|lib(?:c|m|dl|rt|util|pthread|stdc\+\+|gcc_s|python3[^/]*)[.-])[^/]*"
    r"|/bin/python3[^/]*"
    r")"
)
"""Shared objects that are asked for in later rounds, where any are asked for: the same saving."""


def wanted(questions: Iterable[Question]) -> Callable[[str], Want]:
    """Return which paths may be asked for: by their last names, for links may lead anywhere."""
    names: set[str] = set()
    patterns: dict[str, None] = {}
    objects = False
    for question in questions:
        if of_an_image(question) is not None:
            continue
        match question:
            case File(part=Part.ELF) | Glob(part=Part.ELF):
                objects = True
            case File(path, part) if part is not Part.LINK:
                names.add(path.rpartition("/")[2])
            case Glob(pattern, part) if part is not None and part is not Part.LINK:
                patterns[translate(pattern.rpartition("/")[2])] = None
            case _:
                pass
    matches = re.compile("|".join(patterns) or r"(?!)").match

    def want(path: str) -> Want:
        if objects and _OBJECTS.fullmatch(path):
            return Want.FILE
        name = path.rpartition("/")[2]
        kept = name in names or matches(name) or _ALWAYS.fullmatch(name)
        return Want.CONTENT if kept else Want.NOTHING

    return want


@slotted
class LayerTree:
    """The files of an image, as `mxenv.transports._tree.Tree` asks for them."""

    files: Unpacked
    wanted: dict[Origin, Want] = field(default_factory=dict)
    """What was asked for, and not kept when the layers were read."""

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``, unless a layer that is missing may know better."""
        node = self.files.at(path)
        if node is None:
            self._whole()
            return None
        if digest := self.files.covered(node):
            raise Unanswered(_absent(digest))
        return Status(node.kind, node.size, node.mode)

    def readlink(self, path: str) -> str:
        """Return the text of a link."""
        return self._node(path).target

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory, which a missing layer would add to."""
        self._whole()
        return self._node(path).children

    def open(self, path: str) -> BinaryIO:
        """Open what was kept of a file; what was not is remembered, to be read again."""
        node = self._node(path)
        if self.files.spool.holds(node.origin):
            return self.files.spool.open(node.origin)
        if not self.files.holds(node):
            self._want(node, Want.CONTENT)
        return _Kept(self.files.contents[node.origin].data, node.size)

    def seekable(self, path: str) -> BinaryIO:
        """Open a file to read here and there in it; it lies on a disk meanwhile."""
        node = self._node(path)
        if not self.files.spool.holds(node.origin):
            self._want(node, Want.FILE)
        return self.files.spool.open(node.origin)

    def _want(self, node: Node, want: Want) -> NoReturn:
        known = self.wanted.get(node.origin, Want.NOTHING)
        if want in known:
            raise Unanswered("more than is kept of one image")
        self.wanted[node.origin] = known | want
        raise Unanswered("not kept")

    def _whole(self) -> None:
        if self.files.missing:
            raise Unanswered(_absent(next(iter(self.files.missing.values()))))

    def _node(self, path: str) -> Node:
        node = self.files.at(path)
        if node is None:
            raise Unanswered("is not there")
        return node


def _absent(digest: str) -> str:
    return f"layer {digest} is not there to be read"


class _Kept(io.BytesIO):
    """The first bytes of a file; it derives from `io.BytesIO` so that it is a file itself."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._cut = len(data) < size

    def read(self, size: int | None = -1, /) -> bytes:
        """Read on, but take the end of what was kept for no end of the file."""
        data = super().read(size)
        if self._cut and (size is None or size < 0 or len(data) < size):
            raise Unanswered(f"larger than {LARGEST} bytes")
        return data


@slotted(kw_only=True)
class LayerHost:
    """An image as something that answers; its layers are read when it is first asked."""

    source: Source
    description: ImageDescription
    watch: Watch = field(default_factory=lambda: Watch(math.inf, Event()))
    """Until when they may be read."""
    files: Unpacked | None = None
    """What the layers left, once they were read."""
    view: View = View.IMAGE

    @property
    def name(self) -> str:
        """The image as a user would name it."""
        return self.source.name

    @property
    def deadline(self) -> float:
        """When all has to be over."""
        return self.watch.end

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer every question; layers are read again only for what was not kept."""
        questions = tuple(questions)
        if self.files is None:
            want = wanted(questions)
            reading = partial(read, self.source, self.description, want, self._in_time)
            self.files = awaited(reading, self.watch, _late(self.source))
        tree = LayerTree(self.files)
        answers = self._answers(tree, questions)
        if tree.wanted:
            awaited(partial(self.files.fetch, tree.wanted), self.watch, _late(self.source))
            answers = self._answers(tree, questions)
        return answers

    def _in_time(self) -> None:
        if not self.watch.left():
            raise _late(self.source)

    def _answers(self, tree: LayerTree, questions: Iterable[Question]) -> Answers:
        walker = Walker(tree, seekable=tree.seekable)
        return Answers({question: self._answer(walker, question) for question in questions})

    def _answer(self, walker: Walker, question: Question) -> Given:
        said = self._beside(question)
        if said is not None:
            return said
        try:
            return walker.answer(question)
        except RecursionError:
            # Links through links, each with a long way to go: somebody made them on purpose.
            return Unreadable("its links are nested too deep")

    def _beside(self, question: Question) -> Given | None:
        if isinstance(question, Env):
            return self._variable(question.name)
        return of_an_image(question)

    def _variable(self, name: str) -> Given:
        """Return a variable that every container of the image starts with."""
        config = self.description.configuration.get("config")
        entries = config.get("Env") if isinstance(config, dict) else None
        if entries is not None and not isinstance(entries, list):
            return Unreadable("the image's configuration has an Env that is no list")
        for entry in entries or ():
            if str(entry).partition("=")[0] == name:
                return Found(str(entry).partition("=")[2])
        return Absent()


def _late(source: Source) -> HostUnreachable:
    # A part of the layers says nothing: those above may take anything away.
    return HostUnreachable(
        "it could not be read in time", context=source.name, hint="--timeout gives it more"
    )


@contextmanager
def opened(source: Source, terms: Terms) -> Iterator[LayerHost]:
    """Open an image to be asked; its manifest and configuration are read now."""
    seconds = math.inf if terms.seconds is None else terms.seconds
    watch = until(time.monotonic() + seconds, terms.stop)
    description = awaited(partial(describe, source, ""), watch, _late(source))
    host = LayerHost(source=source, description=description, watch=watch)
    try:
        yield host
    finally:
        if host.files is not None:
            host.files.spool.close()
