"""``mxenv check``."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options, _status
from mxenv.cli._output import Output, answers, emit
from mxenv.errors import MxenvError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mxenv.fleet import Fleet
    from mxenv.verdict import Verdict

SOME = 3
"""What a Nagios plug-in names, at most: its answer is one line."""


@click.command("check", short_help="Check a node against what is known to work.")
@click.argument("snapshot", required=False)
@_options.asking
@_options.matrices
@_options.env
@click.option("--nagios", is_flag=True, help="Answer as a Nagios plug-in: one line, status 0 to 3.")
@answers()
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    snapshot: str | None,
    asked: _options.Asked,
    matrix: tuple[Path, ...],
    env: str | None,
    nagios: bool,
) -> None:
    """Check a node against the matrix of what is known to work.

    SNAPSHOT is a file that `mxenv probe --out` wrote; without it this machine is asked.
    """
    if nagios:
        sys.exit(_nagios(snapshot, asked, matrix, env))
    if asked.many:
        fleet, verdicts = _judge_all(snapshot, asked, matrix, env, output)
        output.judged_fleet(fleet, verdicts)
        sys.exit(_status.of_fleet(fleet, verdicts))
    verdict = _judge(snapshot, asked, matrix, env)
    output.verdicts((verdict,))
    sys.exit(_status.STATUS[verdict.outcome])


def _judge(
    snapshot: str | None, asked: _options.Asked, matrix: tuple[Path, ...], env: str | None
) -> Verdict:
    from mxenv.api import checking, nodes  # noqa: PLC0415 - imported late: --help needs none of it

    target = _options.target(snapshot, asked, word="SNAPSHOT")
    given = nodes.snapshot_of(target, now=_options.now(), wanted=asked.wanted())
    rows = checking.load_matrix(matrix)
    return checking.check(given, rows, env=env, today=_options.today())


def _judge_all(
    snapshot: str | None,
    asked: _options.Asked,
    matrix: tuple[Path, ...],
    env: str | None,
    output: Output,
) -> tuple[Fleet, tuple[Verdict, ...]]:
    from mxenv.api import checking, fleets  # noqa: PLC0415 - imported late: --help needs none of it

    _options.target(snapshot, asked, word="SNAPSHOT")
    rows = checking.load_matrix(matrix)
    judged = partial(checking.check, matrix=rows, env=env, today=_options.today())
    with output.nodes_done() as told:
        return fleets.judge(asked.tour(told), judged)


def _nagios(
    snapshot: str | None, asked: _options.Asked, matrix: tuple[Path, ...], env: str | None
) -> int:
    try:
        if asked.many:
            _, verdicts = _judge_all(snapshot, asked, matrix, env, Output(quiet=True))
            return _nagios_many(verdicts)
        verdict = _judge(snapshot, asked, matrix, env)
    except MxenvError as error:
        # A plug-in that could not look has nothing to say but that.
        emit(f"MXENV UNKNOWN - {error}\n")
        return _status.NAGIOS_WORDS.index("UNKNOWN")
    status = _status.nagios(verdict)
    text = f"{len(verdict.findings)} checked" if status == 0 else _worst(verdict)
    emit(f"MXENV {_status.NAGIOS_WORDS[status]} - {verdict.subject}: {text}\n")
    return status


def _worst(verdict: Verdict) -> str:
    worst = [f for f in verdict.findings if f.waiver is None and f.outcome is verdict.outcome]
    return ", ".join(f"{finding.code} {finding.subject}" for finding in worst[:SOME])


def _nagios_many(verdicts: Sequence[Verdict]) -> int:
    outcome = _status.worst(verdicts)
    bad = [verdict for verdict in verdicts if verdict.outcome is outcome]
    status = max(map(_status.nagios, bad), default=_status.NAGIOS[outcome])
    text = f"{len(verdicts)} nodes"
    if status:
        named = "; ".join(f"{verdict.subject}: {_worst(verdict)}" for verdict in bad[:SOME])
        text = f"{len(bad)} of {text}: {named}"
    emit(f"MXENV {_status.NAGIOS_WORDS[status]} - {text}\n")
    return status
