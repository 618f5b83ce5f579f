"""What a script cannot do, in words for whoever asked."""

from __future__ import annotations


class Refusal(Exception):
    """The model cannot be made or walked; ``where`` and ``hint`` help to go on."""

    def __init__(self, said: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(said)
        self.said, self.hint, self.where = said, hint, where


class Missing(Exception):
    """A module is not installed in this interpreter."""

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.module = module


def line(error: BaseException, most: int = 240) -> str:
    """Return somebody else's error in one line; of one that passes another on, that other."""
    if isinstance(error, ImportError) and error.__cause__ is not None:
        return line(error.__cause__, most)
    lines = [" ".join(text.split()) for text in str(error).splitlines()]
    told = [text for text in lines if text]
    first = " ".join(told[:2]) if told and told[0].endswith(":") else (told or [""])[0]
    return f"{type(error).__name__}: {first}"[:most] if first else type(error).__name__
