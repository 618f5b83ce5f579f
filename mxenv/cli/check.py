"""``mxenv check``."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from mxenv.cli import _asking, _options, _status
from mxenv.cli._output import Output, answers

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.api.checking import Judging
    from mxenv.fleet import Fleet
    from mxenv.verdict import Verdict, Waiver


@click.command("check", short_help="Check a node against what is known to work.")
@click.argument("snapshots", metavar="[SNAPSHOT]...", nargs=-1)
@_asking.asking
@_options.matrices
@_options.waivers
@_options.env
@click.option(
    "--expect",
    metavar="TEST",
    multiple=True,
    help="What has to be so of the right node: 'accelerators>=1', 'metax.device.count == 8'.",
)
@click.option("--nagios", is_flag=True, help="Answer as a Nagios plug-in: one line, status 0 to 3.")
@answers()
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    snapshots: tuple[str, ...],
    asked: _asking.Asked,
    matrix: _options.Matrices,
    waivers: tuple[Path, ...],
    env: str | None,
    expect: tuple[str, ...],
    nagios: bool,
) -> None:
    """Check a node against the matrix of what is known to work.

    SNAPSHOT is a file that `mxenv probe --out` wrote, or a folder of them; without one this
    machine is asked. Of several, each is checked, and equal ones are shown together.
    """
    judging = _Judging(matrix=matrix, waivers=waivers, env=env, expect=expect)
    if nagios:
        sys.exit(_plug_in(snapshots, asked, judging))
    if several := _several(snapshots, asked):
        fleet, verdicts = _judge_all(several, judging, output)
        output.judged_fleet(fleet, verdicts)
        sys.exit(_status.of_fleet(fleet, verdicts))
    verdict = _judge(snapshots, asked, judging)
    output.verdicts((verdict,))
    sys.exit(_status.STATUS[verdict.outcome])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judging:
    """What nodes are held against."""

    matrix: _options.Matrices
    waivers: tuple[Path, ...]
    env: str | None
    expect: tuple[str, ...]

    def ready(self) -> Judging:
        """Return what judges a node; every file is read once, before many nodes are asked."""
        from mxenv.api import checking  # noqa: PLC0415 - imported late: --help needs none of it

        matrix, expected = self.matrix.load(), checking.expect(self.expect)
        judge = partial(
            checking.check,
            matrix=matrix,
            env=self.env,
            waivers=_waivers(self.waivers),
            expected=expected,
            today=_options.today(),
        )
        keys = frozenset[str]().union(*(one.keys for one in expected))
        return checking.Judging(judge=judge, matrix=matrix, keys=keys)


def _waivers(files: tuple[Path, ...]) -> tuple[Waiver, ...]:
    if not files:
        return ()
    from mxenv.api import waiving  # noqa: PLC0415 - imported late: most checks have none

    return waiving.read(files)


def _several(snapshots: tuple[str, ...], asked: _asking.Asked) -> _asking.Asked | None:
    """Return what is to be asked if that is more than one thing, be it a folder of one."""
    if snapshots:
        _asking.target(snapshots[0], asked, word="SNAPSHOT")
    if not asked.many and len(snapshots) < 2 and not any(map(os.path.isdir, snapshots)):  # noqa: PLR2004 - one is not several
        return None
    from mxenv.api import fleets  # noqa: PLC0415 - imported late: one node needs none of it

    files = fleets.inside(snapshots)
    many = asked.many or len(files) > 1 or files != snapshots
    return (replace(asked, on=files) if files else asked) if many else None


def _judge(snapshots: tuple[str, ...], asked: _asking.Asked, judging: _Judging) -> Verdict:
    from mxenv.api import nodes  # noqa: PLC0415 - imported late: --help needs none of it

    target = _asking.target(next(iter(snapshots), None), asked, word="SNAPSHOT")
    given = nodes.snapshot_of(target, now=_options.now(), wanted=asked.wanted())
    return judging.ready().judge(given)


def _judge_all(
    asked: _asking.Asked, judging: _Judging, output: Output
) -> tuple[Fleet, tuple[Verdict, ...]]:
    from mxenv.api import fleets, many  # noqa: PLC0415 - imported late: --help needs none of it

    judged = judging.ready()
    if many.are_files(asked.on):
        return many.judge(asked.on, judged, jobs=asked.jobs)
    with output.nodes_done() as told:
        return fleets.judge(asked.tour(told), judged.judge)


def _plug_in(snapshots: tuple[str, ...], asked: _asking.Asked, judging: _Judging) -> int:
    from mxenv.cli import _nagios  # noqa: PLC0415 - imported late: only plug-ins need it

    if several := _several(snapshots, asked):
        _, verdicts = _judge_all(several, judging, Output(quiet=True))
        return _nagios.answer(verdicts)
    return _nagios.answer((_judge(snapshots, asked, judging),))
