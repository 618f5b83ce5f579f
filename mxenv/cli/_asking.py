"""Which nodes a command asks, and how: the options, and what they come to."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import click

from mxenv.cli._options import now
from mxenv.errors import UsageError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.api.fleets import Tour
    from mxenv.api.nodes import Wanted

MOST_JOBS = 256
DAY = 86400.0
MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_]\w*)?", re.ASCII)


class _Seconds(click.FloatRange):
    """A span of time; what is no number is none."""

    name = "number of seconds"

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds: float = super().convert(value, param, ctx)
        if seconds != seconds:  # noqa: PLR0124 - only NaN is not itself, and it fits every range
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


@frozen
class Asked:
    """Which nodes are to be asked, and how."""

    on: tuple[str, ...] = ()
    jobs: int | None = None
    timeout: float | None = None
    python: tuple[str, ...] = ()
    deep: bool = False
    operators: bool = False
    load: tuple[str, ...] = ()

    @property
    def many(self) -> bool:
        """True if this is about a fleet, be it one of a single node."""
        return len(self.on) > 1 or any(address.startswith("@") for address in self.on)

    @property
    def address(self) -> str:
        """The one node that is asked."""
        return self.on[0] if self.on else "local:"

    def wanted(self) -> Wanted:
        """Return how each node is to be asked."""
        from mxenv.api.nodes import Wanted  # noqa: PLC0415 - imported late: --help needs none of it

        bad = [path for path in self.python if not path.startswith("/")]
        if bad:
            raise UsageError(f"{bad[0]!r} is no absolute path", hint="--python /opt/venv")
        options = {"python": "\n".join(self.python)} if self.python else {}
        if self.deep:
            options["deep"] = "yes"
        if self.load and not self.operators:
            raise UsageError("--load says what to import for --operators", hint="give both")
        if unfit := [one for one in self.load if not MODULE.fullmatch(one)]:
            said = f"{unfit[0]!r} is no module, and no function of one"
            raise UsageError(said, hint="--load torchvision, --load flag_gems:enable")
        if self.operators:
            options["operators"] = "yes"
            options |= {"load": "\n".join(self.load)} if self.load else {}
        return Wanted(seconds=self.timeout, options=options)

    def tour(self, told: Callable[[int, int], None] | None = None) -> Tour:
        """Return all nodes, for those who ask many."""
        from mxenv.api import fleets  # noqa: PLC0415 - imported late: the same

        return fleets.Tour(
            addresses=fleets.addresses(self.on),
            now=now(),
            wanted=self.wanted(),
            jobs=self.jobs,
            told=told,
        )


OPTIONS = (
    click.option(
        "--on",
        metavar="ADDRESS|@FILE",
        multiple=True,
        help="What to ask; this machine unless given. Given several times, or as a file with one "
        "address or host name a line, many nodes are asked at once.",
    ),
    click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(1, MOST_JOBS),
        help="How many nodes to ask at once; 32 unless given.",
    ),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=_Seconds(0, DAY, min_open=True),
        help="How long a node may take, until its answers are understood; 15 seconds, if it is a "
        "live one, unless given.",
    ),
    click.option(
        "--python",
        metavar="PATH",
        multiple=True,
        help="An interpreter, or the prefix of an environment, to look at as well.",
    ),
    click.option(
        "--deep", is_flag=True, help="Look whether files of distributions were altered; slow."
    ),
    click.option(
        "--operators",
        is_flag=True,
        help="Run the node's Python (that of --python, or else the one with torch) to ask torch "
        "which operators it can run; a node may take 150 seconds then.",
    ),
    click.option(
        "--load",
        metavar="MODULE[:FUNCTION]",
        multiple=True,
        help="What to import there before, and to call, as flag_gems:enable.",
    ),
)
"""As `--help` shows them; each is a field of `Asked`."""


def asking(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say which nodes are asked, and how, as an `Asked`."""

    @functools.wraps(function)
    def call(*rest: object, **given: Any) -> None:  # noqa: ANN401 - what click gives
        asked = Asked(**{name: given.pop(name) for name in Asked.__annotations__})
        function(*rest, asked=asked, **given)

    for option in reversed(OPTIONS):
        call = option(call)
    return call


def target(given: str | None, asked: Asked, *, word: str) -> str:
    """Return what is to be asked: a file, an address, or this machine; never two of them."""
    if given is not None and asked.on:
        raise UsageError(f"{word} and --on both say what to look at", hint="give one of them")
    return given or asked.address
