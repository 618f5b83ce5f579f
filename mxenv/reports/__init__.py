"""Ways to write a result down: one file each, the format's name is the file's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mxenv.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A format; a plug-in file holds one as ``REPORT``."""

    title: str
    verdicts: Callable[[Sequence[Verdict]], str]
    """Render verdicts: equal values give equal text; no clock and no terminal is asked."""
