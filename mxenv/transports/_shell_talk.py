"""One conversation with a shell on a node: blocks of items are sent, sections come back."""

from __future__ import annotations

import secrets
import time
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.frozen import frozen, slotted
from mxenv.transports._commands import DIRECTORIES
from mxenv.transports._outputs import FLOOD, OUTPUT_LIMIT
from mxenv.transports._parts import FIELDS
from mxenv.transports._shell_commands import Board
from mxenv.transports._shell_script import (
    FEW,
    HELLO,
    LATER,
    LIBRARY,
    PROGRAMS,
    UTILITIES,
    fill,
    quote,
)
from mxenv.transports._watched import LATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mxenv.transports._shell_pipe import Pipe
    from mxenv.transports._watched import Watch

TICK = 0.1
"""Seconds between two looks at what is late."""
STALL = 3.0
"""Seconds without a byte after which an item hangs, as on a dead network mount."""
LAST = 0.2
"""Seconds for the reason why a connection has ended."""
HEARD = ("name", "number", "MACA_PATH", "LD_LIBRARY_PATH")
"""What a shell says of itself at first."""
SILENT = "the connection has ended without a word"
END = "."
LONGEST = 1 << 17
"""Bytes of noise before the shell's first word that are kept to find it in."""


@frozen(kw_only=False)
class Item:
    """One line for the shell, and how many seconds it may be silent."""

    line: str
    silent: float = STALL


@frozen(kw_only=False)
class Sections:
    """What came for one item: what the shell itself printed, then its parts by their signs."""

    parts: dict[str, bytes]

    def __getitem__(self, sign: str) -> bytes:
        """Return a part; one that did not come is empty."""
        return self.parts.get(sign, b"")


class Lost(Exception):
    """The node answers no more; the text says why."""


@slotted
class _Block:
    """The sections of one block, as they come in."""

    nonce: str
    buffer: bytearray = field(default_factory=bytearray)
    items: list[dict[str, bytes]] = field(default_factory=list)
    """Those that are whole, and the one that is coming in."""
    finished: bool = False
    _label: str = ""
    _searched: int = 0

    def feed(self, data: bytes) -> None:
        """Take what came."""
        self.buffer += data
        mark = f"\n{self.nonce} ".encode()
        while not self.finished:
            at = self.buffer.find(mark, self._searched)
            end = self.buffer.find(b"\n", at + len(mark)) if at >= 0 else -1
            if end < 0:
                self._searched = max(0, len(self.buffer) - len(mark) if at < 0 else at)
                if not self.items:
                    # Before the first word comes whatever a login prints, however long.
                    del self.buffer[: max(0, self._searched - LONGEST)]
                    self._searched = min(self._searched, len(self.buffer))
                return
            self._section(bytes(self.buffer[:at]), self.buffer[at + len(mark) : end].decode())
            del self.buffer[: end + 1]
            self._searched = 0

    def _section(self, before: bytes, label: str) -> None:
        if self.items:
            self.items[-1][self._label] = before
        self.finished = label == END
        if label.isdigit():
            self.items.append({})
            self._label = ""
        else:
            self._label = label


