from __future__ import annotations

import pytest

from mxenv.facts import Observed, Unreadable
from mxenv.question import Completed
from mxenv.vendors._mxsmi import (
    NO_DEVICE,
    NoDevice,
    NoTool,
    Output,
    agreed,
    hear,
    model,
    version,
)
from mxenv.vendors._words import address, excerpt


def never(text: str) -> Output | Unreadable:
    msg = f"not to be parsed: {text!r}"
    raise AssertionError(msg)


class TestWhatACommandThatToldNothingMeans:
    def test_a_tool_that_is_not_there_is_not_a_missing_card(self) -> None:
        assert hear(Completed(127), never) == NoTool()

    def test_no_device_is_what_the_tool_says(self) -> None:
        heard = hear(Completed(2, f"{NO_DEVICE}\n"), never)
        assert isinstance(heard, NoDevice)
        assert isinstance(heard.smi, Unreadable)

    def test_no_device_may_come_with_a_version(self) -> None:
        said = Completed(2, f"mx-smi  version: 2.2.12\n{NO_DEVICE}\n")
        assert hear(said, never) == NoDevice(Observed("2.2.12"))

    def test_a_tool_that_fails_is_not_a_missing_card(self) -> None:
        heard = hear(Completed(1, "", "mxSmlInit failed: load dll failure\n"), never)
        assert heard == Unreadable("it exited with 1: mxSmlInit failed: load dll failure")

    def test_a_time_limit_passes(self) -> None:
        heard = hear(Completed(124, "mx-smi  version: 2.2.12\n"), never)
        assert isinstance(heard, Unreadable)
        assert heard.passing

    def test_what_could_not_be_asked_is_not_known(self) -> None:
        assert hear(Unreadable("not recorded"), never) == Unreadable("not recorded")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.8.30", "3.8.30"),
        (" 2.5.014 ", "2.5.014"),
        ("3.8.0.11.c600u", "3.8.0.11.c600u"),
        ("3.8.0.11-c600u", "3.8.0.11-c600u"),
        ("20251011.746, debug, x64", "20251011.746"),
    ],
)
def test_a_version_is_read_as_it_stands(text: str, expected: str) -> None:
    assert version(text) == Observed(expected)


@pytest.mark.parametrize("text", ["unknown", "", "N/A", "3", "3.", "v3.8", "3.8 30", "3." * 60])
def test_anything_else_is_no_version(text: str) -> None:
    assert isinstance(version(text), Unreadable)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MXC500", "C500"),
        ("MetaX C500", "C500"),
        ("C500", "C500"),
        ("MXC550-PL", "C550-PL"),
        ("MXN260 VF", "N260 VF"),
    ],
)
def test_a_model_has_one_name(text: str, expected: str) -> None:
    assert model(text) == Observed(expected)


@pytest.mark.parametrize("text", ["", "MetaX", "C50", "Mars X2010", "unknown"])
def test_anything_else_is_no_model(text: str) -> None:
    assert isinstance(model(text), Unreadable)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000:0E:00.0", "0000:0e:00.0"),
        ("0e:00.0", "0000:0e:00.0"),
        ("00000000:37:00.1", "0000:37:00.1"),
        ("00010000:37:00.1", "10000:37:00.1"),
        ("0000:0e:00", None),
        ("hotspot", None),
    ],
)
def test_an_address_has_one_form(text: str, expected: str | None) -> None:
    assert address(text) == expected


def test_what_all_say_is_agreed() -> None:
    assert agreed([]) is None
    assert agreed([Observed("1.2"), Observed("1.2")]) == Observed("1.2")
    assert agreed([Observed("1.2"), Observed("1.3")]) == Unreadable(
        "it differs from card to card: 1.2, 1.3"
    )


def test_an_excerpt_is_short_and_plain() -> None:
    assert excerpt("\x1b[31mfailed\x1b[0m\n\n  again\t") == "failed again"
    assert len(excerpt("x" * 1000)) == 160
    assert "1234" not in excerpt("GPU-12341234-1234-1234-1234-123412341234")
