"""``mxenv lock``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import PLAIN, Output, answers
from mxenv.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.api.locking import LockResult


@click.command("lock", short_help="Turn what an image wants into exact wheels.")
@click.argument("image_toml", type=_options.PATH)
@click.option("--out", metavar="FILE", type=_options.PATH, help="The lockfile to write.")
@click.option(
    "--snapshot",
    metavar="FILE",
    type=_options.PATH,
    help="What the base image holds, if its registry cannot be asked.",
)
@_options.index
@_options.find_links
@_options.offline
@click.option("--upgrade", is_flag=True, help="Take the newest versions that fit.")
@click.option(
    "--upgrade-package",
    metavar="NAME",
    multiple=True,
    help="Take the newest version of NAME that fits; others stay.",
)
@_options.only_binary
@click.option("--with-urls", is_flag=True, help="Write down where each wheel was found.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if the lock is stale.")
@_options.matrices
@answers(PLAIN)
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    image_toml: Path,
    out: Path | None,
    snapshot: Path | None,
    index: tuple[str, ...],
    find_links: tuple[str, ...],
    offline: bool,
    upgrade: bool,
    upgrade_package: tuple[str, ...],
    only_binary: bool,
    with_urls: bool,
    check: bool,
    matrix: _options.Matrices,
) -> None:
    """Turn what an image wants into exact wheels: lockfiles/pylock.NAME.toml.

    What the base image provides is never replaced. Versions stay as they are in the lock that is
    there, unless --upgrade is given. What has a source distribution only is built once, into
    the wheelhouse, which runs its code. Which indexes are asked is the configuration of uv, too.
    """
    from mxenv.api import locking, project  # noqa: PLC0415 - imported late: --help needs none

    if check:
        if upgrade or upgrade_package:
            raise UsageError(
                "--check asks no index, and knows of no newer versions",
                hint="leave --upgrade and --upgrade-package out",
            )
        sys.exit(_check(output, image_toml, project.lock_path(image_toml, out)))
    result = locking.lock(
        image_toml,
        out=out,
        snapshot=snapshot,
        matrix=matrix.load(),
        today=_options.today(),
        options=locking.Options(
            index=index,
            find_links=find_links,
            offline=offline,
            upgrade=upgrade,
            upgrade_packages=upgrade_package,
            only_binary=only_binary,
            with_urls=with_urls,
        ),
    )
    for note in result.notes:
        output.note(f"note: {note}")
    output.values("mxenv.locked/1", _summary(result))


def _check(output: Output, image_toml: Path, path: Path) -> int:
    from mxenv.api import locking  # noqa: PLC0415 - imported late: --help needs no api

    reasons = locking.stale(image_toml, path)
    state = "stale" if reasons else "fresh"
    output.values("mxenv.stale/1", {"lock": str(path), "state": state, "because": list(reasons)})
    return 1 if reasons else 0


def _summary(result: LockResult) -> dict[str, object]:
    lock = result.lock
    return {
        "lock": str(result.path),
        "state": "changed" if result.changed else "unchanged",
        "base": lock.base.digest or lock.base.reference,
        "packages": [f"{package.name} {package.version}" for package in lock.packages],
        "provided": len(lock.provided),
        "outcome": result.verdict.outcome.word if result.verdict else "no accelerator",
    }
