from __future__ import annotations

import json
from typing import Any

from mxenv.facts import Observed, Unreadable
from mxenv.vendors._mxsmi import AVAILABLE, Output
from mxenv.vendors._mxsmi_json import parse

BANNER = "mx-smi  version: 2.2.12\n"
SLICE = {
    "minor": 22,
    "parent_deviceId": 0,
    "sgpu_id": 3,
    "compute_quota": 25,
    "vram_quota": 16000,
    "vram_used": "0",
    "utilization": "0%",
}
CARD = {
    "device_id": 0,
    "vbios_version": "1.33.5.0",
    "unavailable_reason": "",
    "hotspot": "40.500",
    "sgpu_count": 1,
    "sgpu_info": [SLICE],
}


def text(card: Any = CARD, **members: Any) -> str:
    document = {
        "timestamp": "Mon Nov 16 09:12:03 2026",
        "smi_version": "2.2.12",
        "maca_version": "3.5.3.20",
        "driver_version": "3.8.30",
        "attached_gpus": 1,
        "0000:37:00.0": card,
    }
    return BANNER + json.dumps({**document, **members}, indent=4)


def output(said: str) -> Output:
    parsed = parse(said)
    assert isinstance(parsed, Output)
    return parsed


def test_versions_and_cards_are_read_after_the_banner() -> None:
    said = output(text())
    assert (said.smi, said.kmd) == (Observed("2.2.12"), Observed("3.8.30"))
    assert said.maca == Observed("3.5.3.20")
    assert said.count == Observed(1)
    (card,) = said.devices
    assert (card.bdf, card.state) == ("0000:37:00.0", AVAILABLE)
    assert card.bios == Observed("1.33.5.0")
    assert card.slices == (("3", Observed(("compute 25 %", "16000 MiB"))),)


def test_an_unavailable_card_brings_its_reason() -> None:
    reason = "Driver And Vbios Compatibility Check Failed"
    assert output(text({**CARD, "unavailable_reason": reason})).devices[0].state == reason


def test_an_unknown_version_is_not_known() -> None:
    assert output(text(maca_version="unknown")).maca == Unreadable("it says 'unknown'")
    assert output(text(driver_version=3)).kmd == Unreadable("driver_version is not a text")


def test_a_count_that_disagrees_is_no_count() -> None:
    for count in (8, "1", True, -1):
        assert isinstance(output(text(attached_gpus=count)).count, Unreadable), count


def test_slices_that_are_counted_and_not_told_are_complained_of() -> None:
    for card in ({**CARD, "sgpu_count": 2}, {**CARD, "sgpu_info": [{**SLICE, "vram_quota": "x"}]}):
        assert isinstance(output(text(card)).count, Unreadable)


def test_a_card_that_is_no_object_is_complained_of() -> None:
    assert output(text([1])).devices == ()
    assert isinstance(output(text([1])).count, Unreadable)


def test_json_that_was_cut_is_not_understood() -> None:
    whole = text()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        assert isinstance(parse(whole[:length]), Unreadable), length


def test_json_of_something_else_is_not_understood() -> None:
    for said in ('{"error": 1}', "[1]", "{" * 100_000, '{"a":' * 100_000):
        assert isinstance(parse(said), Unreadable)
