"""Which way is taken at each question that tensors without values cannot answer."""

from __future__ import annotations

import dis
from typing import Any

import torch

MOST = 16
"""Walks over one model."""
NO = 2
"""The walk on which every answer is no."""
AGAIN = 1000
"""How often one question gets the same answer; a loop that goes on for that long is left."""
RAISE = dis.opmap["RAISE_VARARGS"]
CHECKS = torch.__file__
"""Where torch keeps the checks that models call."""

Site = Any


class Paths:
    """The answers of one walk after another, until every question was answered both ways."""

    def __init__(self) -> None:
        self.plan: dict[Site, bool] = {}
        self.walks = 0
        self.answered: set[tuple[Site, bool]] = set()
        self.before: dict[Site, dict[Site, bool]] = {}
        """What had been answered when a question was first met."""
        self.shown: dict[Site, str] = {}
        self.taken: dict[Site, bool] = {}
        self.times: dict[Site, int] = {}

    def answer(self, site: Site, shown: str) -> bool:
        """Return the answer to the question at ``site``, which is ``shown`` to people."""
        self.before.setdefault(site, dict(self.taken))
        self.shown.setdefault(site, shown)
        answer = self.plan.get(site, self.walks != NO)
        self.times[site] = self.times.get(site, 0) + 1
        if self.times[site] > AGAIN:
            answer = not answer
        self.taken.setdefault(site, answer)
        self.answered.add((site, answer))
        return answer

    def open(self) -> list[tuple[Site, bool]]:
        """Return the answers that no walk has given yet."""
        return [
            (site, answer)
            for site in self.before
            for answer in (False, True)
            if (site, answer) not in self.answered
        ]

    def onward(self) -> bool:
        """Plan the next walk; return whether there is one."""
        left = self.open()
        if not left or self.walks >= MOST:
            return False
        # Every one no comes first: enough, where no question hangs on the answer to another.
        site, answer = left[0]
        self.plan = {} if self.walks + 1 == NO else {**self.before[site], site: answer}
        return True

    def begin(self) -> None:
        """Begin a walk."""
        self.walks += 1
        self.taken, self.times = {}, {}


def refused(error: BaseException, theirs: Any) -> bool:
    """Return whether a model's own code raised an error, as it does where an answer cannot be.

    Any other says nothing of the model: what would have followed is not known.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    code = last.tb_frame.f_code
    raised = code.co_code[last.tb_lasti] == RAISE
    return raised and (theirs(code.co_filename) or code.co_filename == CHECKS)
