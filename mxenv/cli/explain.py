"""``mxenv explain``."""

from __future__ import annotations

import difflib

import click

from mxenv.cli._output import PLAIN, Output, answers
from mxenv.errors import UsageError


@click.command("explain", short_help="Say what a finding means and what to do.")
@click.argument("code", required=False)
@answers(PLAIN)
def COMMAND(output: Output, *, code: str | None) -> None:  # noqa: N802 - a constant
    """Say what the code of a finding means and what to do; without CODE, list them."""
    from mxenv.codes import CODES  # noqa: PLC0415 - imported late: --help needs none of it

    if code is None:
        output.values("mxenv.codes/1", {name: known.title for name, known in CODES.items()})
        return
    known = CODES.get(code.upper())
    if known is None:
        near = difflib.get_close_matches(code.upper(), CODES, n=1)
        raise UsageError(
            f"no finding has the code {code!r}",
            hint=f"did you mean {near[0]}?" if near else "`mxenv explain` lists them",
        )
    output.values(
        "mxenv.code/1",
        {
            "code": code.upper(),
            "title": known.title,
            "meaning": known.meaning,
            "how": known.how,
            "remedy": known.remedy,
        },
    )
