"""``mxenv image``: what an image is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import CONTEXT, PLAIN, Output, answers

if TYPE_CHECKING:
    from pathlib import Path


@click.group("image", short_help="Say what an image is.", context_settings=CONTEXT)
def COMMAND() -> None:  # noqa: N802 - a constant that a decorator makes
    """Say what an image is, whoever made it."""


@COMMAND.command("show")
@click.argument("image", metavar="REF|oci:DIR|docker-archive:FILE")
@click.option("--platform", metavar="OS/ARCH", default="", help="Of an image for several.")
@_options.keys("Say whether this key signed it.")
@click.option(
    "--save", metavar="DIR", type=_options.PATH, help="Write what is attached to it to DIR."
)
@answers(PLAIN)
def show(
    output: Output, *, image: str, platform: str, keys: tuple[Path, ...], save: Path | None
) -> None:
    """Say what an image is: its lock, base, packages, what it asks of a host, who signed it.

    No layer is read.
    """
    from mxenv.api import showing  # noqa: PLC0415 - imported late: --help needs none of it
    from mxenv.cli import _image_words  # noqa: PLC0415 - the same

    shown = showing.show(image, platform=platform, keys=keys, save=save)
    if output.format == "json":
        output.values("mxenv.shown/1", _image_words.document(shown))
    else:
        output.values("mxenv.shown/1", _image_words.lines(shown, whole=output.verbose))
