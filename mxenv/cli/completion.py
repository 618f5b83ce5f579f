"""``mxenv completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from mxenv.cli._output import emit


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def COMMAND(ctx: click.Context, shell: str) -> None:  # noqa: N802 - a constant
    """Print the completion script of a shell.

    bash: eval "$(mxenv completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc;
    fish: mxenv completion fish > ~/.config/fish/completions/mxenv.fish
    """
    found = get_completion_class(shell)
    assert found is not None, shell  # noqa: S101 - click has these three
    emit(found(ctx.find_root().command, {}, "mxenv", "_MXENV_COMPLETE").source())