@slotted
class Talk:
    """A shell on a node that listens."""

    pipe: Pipe
    watch: Watch
    session: str = field(default_factory=lambda: secrets.token_hex(8))
    lost: str = ""
    """Why it answers no more."""
    board: Board = field(init=False)
    _block: _Block | None = None

    def __post_init__(self) -> None:
        self.board = Board(secrets.token_hex(8), self.session, self._send)

    def hello(self) -> Sequence[str]:
        """Give the shell its functions; return its node's name, its number, two variables.

        Raise `Lost` if nothing that understands a shell's language answers.
        """
        nonce = secrets.token_hex(16)
        seconds = self.watch.left()
        library = fill(
            LIBRARY,
            session=self.session,
            programs=PROGRAMS,
            utilities=UTILITIES,
            fields=" ".join(f"-e {quote(f'/^{name.decode()}/p')}" for name in (b"$", *FIELDS)),
            limit=OUTPUT_LIMIT,
            few=FEW,
            flood=(FLOOD - OUTPUT_LIMIT) // 4096,
            directories=" ".join(DIRECTORIES),
            seconds=int(seconds) + LATER,
        )
        self.pipe.send(library + fill(HELLO, nonce=nonce))
        block = self._block = _Block(nonce)
        self._pump(lambda: block.finished)
        if not block.finished:
            self.lost = self.lost or f"no answer within {seconds:.1f} s"
            raise Lost(self.lost)
        self._block = None
        said = [parts.get("", b"").decode(errors="replace") for parts in block.items]
        if len(said) != len(HEARD) or not said[HEARD.index("number")].isdigit():
            self.lost = "what answers is no POSIX shell"
            raise Lost(self.lost)
        return said

    def ask(self, items: Sequence[Item], setup: str) -> Iterator[Sections | None]:
        """Yield what came for each of ``items``, in their order; `None` for one that hung.

        Each is yielded once it is whole, so that it is understood while the node goes on.
        ``setup`` goes before them, and what hung is left out the next time. Raise `Lost` if the
        node answers no more, or time is over; what had come whole by then was yielded.
        """
        left = items
        while left:
            block, mark = self._begin(left, setup)
            quiet = _Quiet(block, left)
            came = 0
            while fresh := self._whole(block, quiet, came):
                yield from map(Sections, fresh)
                came += len(fresh)
            hangs = not block.finished and quiet.long()
            if hangs:
                self._send(f'kill -9 $b; K "$S.{mark}." $b </dev/null >/dev/null &\n')
            left = left[came:]
            if not block.finished and not hangs:
                raise Lost(self.lost or LATE)
            self._block = None
            if left:
                yield None
                left = left[1:]

    def _begin(self, items: Sequence[Item], setup: str) -> tuple[_Block, str]:
        nonce = secrets.token_hex(16)
        block = self._block = _Block(nonce)
        lines = "\n".join(f"m {number}; {item.line}" for number, item in enumerate(items))
        mark = f"f{nonce}"
        self._send(f"( {setup}\nN={nonce}; u {mark}\n{lines}\nm {END} ) </dev/null 8>&- & b=$!\n")
        return block, mark

    def _whole(self, block: _Block, quiet: _Quiet, came: int) -> list[dict[str, bytes]]:
        """Return the items that came whole after the first ones; none if no more will."""
        quiet.since = time.monotonic()  # what came was understood meanwhile
        self._pump(lambda: block.finished or len(block.items) > came + 1 or quiet.long())
        return block.items[came:] if block.finished else block.items[came:-1]

    def settle(self) -> None:
        """Wait until all commands are through, or nobody waits any more."""
        self._pump(lambda: not self.board.waiting())

    def _send(self, text: str) -> None:
        self.pipe.send(text.encode("utf-8", "surrogateescape"))

    def _pump(self, enough: Callable[[], bool]) -> None:
        """Take what comes until it is enough, time is over, or the node answers no more."""
        while not enough():
            left = self.watch.left()
            if self.lost or not left:
                return
            if self.pipe.closed:
                self._receive(LAST)
                self.lost = self._last_words()
                return
            self._receive(min(TICK, left))
            self.board.tend()

    def _receive(self, seconds: float) -> None:
        out, err = self.pipe.receive(seconds)
        if out and self._block is not None:
            self._block.feed(out)
        if err:
            self.board.feed(err)

    def _last_words(self) -> str:
        """Return what was said last by something that is no shell of ours."""
        said = self._block.buffer if self._block is not None and not self._block.items else b""
        lines = [line.strip() for line in said.decode(errors="replace").splitlines()]
        return self.board.last_words or next(filter(None, reversed(lines)), SILENT)

    def close(self) -> None:
        """Let the shell end, and whatever it started with it."""
        if not self.board.left() and not self.lost and self._block is None:
            # Nothing is left to be ended, so nothing needs to be looked for.
            self._send("trap - 0; kill $W; exit\n")
        self.pipe.close()


@slotted
class _Quiet:
    """How long nothing has come for an item."""

    block: _Block
    items: Sequence[Item]
    since: float = field(default_factory=time.monotonic)
    had: tuple[int, int] = (0, 0)

    def long(self) -> bool:
        """Return whether that is longer than it may be."""
        now = time.monotonic()
        have = (len(self.block.items), len(self.block.buffer))
        if have != self.had:
            self.had, self.since = have, now
        if not self.block.items:
            # The shell has not begun: what it is busy with is not this.
            return False
        return now - self.since > self.items[len(self.block.items) - 1].silent
