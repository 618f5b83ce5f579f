"""Commands on the files of a matrix: find flaws, carry all of it elsewhere, sign it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import PLAIN, Output, answers, emit

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.matrix_lint import Flaw

FLAWED = 1


@click.command("lint")
@click.argument("files", nargs=-1, type=_options.PATH)
@click.option(
    "--stale",
    metavar="DAYS",
    type=click.IntRange(1),
    help="Point out rows of which no evidence is younger.",
)
@_options.matrices
@answers(PLAIN)
def lint(
    output: Output, *, files: tuple[Path, ...], stale: int | None, matrix: _options.Matrices
) -> None:
    """Find all flaws of a matrix: wrong words, contradictions, ranges that nothing can be in.

    FILES are laid over what is shipped, and only their flaws are told; without them, everything
    that counts on this machine is looked at. Exits with 1 if there is a flaw.
    """
    from mxenv.api import matrices  # noqa: PLC0415 - imported late: --help needs none of it

    flaws = matrices.lint(matrix.sources, files, today=_options.today(), stale=stale)
    if output.format == "json":
        shown = [_flaw(flaw) for flaw in flaws]
        document = {"schema": "mxenv.lint/1", "flaws": shown}
        emit(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        from mxenv.reports._page import harmless  # noqa: PLC0415 - imported late: only for text

        emit("".join(harmless(_line(flaw)) + "\n" for flaw in flaws))
    output.note(f"{len(flaws) or 'no'} flaw{'s' * (len(flaws) != 1)}")
    sys.exit(FLAWED if flaws else 0)


def _flaw(flaw: Flaw) -> dict[str, str | int]:
    return {name: getattr(flaw, name) for name in flaw.__dataclass_fields__}


def _line(flaw: Flaw) -> str:
    place = f"{flaw.place}: " if flaw.place else ""
    hint = f" ({flaw.hint})" if flaw.hint else ""
    return f"{flaw.file}:{flaw.line}: {flaw.kind}: {place}{flaw.message}{hint}"


@click.command("export")
@click.argument("out", type=_options.PATH)
@click.option("--sign-key", metavar="PRIVATE", type=_options.PATH, help="Sign it as well.")
@_options.matrices
@answers(PLAIN)
def export(output: Output, *, out: Path, sign_key: Path | None, matrix: _options.Matrices) -> None:
    """Write all that counts here into the one file OUT, for another machine.

    There, `--matrix OUT` takes the place of what is shipped: the digest of the matrix is the same.
    """
    from mxenv.api import matrices, signing  # noqa: PLC0415 - imported late: --help needs none

    made = matrices.export(matrix.sources, out)
    values = {"file": str(out), "digest": made.digest, "layers": [one.name for one in made.layers]}
    if sign_key is not None:
        values["signature"] = str(signing.sign(out, sign_key))
    output.values("mxenv.export/1", values)


@click.command("import")
@click.argument("file", type=_options.PATH)
@click.option("--out", metavar="DIR", type=_options.PATH, required=True, help="Where to.")
@_options.signed
@answers(PLAIN)
def import_(output: Output, *, file: Path, out: Path, require_signed: tuple[Path, ...]) -> None:
    """Write the files of an exported matrix into a folder, to read or to change them.

    To check nodes, the exported FILE itself will do: `mxenv check --matrix FILE`.
    """
    from mxenv.api import matrices  # noqa: PLC0415 - imported late: --help needs none of it

    found, paths = matrices.unpack(file, out, require_signed)
    values = {"digest": found.digest, "files": [str(path) for path in paths]}
    output.values("mxenv.import/1", values)


@click.command("sign")
@click.argument("file", type=_options.PATH)
@click.option(
    "--key", metavar="PRIVATE", type=_options.PATH, required=True, help="An Ed25519 key, as PEM."
)
@answers(PLAIN)
def sign(output: Output, *, file: Path, key: Path) -> None:
    """Sign a matrix: FILE.sig beside it, for `--require-signed` with the public key.

    `openssl genpkey -algorithm ed25519` and `ssh-keygen -t ed25519` make keys.
    """
    from mxenv.api import signing  # noqa: PLC0415 - imported late: --help needs none of it

    output.values("mxenv.signature/1", {"signature": str(signing.sign(file, key))})


COMMANDS = (lint, export, import_, sign)
