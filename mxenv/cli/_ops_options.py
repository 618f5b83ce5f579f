"""The options of `mxenv ops`: how a model is read, and what it is held against."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeVar

import click

from mxenv.cli import _options
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mxenv.inventory import Inventory

F = TypeVar("F", bound="Callable[..., object]")


@frozen
class Held:
    """What a model is held against, and by what."""

    platforms: tuple[str, ...]
    matrix: _options.Matrices
    env: str | None = None
    ran: Path | None = None
    """What came of running the operators of the model on the platform."""
    waivers: tuple[Path, ...] = ()


@frozen
class Reading:
    """How a model is read."""

    reader: str | None
    train: bool
    python: str | None
    trust: bool
    """Whether code that a model brings along is run."""
    seconds: float
    device: str

    def inventory(self, target: str) -> Inventory:
        """Return what the model at ``target`` asks for."""
        from mxenv.api import operators  # noqa: PLC0415 - imported late: --help needs none of it
        from mxenv.models import Request  # noqa: PLC0415 - imported late: as above

        request = Request(
            target=target,
            train=self.train,
            python=self.python,
            trust_remote_code=self.trust,
            seconds=self.seconds,
            record_on=self.device,
        )
        return operators.inventory_of(target, self.reader, request=request)


def against(function: F) -> F:
    """Give a command the options that say what a model is held against."""
    for option in (
        click.option(
            "--ran",
            metavar="RESULTS",
            type=_options.PATH,
            help="What came of --run on the platform: how well each operator is known to work.",
        ),
        click.option(
            "--env", metavar="PREFIX", help="The Python environment of a node whose torch counts."
        ),
        click.option(
            "--platform",
            metavar="CARD|SNAPSHOT|ADDRESS",
            multiple=True,
            help="Hold it against this model of card, or this node's cards and its torch; may be "
            "given several times.",
        ),
    ):
        function = option(function)
    return function


def held(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command what a model is held against as `Held`, rows and waivers with it."""

    @functools.wraps(function)
    def call(
        *rest: object,
        platform: tuple[str, ...],
        env: str | None,
        ran: Path | None,
        matrix: _options.Matrices,
        waivers: tuple[Path, ...],
        **others: object,
    ) -> None:
        held = Held(platforms=platform, matrix=matrix, env=env, ran=ran, waivers=waivers)
        function(*rest, held=held, **others)

    return call


def reading(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how a model is read, as `Reading`."""

    @click.option("--reader", metavar="NAME", help="What reads MODEL; found out unless given.")
    @click.option(
        "--train", is_flag=True, help="With the backward pass and the optimiser, autocast as well."
    )
    @click.option(
        "--python",
        metavar="PATH",
        help="The interpreter whose torch is used; mxenv's own unless given.",
    )
    @click.option(
        "--trust-remote-code", is_flag=True, help="Run the code that a model brings along."
    )
    @click.option(
        "--record-on",
        metavar="DEVICE",
        default="",
        help="Run a small instance on this device (cuda, cpu), and see what that really calls.",
    )
    @click.option(
        "--seconds",
        metavar="N",
        type=click.FloatRange(min=0, min_open=True),
        default=120.0,
        show_default=True,
        help="How long a model may take to walk through; with --run, each operator.",
    )
    @functools.wraps(function)
    def call(  # noqa: PLR0913 - one for each option
        *rest: object,
        reader: str | None,
        train: bool,
        python: str | None,
        trust_remote_code: bool,
        seconds: float,
        record_on: str,
        **others: object,
    ) -> None:
        way = Reading(
            reader=reader,
            train=train,
            python=python,
            trust=trust_remote_code,
            seconds=seconds,
            device=record_on,
        )
        function(*rest, way=way, **others)

    return call
