"""Which way is taken at each question that tensors without values cannot answer."""

from __future__ import annotations

import dis
from typing import Any, Iterator, Tuple

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
Way = Tuple[Tuple[Site, bool], ...]
"""Answers in the order in which they were given."""


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
        self.ways: dict[Way, Way] = {}
        """Every way that was gone within a part of a walk; to each what was answered before it."""

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
        self._gone()
        if self.walks >= MOST:
            return False
        for site, answer in self.open():
            # Every one no comes first: it answers all where none hangs on the answer to another.
            self.plan = {} if self.walks + 1 == NO else {**self.before[site], site: answer}
            return True
        for way in self.apart():
            self.plan = dict(way)
            return True
        return False

    def _gone(self) -> None:
        """Keep which way the walk went that has come to its end."""
        before: Way = ()
        ways: dict[Any, Way] = {}
        for answer in self.taken.items():
            part = _part(answer[0])
            way = ways[part] = (*ways.get(part, ()), answer)
            self.ways.setdefault(way, before)
            before = (*before, answer)

    def apart(self) -> Iterator[Way]:
        """Yield each combination of answers in one part of a walk that no walk has given.

        Answers of one part are combined; what was answered in another was so as it happened.
        """
        for way, before in self.ways.items():
            site, answer = way[-1]
            if (*way[:-1], (site, not answer)) not in self.ways:
                yield (*before, (site, not answer))

    def parts(self) -> int:
        """Return in how many parts of a walk there was a question."""
        return len({_part(site) for site in self.before})

    def endless(self) -> list[str]:
        """Return where the walk was asked the same so often that it was answered otherwise."""
        return [self.shown[site] for site, times in self.times.items() if times > AGAIN]

    def begin(self) -> None:
        """Begin a walk."""
        self.walks += 1
        self.taken, self.times = {}, {}


def _part(site: Site) -> Any:
    """Return the phase in which a question is asked, or what else it is of."""
    return site[0] if isinstance(site, tuple) else site


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
