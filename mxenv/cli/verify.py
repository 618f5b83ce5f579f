"""``mxenv verify``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mxenv.cli import _asking, _options, _status
from mxenv.cli._output import Output, answers
from mxenv.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.api.nodes import Wanted
    from mxenv.verdict import Verdict


@click.command("verify", short_help="Compare an image, or a node, with its lock.")
@click.argument("lock", metavar="[LOCK]", type=_options.PATH, required=False)
@_asking.asking
@_options.env
@_options.wheelhouse
@_options.keys("Demand that the image is signed with this key, or one of several.")
@click.option(
    "--node",
    "before",
    metavar="SNAPSHOT",
    multiple=True,
    help="Say whether the image will run on that node, from its snapshot, before it starts there.",
)
@answers()
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    lock: Path | None,
    asked: _asking.Asked,
    env: str | None,
    wheelhouse: Path | None,
    keys: tuple[Path, ...],
    before: tuple[str, ...],
) -> None:
    """Compare an image, or a node, with the lock that it should be made from.

    An image is compared file by file with the wheels; nothing of it is run. It may bring its LOCK.
    """
    from mxenv.api import verifying  # noqa: PLC0415 - imported late: --help needs none of it

    now = _options.now()

    def compared(address: str, wanted: Wanted) -> Verdict:
        return verifying.verify(
            lock, address, now=now, wheelhouse=wheelhouse, env=env, wanted=wanted, keys=keys
        )

    if before:
        from mxenv.api import scheduling  # noqa: PLC0415 - imported late: images only

        if asked.many:
            raise UsageError("--node is for one image", hint="give --on once")
        verdicts = scheduling.before(lock, asked.address, before, now=now, keys=keys)
        output.verdicts(verdicts)
        sys.exit(_status.STATUS[_status.worst(verdicts)])
    if asked.many:
        from mxenv.api import fleets  # noqa: PLC0415 - imported late: one node needs none of it

        with output.nodes_done() as told:
            fleet, judged = fleets.compare(asked.tour(told), compared)
        output.judged_fleet(fleet, judged)
        sys.exit(_status.of_fleet(fleet, judged))
    verdict = compared(asked.address, asked.wanted())
    output.verdicts((verdict,))
    sys.exit(_status.STATUS[verdict.outcome])
