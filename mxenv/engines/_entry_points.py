"""Which scripts a wheel wants, as its ``entry_points.txt`` says."""

from __future__ import annotations

import re
from configparser import ConfigParser
from configparser import Error as Unreadable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_POINT = re.compile(r"(?P<module>[\w.]+)\s*:\s*(?P<attribute>[\w.]+)\s*(?:\[.*\])?\s*")
"""Of the packaging specification: a module, what is called in it, and extras that count no more."""

_SECTIONS = frozenset({"console_scripts", "gui_scripts"})


def scripts(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, module and attribute of each script; `ValueError` says what is not understood."""
    config = ConfigParser(delimiters="=")
    # Two scripts may differ in case alone.
    config.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        config.read_string(text)
        found = [
            item for one in config.sections() if one in _SECTIONS for item in config.items(one)
        ]
    except Unreadable as error:
        raise ValueError(" ".join(str(error).split())) from None
    for name, value in found:
        point = _POINT.fullmatch(value)
        if point is None:
            raise ValueError("an entry point is no name and module:function")
        yield name, point["module"], point["attribute"]
