"""Commands that hold a node against a matrix: what is near, what would change, what was learned."""

from __future__ import annotations

import getpass
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options, _status
from mxenv.cli._output import PLAIN, Output, answers, emit
from mxenv.errors import UsageError
from mxenv.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.api.exploring import Tried
    from mxenv.route import Change
    from mxenv.supposition import Shift

LEFT = 3
"""Findings of a way that does not get there that are named."""
SITE = "site.toml"


@click.command("nearest")
@click.argument("snapshot")
@click.option(
    "--count", metavar="N", type=click.IntRange(1, 100), default=3, help="How many; 3 unless given."
)
@_options.env
@_options.matrices
@answers(PLAIN)
def nearest(
    output: Output, *, snapshot: str, count: int, env: str | None, matrix: _options.Matrices
) -> None:
    """Say which known sets are nearest to a node, and what would have to change for each.

    SNAPSHOT is a file of `mxenv probe --out`, or an address. Every way was tried: the outcome is
    what `mxenv check` would then say. Exits with 3 if none gets there.
    """
    from mxenv.api import exploring, nodes  # noqa: PLC0415 - imported late: --help needs none

    given = nodes.snapshot_of(snapshot, now=_options.now())
    ways = exploring.nearest(given, matrix.load(), env=env, count=count, today=_options.today())
    if output.format == "json":
        document = {"schema": "mxenv.nearest/1", "ways": [_way(tried) for tried in ways]}
        emit(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        _harmless(line for tried in ways for line in _told(tried))
    if not ways:
        output.note("no row of the matrix is for these cards")
    outcome = max((tried.verdict.outcome for tried in ways), default=Outcome.UNKNOWN)
    sys.exit(0 if outcome is Outcome.COMPATIBLE else _status.STATUS[Outcome.UNKNOWN])


def _harmless(lines: Iterator[str]) -> None:
    from mxenv.reports._page import harmless  # noqa: PLC0415 - imported late: only for text

    emit("".join(harmless(line) + "\n" for line in lines))


def _told(tried: Tried) -> Iterator[str]:
    changes, outcome = tried.way.changes, tried.verdict.outcome
    said = f"{len(changes)} change{'s' * (len(changes) != 1)}" if changes else "as it is"
    yield f"{tried.way.row.row}: {outcome.word.upper()}, {said}"
    width = max((len(change.component) for change in changes), default=0)
    for change in changes:
        yield f"    {change.component:<{width}}  {_step(change)}"
    left = [f for f in tried.verdict.findings if f.outcome is outcome and f.waiver is None]
    if outcome is not Outcome.COMPATIBLE:
        named = "; ".join(f"{finding.code} {finding.subject}" for finding in left[:LEFT])
        more = f" and {len(left) - LEFT} more" if len(left) > LEFT else ""
        yield f"    still {outcome.word}: {named}{more}"


def _step(change: Change) -> str:
    if not change.after:
        return f"{change.before} -> remove it, or rebuild it for that SDK"
    step = f"{change.before or 'nothing known'} -> {change.after}"
    return step if change.exact else f"{step} (or another that the row means)"


def _way(tried: Tried) -> dict[str, object]:
    outcome = tried.verdict.outcome
    left = [f for f in tried.verdict.findings if f.outcome is not Outcome.COMPATIBLE]
    return {
        "row": tried.way.row.row,
        "outcome": outcome.word,
        "cost": tried.way.cost,
        "changes": [
            {"component": c.component, "from": c.before, "to": c.after, "exact": c.exact}
            for c in tried.way.changes
        ],
        "remaining": [{"code": f.code, "subject": f.subject} for f in left],
    }


@click.command("what-if")
@click.argument("snapshot")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A fact as it would be: kernel.release=6.8.0-40-generic, python.package[torch]=absent.",
)
@_options.env
@_options.matrices
@answers(PLAIN)
def what_if(
    output: Output,
    *,
    snapshot: str,
    settings: tuple[str, ...],
    env: str | None,
    matrix: _options.Matrices,
) -> None:
    """Say whether a change would break a node: the verdict before and after, and what differs.

    SNAPSHOT is a file of `mxenv probe --out`, or an address. The status is that of the verdict
    after. For another kernel, a driver's module is unknown unless it was seen built for it.
    """
    from mxenv.api import exploring, nodes  # noqa: PLC0415 - imported late: --help needs none

    given = nodes.snapshot_of(snapshot, now=_options.now())
    shift = exploring.what_if(given, settings, matrix.load(), env=env, today=_options.today())
    if output.format == "json":
        emit(_shift_json(shift, settings))
    else:
        _shift_text(output, shift, settings)
    sys.exit(_status.STATUS[shift.after.outcome])


