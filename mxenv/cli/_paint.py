"""How a style looks on a terminal."""

from __future__ import annotations

from functools import cache

from rich.color import ColorSystem
from rich.style import Style


def paint(text: str, style: str) -> str:
    """Return ``text`` with the escapes of ``style``, in the terminal's own sixteen colours."""
    return _style(style).render(text, color_system=ColorSystem.STANDARD) if style else text


@cache
def _style(style: str) -> Style:
    return Style.parse(style)
