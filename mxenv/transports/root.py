"""A root file system in a directory: a mounted disk, an unpacked image, a chroot."""

from __future__ import annotations

import math
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv.errors import UsageError
from mxenv.facts import View
from mxenv.frozen import frozen
from mxenv.transports import Transport
from mxenv.transports._disk import DiskTree
from mxenv.transports._silent import of_an_image
from mxenv.transports._tree import answer
from mxenv.transports._watched import WatchedTree, until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.probe import Host
    from mxenv.question import Answers, Question
    from mxenv.transports import Terms


@frozen(kw_only=False)
class RootHost:
    """The files below a directory; every link in them stays below it."""

    name: str
    tree: WatchedTree
    view: View = View.IMAGE

    @property
    def deadline(self) -> float:
        """When all has to be over."""
        return self.tree.watch.end

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer from the files; nothing is run, and nothing is said about a node."""
        return answer(self.tree, questions, of_an_image)


@contextmanager
def _open(rest: str, terms: Terms) -> Iterator[Host]:
    if not rest:
        raise UsageError("'root:' names no directory", hint="say root:DIR")
    path = Path(rest)
    if not path.is_dir():
        raise UsageError("not a directory", context=f"root:{rest}", hint="say root:DIR")
    real = path.resolve()
    tree = DiskTree("" if real == Path("/") else os.fspath(real))
    seconds = math.inf if terms.seconds is None else terms.seconds
    watch = until(time.monotonic() + seconds, terms.stop)
    yield RootHost(real.name or "/", WatchedTree(tree, watch))


TRANSPORT = Transport(title="a root file system in a directory", address="DIR", open=_open)
