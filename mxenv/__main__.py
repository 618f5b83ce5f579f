"""``python -m mxenv``."""

from __future__ import annotations

from mxenv.cli import main

if __name__ == "__main__":
    main()
