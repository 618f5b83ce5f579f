from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mxenv.facts import Fact, Observed, Unreadable
from mxenv.probe import read_all
from mxenv.question import (
    Answers,
    Command,
    Completed,
    Found,
    Given,
    Glob,
    Matches,
    Question,
)
from mxenv.vendors import _metax_brand, _mxsmi_forms
from mxenv.vendors._mxsmi import Output
from mxenv.vendors.metax import VENDOR

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE, JSON, VERSIONS, LIST = (
    _mxsmi_forms.command(_metax_brand.METAX, form) for form in _mxsmi_forms.MAIN
)
PARSERS: dict[Command, Callable[[str], Output | Unreadable]] = {
    _mxsmi_forms.command(_metax_brand.METAX, form): partial(_mxsmi_forms.parse, form)
    for form in _mxsmi_forms.MAIN
}
CARDS = ("0000:0e:00.0", "0000:0f:00.0", "0000:37:00.0")
ROWS = """\
| {n}     MetaX C500 | {n}           Off | {bdf}        | 0%          Disabled |
| 58W / 350W       | 49C          P9 | 8211/65536 MiB      | Available            |
+------------------+-----------------+---------------------+----------------------+
"""
HEAD = """\
mx-smi  version: 2.2.12

Attached GPUs                                     : 3
"""
UNITS = """\
GPU#{n}  MXC500  {bdf}
    Version
        MACA                                      : 3.5.3.20\x20
        BIOS                                      : 1.33.5.0\x20
        KMD                                       : 3.8.30\x20
        CCX0                                      : 1.33.0.0\x20
"""


def cards(text: str) -> str:
    return "".join(text.format(n=n, bdf=bdf) for n, bdf in enumerate(CARDS))


WHOLE = {
    TABLE: f"""\
{HEAD}\
+---------------------------------------------------------------------------------+
| MX-SMI 2.2.12                      Kernel Mode Driver Version: 3.8.30           |
| MACA Version: 3.5.3.20             BIOS Version: 1.33.5.0                       |
|------------------+-----------------+---------------------+----------------------|
| Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M |
| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State            |
|==================+=================+=====================+======================|
{cards(ROWS)}
End of Log
""",
    JSON: "mx-smi  version: 2.2.12\n"
    + json.dumps(
        {
            "smi_version": "2.2.12",
            "maca_version": "3.5.3.20",
            "driver_version": "3.8.30",
            "attached_gpus": 3,
            **{bdf: {"vbios_version": "1.33.5.0", "unavailable_reason": ""} for bdf in CARDS},
        },
        indent=4,
    ),
    VERSIONS: f"{HEAD}{cards(UNITS)}\nEnd of Log\n",
    LIST: "mx-smi  version: 2.2.12\n" + cards("GPU#{n}    MXC500      {bdf}   Available\n"),
}
COMMANDS = pytest.mark.parametrize("command", PARSERS, ids=lambda c: " ".join(c.argv))
texts = st.text(max_size=400) | st.text("|+-= :#.0123456789aGPUMX\n", max_size=400)


def observed(text: str, parse: Callable[[str], Output | Unreadable]) -> set[str]:
    """Return every value that ``parse`` believes to have read."""
    said = parse(text)
    if isinstance(said, Unreadable):
        return set()
    readings = [said.smi, said.kmd, said.maca]
    for card in said.devices:
        readings += [card.model, card.memory_mib, card.bios, card.slicing]
        readings += [reading for _, reading in (*card.firmware, *card.slices)]
        readings += [Observed(card.bdf), *([Observed(card.state)] if card.state else [])]
    return {str(reading.value) for reading in readings if isinstance(reading, Observed)}


def node(given_to: dict[Command, str]) -> tuple[Fact, ...]:
    given = {question: Completed(0, text) for question, text in given_to.items()}
    return tuple(read_all([VENDOR.probe], Answers(given)))


@COMMANDS
def test_the_outputs_that_are_cut_below_are_whole(command: Command) -> None:
    said = PARSERS[command](WHOLE[command])
    assert isinstance(said, Output)
    assert (len(said.devices), said.complaints) == (len(CARDS), ())


@COMMANDS
@given(text=texts)
@example(text="{" * 5000)
@example(text='{"smi_version": ' + "9" * 5000 + "}")
@example(text="GPU#0 " * 500)
def test_any_text_is_read_or_said_to_be_unreadable(command: Command, text: str) -> None:
    assert isinstance(PARSERS[command](text), Output | Unreadable)


@COMMANDS
@given(data=st.data())
def test_a_cut_output_tells_nothing_that_the_whole_does_not(
    command: Command, data: st.DataObject
) -> None:
    whole = WHOLE[command]
    length = data.draw(st.integers(0, len(whole)))
    assert observed(whole[:length], PARSERS[command]) <= observed(whole, PARSERS[command])


@pytest.mark.parametrize("command", [TABLE, JSON, VERSIONS])
@given(data=st.data())
def test_a_cut_output_counts_all_cards_or_none(command: Command, data: st.DataObject) -> None:
    whole = WHOLE[command]
    said = PARSERS[command](whole[: data.draw(st.integers(0, len(whole)))])
    if isinstance(said, Output) and isinstance(said.count, Observed):
        assert said.count == Observed(len(CARDS))
        assert len(said.devices) == len(CARDS)


@COMMANDS
@given(data=st.data(), rubbish=st.text(max_size=12))
def test_a_damaged_output_never_yields_what_is_no_version(
    command: Command, data: st.DataObject, rubbish: str
) -> None:
    whole = WHOLE[command]
    at = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(at, min(len(whole), at + 40)))
    for fact in node({command: whole[:at] + rubbish + whole[end:]}):
        if isinstance(fact.reading, Observed) and fact.key in {"metax.kmd", "metax.device.bios"}:
            assert re.fullmatch(r"\d+(\.\d+)+([.\-_+]\w+)*", str(fact.reading.value))


@given(st.dictionaries(st.sampled_from(list(PARSERS)), st.sampled_from(list(WHOLE.values()))))
def test_no_source_says_a_thing_twice(given_to: dict[Command, str]) -> None:
    facts = node(given_to)
    said = [(fact.key, fact.instance, fact.source) for fact in facts]
    assert len(said) == len(set(said))


@given(text=texts)
def test_any_answer_to_every_question_is_read_without_a_failure(text: str) -> None:
    answers, questions = Answers(), list(VENDOR.probe.questions)
    while questions:
        answers |= Answers({question: any_answer(question, text) for question in questions})
        questions = [q for q in VENDOR.probe.more(answers) if q not in answers.given]
    assert any(command.argv == ("modinfo", "metax") for command in asked(answers))
    told = {fact.key for fact in VENDOR.probe.read(answers)}
    assert told == {key.name for key in VENDOR.probe.keys}


def any_answer(question: Question, text: str) -> Given:
    match question:
        case Command():
            return Completed(0, text)
        case Glob(pattern):
            matches: Matches = ((pattern.replace("*", "0000:37:00.0"), Found(text)),)
            return Found(matches)
        case _:
            return Found(text)


def asked(answers: Answers) -> list[Command]:
    return [question for question in answers if isinstance(question, Command)]
