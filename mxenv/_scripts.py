"""mxenv's own scripts for the Python of a node, by the words that stand for them in an argv."""

from __future__ import annotations

from functools import cache

FILES = {"@operators": "models/_child/ask.py"}
"""By the word: a recording, and a list of what may be run, has the word and not the text."""


@cache
def text(word: str) -> str:
    """Return the script that ``word`` stands for."""
    from pathlib import Path  # noqa: PLC0415 - imported late: seldom is one run

    return Path(__file__).parent.joinpath(FILES[word]).read_text(encoding="utf-8")


def filled(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``argv`` as it is run: each word that stands for a script is its text."""
    return tuple(text(part) if part in FILES else part for part in argv)
