"""``mxenv check``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options, _status
from mxenv.cli._output import Output, answers, emit
from mxenv.errors import MxenvError

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.verdict import Verdict


@click.command("check", short_help="Check a node against what is known to work.")
@click.argument("snapshot", required=False)
@_options.on
@_options.matrices
@_options.env
@click.option("--nagios", is_flag=True, help="Answer as a Nagios plug-in: one line, status 0 to 3.")
@answers()
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    snapshot: str | None,
    on: str | None,
    matrix: tuple[Path, ...],
    env: str | None,
    nagios: bool,
) -> None:
    """Check a node against the matrix of what is known to work.

    SNAPSHOT is a file that `mxenv probe --out` wrote; without it this machine is asked.
    """
    if nagios:
        sys.exit(_nagios(snapshot, on, matrix, env))
    verdict = _judge(snapshot, on, matrix, env)
    output.verdicts((verdict,))
    sys.exit(_status.STATUS[verdict.outcome])


def _judge(
    snapshot: str | None, on: str | None, matrix: tuple[Path, ...], env: str | None
) -> Verdict:
    from mxenv.api import checking, nodes  # noqa: PLC0415 - imported late: --help needs none of it

    given = nodes.snapshot_of(_options.target(snapshot, on, word="SNAPSHOT"), now=_options.now())
    rows = checking.load_matrix(matrix)
    return checking.check(given, rows, env=env, today=_options.today())


def _nagios(snapshot: str | None, on: str | None, matrix: tuple[Path, ...], env: str | None) -> int:
    try:
        verdict = _judge(snapshot, on, matrix, env)
    except MxenvError as error:
        # A plug-in that could not look has nothing to say but that.
        emit(f"MXENV UNKNOWN - {error}\n")
        return _status.NAGIOS_WORDS.index("UNKNOWN")
    status = _status.nagios(verdict)
    worst = [f for f in verdict.findings if f.waiver is None and f.outcome is verdict.outcome]
    named = ", ".join(f"{finding.code} {finding.subject}" for finding in worst[:3])
    text = f"{len(verdict.findings)} checked" if status == 0 else named
    emit(f"MXENV {_status.NAGIOS_WORDS[status]} - {verdict.subject}: {text}\n")
    return status
