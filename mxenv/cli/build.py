"""``mxenv build``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mxenv import _plugins
from mxenv.cli import _options
from mxenv.cli._output import PLAIN, Output, answers
from mxenv.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@click.command("build", short_help="Build the image that a lock stands for.")
@_options.lock_argument
@click.option(
    "--engine",
    type=click.Choice(_plugins.names("engines")),
    default="oci",
    show_default=True,
    help="What builds it.",
)
@click.option("--out", metavar="DIR", type=_options.PATH, help="Write an OCI layout to DIR.")
@click.option("--push", metavar="REF", help="Push to a registry: HOST[:PORT]/REPOSITORY[:TAG].")
@click.option("--check", is_flag=True, help="Exit with 1 if the image is not the lock's.")
@click.option(
    "--compression",
    type=click.Choice(("gzip", "zstd")),
    default="gzip",
    show_default=True,
    help="How layers are packed; the lock keeps the digest of the image with gzip.",
)
@click.option(
    "--interpreter",
    metavar="PYTHON",
    default="",
    help="Compile modules with this Python, where the image asks for bytecode.",
)
@click.option("--with-base", is_flag=True, help="Copy the base's layers into the layout as well.")
@click.option(
    "--sign",
    metavar="KEY",
    type=_options.PATH,
    envvar="MXENV_SIGN_KEY",
    help="Sign the image, and what goes with it, with this Ed25519 key.",
)
@_options.wheelhouse
@answers(PLAIN)
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    lock: Path,
    engine: str,
    out: Path | None,
    push: str | None,
    check: bool,
    compression: str,
    interpreter: str,
    with_base: bool,
    sign: Path | None,
    wheelhouse: Path | None,
) -> None:
    """Build the image that a lock stands for: one lock, one digest, everywhere.

    The engine oci needs no daemon and no root.
    """
    from mxenv.api import building  # noqa: PLC0415 - imported late: --help needs none of it

    if out is not None and push is not None:
        raise UsageError("--out and --push both say where to", hint="give one of them")
    if check and (out is not None or push is not None):
        raise UsageError("--check writes nothing", hint="leave --out and --push out")
    if check and compression != "gzip":
        raise UsageError("--check compares the image with gzip", hint="leave --compression out")
    result = building.build(
        lock,
        engine=engine,
        out=out,
        push=push,
        wheelhouse=wheelhouse,
        check=check,
        with_base=with_base,
        sign=sign,
        compression=compression,
        interpreter=interpreter,
    )
    for note in result.notes:
        output.note(f"note: {note}")
    output.values(
        "mxenv.built/1",
        {
            **({"image": result.name} if result.name else {}),
            "config": result.config,
            "manifest": result.manifest,
            "layers": [f"{layer.made.diff_id}  {layer.made.title}" for layer in result.layers],
        },
    )
    if result.changed:
        output.note(f"{lock}: the image's digests are written into it")
