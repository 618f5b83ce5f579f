"""Which versions work together on MetaX accelerators, and who says so."""

from __future__ import annotations

__version__ = "0.1.0"
