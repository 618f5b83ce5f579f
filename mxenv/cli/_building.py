"""The options of ``mxenv build``: what is wished for, and which wishes contradict each other."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import click

from mxenv import _plugins
from mxenv.cli import _options
from mxenv.errors import UsageError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from mxenv.api.building import BuildResult
    from mxenv.engines import Engine

ARCHIVE = ".tar"
"""How a file is called that is to be an archive of the engine, and no layout's folder."""

OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(_plugins.names("engines")),
        default="oci",
        show_default=True,
        help="What builds it.",
    ),
    click.option(
        "--out",
        metavar="DIR",
        type=_options.PATH,
        help="Write an OCI layout to DIR; the engine docker writes an archive to FILE.tar.",
    ),
    click.option("--push", metavar="REF", help="Push to a registry: HOST[:PORT]/REPOSITORY[:TAG]."),
    click.option("--check", is_flag=True, help="Exit with 1 if the image is not the lock's."),
    click.option(
        "--render",
        is_flag=True,
        help="Build nothing; write the Containerfile, or to --out FILE.tar all that it takes from.",
    ),
    click.option(
        "--compression",
        type=click.Choice(("gzip", "zstd")),
        default="gzip",
        show_default=True,
        help="How layers are packed; the lock keeps the digest of the image with gzip.",
    ),
    click.option(
        "--interpreter",
        metavar="PYTHON",
        default="",
        help="Compile modules with this Python, where the image asks for bytecode.",
    ),
    click.option(
        "--with-base", is_flag=True, help="Copy the base's layers into the layout as well."
    ),
    click.option(
        "--network",
        metavar="NAME",
        default="",
        help="Which network the steps of the engine docker may use, as 'host' or 'none'.",
    ),
    click.option(
        "--sign",
        metavar="KEY",
        type=_options.PATH,
        envvar="MXENV_SIGN_KEY",
        help="Sign the image, and what goes with it, with this Ed25519 key.",
    ),
    _options.cache_size,
    _options.wheelhouse,
)


@frozen
class Wish:
    """What is to be built, and how."""

    engine: str
    out: Path | None
    push: str | None
    check: bool
    render: bool
    compression: str
    interpreter: str
    with_base: bool
    network: str
    sign: Path | None
    cache_size: int | None
    wheelhouse: Path | None

    @property
    def runs(self) -> bool:
        """Whether a container engine builds it, and may keep it."""
        engine: Engine = _plugins.load("engines", self.engine)
        return engine.keeps

    def refuse(self, given: Collection[str]) -> None:
        """Raise `UsageError` if one wish contradicts another.

        What is not ``given`` on the command line, but to all builds, may mean nothing to this one.
        """
        if self.out is not None and self.push is not None:
            raise UsageError("--out and --push both say where to", hint="give one of them")
        if self.check and (self.out is not None or self.push is not None):
            raise UsageError("--check writes nothing", hint="leave --out and --push out")
        if self.check and self.compression != "gzip":
            raise UsageError("--check compares the image with gzip", hint="leave --compression out")
        if self.render and (self.check or self.push is not None):
            raise UsageError("--render builds nothing", hint="leave --check and --push out")
        if self.network and "network" in given and (self.render or not self.runs):
            raise UsageError(
                "--network is for steps that are run, and nothing is run here",
                hint="leave --network out; --engine docker runs system packages and steps",
            )
        if self.with_base and "with_base" in given and (self.render or self.runs):
            raise UsageError(
                "--with-base is for a layout that the engine oci writes",
                hint="leave --with-base out: what a container engine gives away has its base",
            )
        if not self.check and not self.render:
            self._refuse_to_sign()

    def _refuse_to_sign(self) -> None:
        """Raise `UsageError` if a signature is wished for where there is no place for one."""
        if self.sign is None or self.push is not None or not self.runs:
            return
        if self.out is None or self.out.suffix == ARCHIVE:
            where = "that stays in the engine" if self.out is None else "in an archive"
            raise UsageError(
                f"an image {where} has no place for a signature",
                hint="--push REF or --out DIR has one; or leave --sign (MXENV_SIGN_KEY) out",
            )

    def build(self, lock: Path, told: Callable[[str], None] | None) -> BuildResult:
        """Build it, or compare it with what the lock says."""
        from mxenv.api import building  # noqa: PLC0415 - imported late: --help needs none of it

        return building.build(
            lock,
            engine=self.engine,
            out=self.out,
            push=self.push,
            wheelhouse=self.wheelhouse,
            check=self.check,
            with_base=self.with_base,
            sign=self.sign,
            compression=self.compression,
            interpreter=self.interpreter,
            cache_size=self.cache_size,
            network=self.network,
            told=told,
        )

    def rendered(self, lock: Path) -> str:
        """Return the Containerfile; nothing if it was written to a file."""
        from mxenv.api import rendering  # noqa: PLC0415 - imported late: --help needs none of it

        if self.out is None:
            return rendering.render(lock)
        rendering.write(lock, self.out, wheelhouse=self.wheelhouse)
        return ""


def wishes(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options above, and one `Wish` made of them."""

    @functools.wraps(function)
    def call(*arguments: object, lock: Path, **given: object) -> None:
        wish = Wish(**given)  # type: ignore[arg-type] # click made each what its option says
        context = click.get_current_context()
        typed = click.core.ParameterSource.COMMANDLINE
        wish.refuse([name for name in given if context.get_parameter_source(name) is typed])
        function(*arguments, lock=lock, wish=wish)

    for option in reversed(OPTIONS):
        call = option(call)
    return call
