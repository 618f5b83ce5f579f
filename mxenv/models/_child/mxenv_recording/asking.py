"""What a model's own code is answered when it asks on which device it runs.

On a walk without values there is no device to tell of, so that the answer is a guess: whether it
runs on a card of the CUDA kind is one question for the whole model, walked both ways. Only what
the model's own code asks counts; what torch itself asks is in `mxenv.device_choice`.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from mxenv_recording.ledger import relative
from mxenv_recording.places import PACKAGES, theirs

CARD = "the device is a card"
"""The question that is walked both ways, wherever it is asked, and whichever way it is put."""
CPU = "the device is the CPU"
TOLD = "the model asks for the device; walked as on a card and as elsewhere"
GAP = "what follows on a card from what the model asks of its device"
MADE = "what is made for a card, where the model asks of its device while it is made"
_current: list[Asked] = []
_own: dict[Any, bool] = {}


def own(depth: int = 2) -> bool:
    """Return whether the model's own code is what asks, ``depth`` calls from here."""
    code = sys._getframe(depth).f_code
    known = _own.get(code)
    if known is None:
        known = _own[code] = theirs(code.co_filename)
    return known


def current() -> Asked | None:
    """Return who answers now; nobody, while no model is walked through."""
    return _current[-1] if _current else None


class Asked:
    """Answers for one phase of a walk on ``device``; ``paths`` remembers those that were given."""

    def __init__(self, ledger: Any, paths: Any, device: str) -> None:
        self.ledger, self.paths = ledger, paths
        self.device = torch.device(device).type
        self.guessing = self.device == "meta"
        """Whether there is no device that could tell."""
        self.stands_in = self.device in {"meta", "cpu"}
        """Whether it is not on the card that counts: what is answered need not be so there."""

    def __enter__(self) -> Asked:  # noqa: PYI034 - Python 3.8 has no Self
        _current.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _current.remove(self)

    def card(self, subject: str) -> bool:
        """Return whether the model runs on a card, where ``subject`` asks for it."""
        if not self.guessing:
            self.missed()
            return self.device == "cuda"
        self.note(subject)
        return self._once(CARD)

    def is_kind(self, real: str, wanted: str, subject: str) -> bool:
        """Return whether a tensor on ``real`` is said to be on a device of the ``wanted`` kind."""
        if not self.guessing and real == self.device and wanted in {"cpu", "cuda"}:
            self.missed()
        if not self.guessing or real != "meta" or wanted not in {"cpu", "cuda", "meta"}:
            return real == wanted
        card = self.card(subject)
        if wanted == "cuda" or card:
            return card and wanted == "cuda"
        return self._once(CPU) == (wanted == "cpu")

    def kind(self, real: str, subject: str) -> str:
        """Return the kind of device that a tensor on ``real`` is said to be on."""
        return next(
            (one for one in ("cuda", "cpu") if self.is_kind(real, one, subject)),
            real,
        )

    def ability(self, subject: str) -> bool:
        """Return whether a card can do something: a question of its own, walked both ways."""
        return self.card(subject) and (not self.guessing or self._once(subject))

    def compared(self, subject: str) -> bool:
        """Return what a number of the card is said to compare as, at this place in the code."""
        self.note(subject)
        places = self.ledger.places
        return bool(self.paths.answer((subject, *places.calls()), places.line()))

    def unknown(self, subject: str) -> None:
        """Note that a fact of the card was read that nobody knows here."""
        self._gap(f"what follows from {subject}, which the model reads from the card")

    def missed(self) -> None:
        """Note that what was answered is so here, and need not be on a card."""
        if not self.guessing and self.stands_in:
            self._gap(GAP)

    def note(self, subject: str) -> None:
        """Note that a device was asked for."""
        self.ledger.assume("device", subject, TOLD)

    def _gap(self, said: str) -> None:
        if not any(gap.startswith(said) for gap in self.ledger.gaps):
            line = self.ledger.places.line()
            self.ledger.gaps.append(f"{said}: first at {line}" if line else said)

    def _once(self, site: str) -> bool:
        """Return the one answer that a question has in a walk."""
        known = self.paths.taken.get(site)
        return self.paths.answer(site, self.ledger.places.line()) if known is None else known


class Making(Asked):
    """Answers while a model is made, which is done one way alone: whatever it asks is a gap."""

    def __init__(self, ledger: Any, device: str = "meta") -> None:
        super().__init__(ledger, None, device)
        self.guessing = False

    def missed(self) -> None:
        """Note it, unless a library asks while it is imported, which says nothing of a model."""
        if not self.stands_in:
            return
        frame, asking, importing = sys._getframe(1), "", False
        while frame is not None:
            code = frame.f_code
            if not asking and theirs(code.co_filename):
                asking = f"{relative(code.co_filename)}:{frame.f_lineno}"
                library = PACKAGES in code.co_filename
            importing = importing or code.co_filename.startswith("<frozen importlib")
            frame = frame.f_back  # type: ignore[assignment]
        said = f"{MADE}: first at {asking}"
        if asking and not (library and importing) and not self.ledger.gaps:
            self.ledger.gaps.append(said)
