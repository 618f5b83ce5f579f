"""The commands that run on a node: how they are started there, watched, and what came of them."""

from __future__ import annotations

import time
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING

from mxenv import _scripts
from mxenv.facts import Unreadable
from mxenv.frozen import slotted
from mxenv.question import NOT_FOUND, TIMED_OUT, Completed
from mxenv.transports._commands import ANY, DENIED, FLOODED, FOR_NOBODY
from mxenv.transports._outputs import OUTPUT_LIMIT
from mxenv.transports._shell_script import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mxenv.question import Command

LANES = 8
"""Commands that run at once; a vendor's tool may take a second to start."""
GRACE = 1.0
"""Seconds for the last words of a command that has ended, or was ended."""
BROKEN_PIPE = 128 + 13
"""What a shell says of a program that wrote where nobody reads any more."""
NOT_RUN = (126, 127)
"""What ``env(1)`` exits with when it could not run the program."""


@slotted(kw_only=True)
class Run:
    """One command, as far as the node has told."""

    command: Command
    outputs: dict[str, bytearray] = field(
        default_factory=lambda: {"o": bytearray(), "e": bytearray()}
    )
    returncode: int | None = None
    started: float | None = None
    ended: float | None = None
    """When it exited; a child of it may go on and hold its outputs."""
    killed: float | None = None
    late: bool = False
    refused: str = ""
    """Why it may not be run."""
    done: bool = False

    def tell(self, sign: str, rest: str, now: float) -> None:
        """Take one message of the node."""
        match sign:
            case "s":
                self.started = now
            case "o" | "e":
                self.outputs[sign] += bytes.fromhex(rest)
            case "x":
                self.returncode, self.ended = int(rest), now
                self.done = self.started is None
            case "n":
                mode = int(rest, 8) if rest else ANY
                self.refused, self.done = (DENIED if mode & ANY else FOR_NOBODY), True
            case "z":
                self.done = True
            case _:
                msg = f"a message {sign!r}"
                raise ValueError(msg)

    def over(self, now: float) -> bool:
        """Return whether it is to be ended now: it is late, or what it left behind is."""
        if self.done or self.killed is not None or self.started is None:
            return False
        if self.ended is not None:
            return now > self.ended + GRACE
        self.late = now > self.started + self.command.seconds
        return self.late

    def given_up(self, now: float) -> bool:
        """Return whether nothing more will come: not even killing it helped."""
        return self.killed is not None and now > self.killed + GRACE

    def result(self, why: str) -> Completed | Unreadable:
        """Return what came of it; ``why`` says why nothing more will."""
        out, err = (self.outputs[sign].decode(errors="replace") for sign in "oe")
        if self.refused:
            return Unreadable(self.refused)
        if self.late:
            return Completed(TIMED_OUT, out, err)
        if self.returncode is None:
            return Unreadable(why, passing=True)
        if self.started is None:
            return Completed(NOT_FOUND)
        return self._ended(self.returncode, out, err)

    def _ended(self, returncode: int, out: str, err: str) -> Completed | Unreadable:
        first = err.partition("\n")[0]
        if (
            returncode in NOT_RUN
            and first.startswith("env: ")
            and f"/{self.command.argv[0].rpartition('/')[2]}" in first
        ):
            return Unreadable(f"cannot be run: {first.rpartition(': ')[2].lower()}")
        flooded = any(len(output) >= OUTPUT_LIMIT for output in self.outputs.values())
        if flooded and returncode == BROKEN_PIPE:
            return FLOODED
        return Completed(returncode, out, err)


@slotted
class Board:
    """All commands that a node was told to run."""

    nonce: str
    session: str
    send: Callable[[str], None]
    runs: dict[str, Run] = field(default_factory=dict)
    noise: list[str] = field(default_factory=list)
    """What came on standard error besides, the last of it."""
    _numbers: Iterator[int] = field(default_factory=count)
    _rest: bytes = b""

    def start(
        self, commands: Iterable[Command], environment: Mapping[str, str]
    ) -> dict[Command, Run]:
        """Tell the node to run ``commands``, some at once."""
        started = {}
        lanes: list[list[str]] = [[] for _ in range(LANES)]
        for number, command in enumerate(commands):
            tag = f"{next(self._numbers):04x}"  # the width of all, or lines differ in length
            started[command] = self.runs[tag] = Run(command=command)
            words = map(quote, _scripts.filled(command.argv))
            lanes[number % LANES].append(f"c {tag} {' '.join(words)}")
        given = " ".join(quote(f"{name}={value}") for name, value in environment.items())
        body = "\n".join(f"{{ {'; '.join(lane)}; }} &" for lane in lanes if lane)
        self.send(
            f'E() {{ exec env -i MXENV_RUNS="$S.$t." {given} "$@"; }}\n'
            f"( u h; N={self.nonce}; L=$(printf 0123456789abcdef | od -An -v -tx1)\n"
            "L=$((${#N} + 5 + ${#L} + 1)); L=$((3500 / L * L))\n"
            f"{{\n{body}\nwait; }} 9>&1 >/dev/null | cat >&8 ) </dev/null >/dev/null &\n"
        )
        return started

    def feed(self, data: bytes) -> None:
        """Take what came on standard error."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for raw in lines:
            line = raw.decode(errors="replace")
            if not line.startswith(self.nonce):
                self.noise = [*self.noise[-19:], line.strip()]
                continue
            message = line.removeprefix(self.nonce)
            run = self.runs.get(message[:4])
            try:
                if run is not None:
                    run.tell(message[4:5], message[5:], time.monotonic())
            except ValueError:
                continue  # cut, or changed on the way: what is missing stays unknown

    @property
    def last_words(self) -> str:
        """What somebody else said last on standard error."""
        said = [*self.noise, self._rest.decode(errors="replace").strip()]
        return next((line for line in reversed(said) if line), "")

    def tend(self) -> None:
        """Have the node end what is late."""
        now = time.monotonic()
        for tag, run in self.runs.items():
            if run.over(now):
                run.killed = now
                self.send(f'K "$S.{tag}." </dev/null >/dev/null &\n')

    def waiting(self) -> bool:
        """Return whether anything may still be told."""
        now = time.monotonic()
        return any(not run.done and not run.given_up(now) for run in self.runs.values())

    def left(self) -> bool:
        """Return whether anything may be left running on the node."""
        return any(not run.done for run in self.runs.values())
