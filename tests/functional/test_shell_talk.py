"""What a shell on a node tells is taken as it comes, whichever shell it is."""

from __future__ import annotations

import shutil
import time
from threading import Event
from typing import TYPE_CHECKING

import pytest

from mxenv.transports._shell_pipe import ProcessPipe
from mxenv.transports._shell_talk import Item, Lost, Talk
from mxenv.transports._watched import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.transports._shell_talk import Sections

SHELLS = [["dash"], ["bash", "--posix"], ["busybox", "sh"], ["mksh"]]


@pytest.fixture(params=[shell for shell in SHELLS if shutil.which(shell[0])], ids=" ".join)
def talk(request: pytest.FixtureRequest) -> Iterator[Talk]:
    talk = Talk(ProcessPipe(request.param), Watch(time.monotonic() + 60, Event()))
    talk.hello()
    yield talk
    talk.close()


def test_an_item_is_there_before_the_node_has_gone_on_to_the_next(talk: Talk) -> None:
    told = talk.ask([Item("echo one"), Item("sleep 2; echo two"), Item("echo three")], "")
    began = time.monotonic()
    first = next(told)
    second_after = time.monotonic()
    assert first is not None
    assert first[""] == b"one\n"
    assert second_after - began < 2
    rest = [sections[""] for sections in told if sections is not None]
    assert rest == [b"two\n", b"three\n"]
    assert time.monotonic() - began > 2


def test_what_hangs_costs_itself_only_and_what_came_before_it_came(talk: Talk) -> None:
    items = [Item("echo one"), Item("sleep 50", silent=0.5), Item("echo three")]
    told = [None if sections is None else sections[""] for sections in talk.ask(items, "")]
    assert told == [b"one\n", None, b"three\n"]


def test_thinking_long_over_one_item_does_not_make_the_next_one_late(talk: Talk) -> None:
    items = [Item("echo one"), Item("sleep 1; echo two", silent=2.0)]
    told = []
    for sections in talk.ask(items, ""):
        told.append(sections)
        time.sleep(2.5 if len(told) == 1 else 0)
    assert [None if sections is None else sections[""] for sections in told] == [
        b"one\n",
        b"two\n",
    ]


def test_what_was_whole_when_time_was_over_is_given_before_the_end(talk: Talk) -> None:
    talk.watch = Watch(time.monotonic() + 1.5, Event())
    told: list[Sections | None] = []
    with pytest.raises(Lost):
        told.extend(talk.ask([Item("echo one"), Item("sleep 50", silent=60.0)], ""))
    assert [None if sections is None else sections[""] for sections in told] == [b"one\n"]