def _shift_text(output: Output, shift: Shift, settings: tuple[str, ...]) -> None:
    supposed = " ".join(settings) or "nothing"
    for title, findings in (("goes", shift.gone), ("appears", shift.appeared)):
        if findings:
            output.every(Verdict(subject=f"{title} with {supposed}", findings=findings))
    before, after = shift.before.outcome.word.upper(), shift.after.outcome.word.upper()
    same = "" if shift.gone or shift.appeared else ", nothing is said otherwise"
    _harmless(iter([f"{shift.after.subject} with {supposed}: {before} -> {after}{same}"]))


def _shift_json(shift: Shift, settings: tuple[str, ...]) -> str:
    from mxenv.reports import Page  # noqa: PLC0415 - imported late: only for JSON
    from mxenv.reports import json as report  # noqa: PLC0415 - the same

    def findings(verdict: Verdict) -> object:
        return json.loads(report.verdicts((verdict,), Page()))["verdicts"][0]

    gone = Verdict(subject=shift.before.subject, findings=shift.gone)
    appeared = Verdict(subject=shift.before.subject, findings=shift.appeared)
    document = {
        "schema": "mxenv.what-if/1",
        "set": list(settings),
        "before": shift.before.outcome.word,
        "after": shift.after.outcome.word,
        "gone": findings(gone)["findings"],  # type: ignore[index] # our own JSON
        "appeared": findings(appeared)["findings"],  # type: ignore[index] # the same
        "verdict": findings(shift.after),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


@click.command("add-tested")
@click.argument("snapshot")
@click.option(
    "--evidence", metavar="TEXT|URL", required=True, help="Where it is written down that it works."
)
@click.option("--who", metavar="NAME", help="Who says so; whoever runs this unless given.")
@click.option(
    "--out",
    metavar="FILE",
    type=_options.PATH,
    default=Path(SITE),
    help=f"The site's matrix, which is made or added to; {SITE} unless given.",
)
@_options.env
@_options.matrices
@answers(PLAIN)
def add_tested(  # noqa: PLR0913 - every option is an argument
    output: Output,
    *,
    snapshot: str,
    evidence: str,
    who: str | None,
    out: Path,
    env: str | None,
    matrix: _options.Matrices,
) -> None:
    """Write into the site's matrix that a node was seen working as it is.

    SNAPSHOT is a file of `mxenv probe --out`, or an address. What could not be read of it cannot
    be vouched for, and is refused. Comments in the file stay.
    """
    from mxenv.api import matrices, nodes  # noqa: PLC0415 - imported late: --help needs none

    _says(evidence, who)
    given = nodes.snapshot_of(snapshot, now=_options.now())
    learned = matrices.add_tested(
        given,
        matrix.sources,
        matrices.Said(link=evidence, who=who or _whoever(), today=_options.today()),
        out=out,
        env=env,
    )
    output.values(
        "mxenv.tested/1", {"file": str(out), "row": learned.row.row, "says": learned.summary}
    )
    if learned.verdict.outcome is not Outcome.COMPATIBLE:
        output.note(
            f"with it, {given.node} is still {learned.verdict.outcome.word}:"
            f" `mxenv check {snapshot} --matrix {out}` says why"
        )


def _says(evidence: str, who: str | None) -> None:
    for name, text in (("--evidence", evidence), ("--who", who)):
        if text is not None and not text.strip():
            raise UsageError(f"{name} says nothing", hint="a row without evidence is a guess")


@click.command("add-ran")
@click.argument("snapshot")
@click.argument("results", type=_options.PATH)
@click.option(
    "--evidence", metavar="TEXT|URL", required=True, help="Where it is written down what was run."
)
@click.option("--who", metavar="NAME", help="Who says so; whoever runs this unless given.")
@click.option(
    "--out",
    metavar="FILE",
    type=_options.PATH,
    default=Path(SITE),
    help=f"The site's matrix, which is made or added to; {SITE} unless given.",
)
@_options.env
@_options.matrices
@answers(PLAIN)
def add_ran(  # noqa: PLR0913 - every option is an argument
    output: Output,
    *,
    snapshot: str,
    results: Path,
    evidence: str,
    who: str | None,
    out: Path,
    env: str | None,
    matrix: _options.Matrices,
) -> None:
    """Write into the site's matrix which operators were right, and which failed, on a node.

    SNAPSHOT is a file of `mxenv probe --out`, RESULTS what `mxenv ops --run --out` wrote on that
    node. The rows count for the same card, SDK and torch.
    """
    from mxenv.api import (  # noqa: PLC0415 - imported late: --help needs none
        matrices,
        nodes,
        operator_runs,
    )

    _says(evidence, who)
    rows = matrices.add_ran(
        nodes.snapshot_of(snapshot, now=_options.now()),
        operator_runs.read_results(results),
        matrix.sources,
        matrices.Said(link=evidence, who=who or _whoever(), today=_options.today()),
        out=out,
        env=env,
    )
    told = [f"{row.row}: {len(row.operators)} {row.kind}" for row in rows]
    output.values("mxenv.ran/1", {"file": str(out), "rows": told})


def _whoever() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "this site"


COMMANDS = (nearest, what_if, add_tested, add_ran)
