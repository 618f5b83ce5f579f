"""The command line: the one place that parses arguments, prints and exits.

A command is a file of this folder and holds a click command as ``COMMAND``; adding one edits
no other file.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from mxenv import __version__


def main() -> None:
    """Run `mxenv` with the arguments of this process."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        # Importing click takes several times as long as everything this needs.
        with suppress(OSError):  # which is told below
            sys.stdout.write(f"mxenv {__version__}\n")
            sys.stdout.flush()
            return
    from mxenv.cli._front import run  # noqa: PLC0415 - imported late: see above

    run()
