"""``mxenv build``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._building import Wish, wishes
from mxenv.cli._output import PLAIN, Output, answers, emit

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.api.building import BuildResult


@click.command("build", short_help="Build the image that a lock stands for.")
@_options.lock_argument
@answers(PLAIN)
@wishes
def COMMAND(output: Output, *, lock: Path, wish: Wish) -> None:  # noqa: N802 - a constant
    """Build the image that a lock stands for: one lock, one digest, everywhere.

    The engine oci needs no daemon and no root. The engine docker has Docker or podman do what must
    be run in the image: system packages, and steps of its own.
    """
    if wish.render:
        emit(wish.rendered(lock))
        return
    with output.steps_done() as told:
        result = wish.build(lock, told)
    for note in result.notes:
        output.note(f"note: {note}")
    output.values("mxenv.built/1", _said(result))
    if result.changed:
        output.note(f"{lock}: {_written(wish)} written into it")


def _written(wish: Wish) -> str:
    # An engine's image has another digest each time, and the lock has none of it.
    return "what the engine was given is" if wish.runs else "the image's digests are"


def _said(result: BuildResult) -> dict[str, object]:
    """Return what there is to say of an image: an engine's has fewer digests than ours."""
    recipe = result.recipe
    said = {
        "image": result.name,
        "config": result.config,
        "manifest": result.manifest,
        "layers": [f"{layer.made.diff_id}  {layer.made.title}" for layer in result.layers],
        "containerfile": recipe.containerfile if recipe else "",
        "context": recipe.context if recipe else "",
    }
    return {name: value for name, value in said.items() if value}
