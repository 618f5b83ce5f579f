"""The command line: the one place that parses arguments, prints and exits.

A command is a file of this folder and holds a click command as ``COMMAND``; adding one edits
no other file.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

from mxenv import __version__

STARTING = 100_000
"""Objects that are made until garbage is looked for; Python has it at 700."""


def main() -> None:
    """Run `mxenv` with the arguments of this process."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        # Importing click takes several times as long as everything this needs.
        with suppress(OSError):  # which is told below
            # Past the buffer: what a full disk did not take would be tried again at the end.
            os.write(sys.stdout.fileno(), f"mxenv {__version__}\n".encode())
            return
    # What starting makes lives to the end, so that looking for garbage in it is in vain.
    gc.set_threshold(STARTING)
    from mxenv.cli._front import run  # noqa: PLC0415 - imported late: see above

    run()
