"""How a probe declares what it asks, and how answers become a snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from mxenv.facts import Absent, Fact, FactKey, Observed, Snapshot, Unreadable, View
from mxenv.frozen import frozen
from mxenv.patience import LATE, Late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from mxenv.question import Answers, Question


DENIED = ("permission denied", "operation not permitted")
NEEDED = "needs root: "
"""What a reason begins with that whoever asks has not the rights to read."""
MOST = 100_000
"""Facts that one probe may yield; twenty environments of 300 distributions give a third of it."""
CROWDED = Unreadable(f"not kept: there are more than {MOST:,} such facts")
LONGEST = 400
"""Characters of a reason: most quote what a node said, which may be anything and of any length."""


class Host(Protocol):
    """A node as something that answers.

    A question that fails is an answer; a node that cannot be asked raises `HostUnreachable`.
    """

    @property
    def name(self) -> str:
        """The node's name, as the snapshot will have it."""

    @property
    def view(self) -> View:
        """What is being looked at; a node turns out to be a container by its answers."""

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer every question, all at once."""


def no_more(answers: Answers) -> Iterable[Question]:  # noqa: ARG001 - the signature is the protocol
    """Ask no more; a probe of which this is the ``more`` need not be told any answer."""
    return ()


def nothing(options: Mapping[str, str]) -> Iterable[tuple[str, ...]]:  # noqa: ARG001 - as above
    """Run no more whatever is wanted; what most probes do."""
    return ()


@frozen
class Probe:
    """Questions, and the function that understands their answers; it never touches a node."""

    keys: tuple[FactKey, ...]
    questions: tuple[Question, ...]
    read: Callable[[Answers], Iterable[Fact]]
    more: Callable[[Answers], Iterable[Question]] = no_more
    """What else to ask, now that these answers are in."""
    read_only: tuple[tuple[str, ...], ...] = ()
    """Every argv that ``more`` may ask for beside those among ``questions``."""
    on_demand: Callable[[Mapping[str, str]], Iterable[tuple[str, ...]]] = nothing
    """Every argv that ``more`` may ask for only since whoever asks wants these options."""


def read_all(probes: Iterable[Probe], answers: Answers) -> Iterator[Fact]:
    """Yield the facts of every probe; one that fails leaves unreadable facts, never a gap.

    Where time is short each has its share of it, so that one with much to understand costs no
    others; what is left in the end is for those.
    """
    probes = tuple(probes)
    told: list[_Told] = []
    for number, probe in enumerate(probes):
        share = answers.patience.share(1 / (len(probes) - number))
        told.append(_told(probe, replace(answers, patience=share)))
    for probe, first in zip(probes, told, strict=True):
        again = first.unread == LATE and answers.patience.left() > 0
        said = _told(probe, answers) if again else first
        yield from said.facts
        yield from _unread(probe, said)


@frozen
class _Told:
    """What came of one probe."""

    facts: Sequence[Fact]
    unread: Unreadable | None = None
    """Why there may be more to say."""


def _told(probe: Probe, answers: Answers) -> _Told:
    """Return what a probe reads, or as much as there is time and room for."""
    facts: list[Fact] = []
    try:
        for fact in answers.each(probe.read(answers)):
            if len(facts) >= MOST:
                return _Told(facts=facts, unread=CROWDED)
            facts.append(fact)
    except Late:
        return _Told(facts=facts, unread=LATE)
    except Exception as error:  # noqa: BLE001 - rubbish from a node costs its own facts only
        reason = f"its answer was not understood ({type(error).__name__}: {error})"
        return _Told(facts=(), unread=Unreadable(reason))
    return _Told(facts=facts)


def _unread(probe: Probe, said: _Told) -> Iterator[Fact]:
    """Yield what a probe says nothing of, and of which of its lists there may be more."""
    told = {fact.key for fact in said.facts}
    reading = said.unread or Unreadable("the probe did not report it")
    for key in probe.keys:
        if key.name not in told or (key.instance and said.unread):
            yield Fact(key=key.name, reading=reading, source="mxenv")


def snapshot(
    probes: Iterable[Probe], answers: Answers, *, node: str, view: View, taken_at: datetime
) -> Snapshot:
    """Read every answer into a snapshot of ``node``.

    A host that turns out to run in a container is viewed as one; facts of the host that an
    image cannot hold are unreadable there, whatever the probe made of their absence.
    """
    probes = tuple(probes)
    keys = {key.name: key for probe in probes for key in probe.keys}
    facts = tuple(read_all(probes, answers))
    if view is View.HOST and any(
        fact.key == "container.runtime" and isinstance(fact.reading, Observed) for fact in facts
    ):
        view = View.CONTAINER
    placed = tuple(_placed(fact, keys[fact.key], view) for fact in facts)
    return Snapshot(node=node, view=view, taken_at=taken_at, facts=placed)


def _placed(fact: Fact, key: FactKey, view: View) -> Fact:
    if isinstance(fact.reading, Unreadable) and (said := _said(fact.reading)) != fact.reading:
        fact = replace(fact, reading=said)
    if key.view is not None and view is View.IMAGE and isinstance(fact.reading, Absent):
        # Looking for a driver in an image and finding none says nothing about any node.
        fact = replace(fact, reading=Unreadable("an image does not hold it; ask a node"))
    view = view if key.view is None else key.view
    if fact.view is view:
        return fact
    # Not `replace`, which takes five times as long: there are tens of thousands.
    return Fact(
        key=fact.key,
        instance=fact.instance,
        reading=fact.reading,
        source=fact.source,
        view=view,
        volatile=fact.volatile,
    )


def _said(reading: Unreadable) -> Unreadable:
    """Return why nothing was read, in few words, and whether somebody else could have."""
    reason = reading.reason
    if any(sign in reason for sign in DENIED):
        # Nothing else needs it, so that mxenv is never to be run as root for the rest.
        reason = f"{NEEDED}{reason}"
    if len(reason) > LONGEST:
        reason = f"{reason[: LONGEST - 1]}…"
    return Unreadable(reason, reading.passing)
