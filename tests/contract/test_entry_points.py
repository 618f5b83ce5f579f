"""The scripts of a wheel are those that the installer library finds."""

from __future__ import annotations

import pytest
from installer.utils import parse_entrypoints

from mxenv.engines import _entry_points

TEXTS = [
    "",
    "[console_scripts]\n\n[gui_scripts]\n",
    "[console_scripts]\na = a.b:main\nA=a:Main.run [extra, more]\n[other]\nb = nothing at all\n",
    "[gui_scripts]\ngui-one = pkg : start\n\n[console_scripts]\nx.y = pkg.mod:f  \n# z = a:b\n",
    "[console_scripts]\npath:like = a:b\n",
    "[console_scripts]\n\u00fc = m\u00f6dul:funktion\n",
]
WRONG = [
    "a = a:b\n",
    "[console_scripts]\na = a\n",
    "[console_scripts]\na = a:b extra\n",
    "[console_scripts]\na = a:b\na = a:c\n",
    "[console_scripts]\n[console_scripts]\n",
    "[console_scripts]\na\n",
    "[console_scripts]\na = %(b)s:c\n",
    "[console_scripts\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_are_the_same_scripts(text: str) -> None:
    assert list(_entry_points.scripts(text)) == [one[:3] for one in parse_entrypoints(text)]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_not_understood_is_understood_by_neither(text: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - the library asserts, or lets any pass
        list(parse_entrypoints(text))
    with pytest.raises(ValueError, match=r"\w"):
        list(_entry_points.scripts(text))
