from __future__ import annotations

import pytest

from mxenv.facts import Observed, Unreadable
from mxenv.vendors._mxsmi import AVAILABLE, Output
from mxenv.vendors._mxsmi_table import parse

HEAD = """\
mx-smi  version: {smi}

=================== MetaX System Management Interface Log ===================
Timestamp                                         : Mon Nov 16 09:12:03 2026

Attached GPUs                                     : {count}
+---------------------------------------------------------------------------------+
"""
PROCESSES = """\

+---------------------------------------------------------------------------------+
| Process:                                                                        |
|  GPU                    PID         Process Name                 GPU Memory     |
|                                                                  Usage(MiB)     |
|=================================================================================|
|  0                     4711         python                       128            |
+---------------------------------------------------------------------------------+
"""
OF_2_1_6 = (
    HEAD.format(smi="2.1.6", count=2)
    + """\
| MX-SMI 2.1.6                        Kernel Mode Driver Version: 2.5.014         |
| MACA Version: 2.23.0.1018           BIOS Version: 1.13.4.0                      |
|------------------------------------+---------------------+----------------------+
| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Power                  | Memory-Usage        |                      |
|====================================+=====================+======================|
| 0           MXC550                 | 0000:1a:00.0        | 0%                   |
| 41C         52W                    | 912/65536 MiB       |                      |
+------------------------------------+---------------------+----------------------+
| 1           MXC550                 | 0000:1B:00.0        | 0%                   |
| 40C         50W                    | 912/65536 MiB       |                      |
+------------------------------------+---------------------+----------------------+
"""
    + PROCESSES
)
OF_2_1_12 = (
    HEAD.format(smi="2.1.12", count=1)
    + """\
| MX-SMI 2.1.12                       Kernel Mode Driver Version: 2.12.13         |
| MACA Version: unknown               BIOS Version: 1.13.4.0                      |
|------------------------------------+---------------------+----------------------+
| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Pwr:Usage/Cap          | Memory-Usage        |                      |
|====================================+=====================+======================|
| 0           MetaX C550             | 0000:2a:00.0        | 0%                   |
| 60C         51W / NA               | 318/65536 MiB       |                      |
+------------------------------------+---------------------+----------------------+
"""
    + PROCESSES
)
OF_2_2_6 = (
    HEAD.format(smi="2.2.6", count=1)
    + """\
| MX-SMI 2.2.6                        Kernel Mode Driver Version: 2.16.0          |
| MACA Version: 3.0.0.8               BIOS Version: 1.26.1.0                      |
|------------------------------------+---------------------+----------------------+
| GPU     NAME         Persistence-M | Bus-id              | GPU-Util      sGPU-M |
| Temp    Pwr:Usage/Cap         Perf | Memory-Usage        | GPU-State            |
|====================================+=====================+======================|
| 0       MetaX C500             Off | 0000:38:00.0        | 0%            Native |
| 51C     70W / 350W              P9 | 411/65536 MiB       | Available            |
+------------------------------------+---------------------+----------------------+
"""
    + PROCESSES
)
OF_2_2_12 = (
    HEAD.format(smi="2.2.12", count=1)
    + """\
| MX-SMI 2.2.12                      Kernel Mode Driver Version: 3.8.30           |
| MACA Version: 3.5.3.20             BIOS Version: 1.33.5.0                       |
|------------------+-----------------+---------------------+----------------------|
| Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M |
| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State            |
|==================+=================+=====================+======================|
| 0     MetaX C500 | 0           Off | 0000:37:00.0        | 0%           Enabled |
| 58W / 350W       | 49C          P9 | 8211/65536 MiB      | Available            |
+------------------+-----------------+---------------------+----------------------+

+---------------------------------------------------------------------------------+
| Sliced GPU                                                                      |
|------------------------------------+---------------------+----------------------|
| Minor    GPU    sGPU-Id    Compute | Vram Quota          | sGPU-Util            |
|====================================+=====================+======================|
| 022      0      3          25%     | 0/16000 MiB         | 0%                   |
+------------------------------------+---------------------+----------------------+
"""
    + PROCESSES
    + "\nEnd of Log\n"
)


def output(text: str) -> Output:
    parsed = parse(text)
    assert isinstance(parsed, Output)
    return parsed


@pytest.mark.parametrize(
    ("text", "smi", "kmd", "maca"),
    [
        (OF_2_1_6, "2.1.6", "2.5.014", "2.23.0.1018"),
        (OF_2_2_6, "2.2.6", "2.16.0", "3.0.0.8"),
        (OF_2_2_12, "2.2.12", "3.8.30", "3.5.3.20"),
    ],
)
def test_the_header_is_read_by_its_labels(text: str, smi: str, kmd: str, maca: str) -> None:
    table = output(text)
    assert (table.smi, table.kmd, table.maca) == (Observed(smi), Observed(kmd), Observed(maca))


def test_an_unknown_sdk_is_not_known() -> None:
    assert output(OF_2_1_12).maca == Unreadable("it says 'unknown'")


@pytest.mark.parametrize(
    ("text", "bdf", "model", "memory"),
    [
        (OF_2_1_6, "0000:1a:00.0", "C550", 65536),
        (OF_2_1_12, "0000:2a:00.0", "C550", 65536),
        (OF_2_2_6, "0000:38:00.0", "C500", 65536),
        (OF_2_2_12, "0000:37:00.0", "C500", 65536),
    ],
)
def test_a_card_is_read_in_every_layout(text: str, bdf: str, model: str, memory: int) -> None:
    card = output(text).devices[0]
    assert card.bdf == bdf
    assert card.model == Observed(model)
    assert card.memory_mib == Observed(memory)


def test_addresses_are_lower_case() -> None:
    assert [card.bdf for card in output(OF_2_1_6).devices] == ["0000:1a:00.0", "0000:1b:00.0"]


def test_a_whole_table_counts_its_cards() -> None:
    assert output(OF_2_1_6).count == Observed(2)


def test_the_header_names_the_bios_of_a_card_only_if_there_is_one_card() -> None:
    assert output(OF_2_1_12).devices[0].bios == Observed("1.13.4.0")
    assert [card.bios for card in output(OF_2_1_6).devices] == [None, None]


def test_old_tables_do_not_tell_a_state_and_new_ones_do() -> None:
    assert output(OF_2_1_12).devices[0].state is None
    assert output(OF_2_2_6).devices[0].state == AVAILABLE


def test_both_spellings_of_the_slicing_mode_are_one() -> None:
    assert output(OF_2_2_6).devices[0].slicing == Observed("off")
    assert output(OF_2_2_6.replace("Native", " *sGPU")).devices[0].slicing == Observed("on")
    assert output(OF_2_2_12).devices[0].slicing == Observed("on")
    assert output(OF_2_1_6).devices[0].slicing is None


def test_a_slice_belongs_to_its_card() -> None:
    (card,) = output(OF_2_2_12).devices
    assert card.slices == (("3", Observed(("compute 25 %", "16000 MiB"))),)


def test_a_long_model_name_may_fill_its_column() -> None:
    text = OF_2_2_6.replace("| 0       MetaX C500  ", "| 0 MetaX C550-PL     ")
    assert output(text).devices[0].model == Observed("C550-PL")


def test_a_table_cut_between_two_cards_has_no_count() -> None:
    cut = OF_2_1_6[: OF_2_1_6.index("| 1           MXC550")]
    assert output(cut).count == Unreadable(
        "the output is cut or not understood (2 attached, 1 read)"
    )


def test_a_table_cut_within_a_card_keeps_the_cards_before_it() -> None:
    cut = OF_2_1_6[: OF_2_1_6.index("| 40C         50W") + 9]
    table = output(cut)
    assert [card.bdf for card in table.devices] == ["0000:1a:00.0"]
    assert isinstance(table.count, Unreadable)


def test_half_a_version_is_no_version() -> None:
    cut = OF_2_2_12[: OF_2_2_12.index("3.8.30") + 4]
    assert isinstance(parse(cut), Unreadable)


def test_a_slice_of_a_card_that_is_not_listed_is_complained_of() -> None:
    text = OF_2_2_12.replace("| 022      0 ", "| 022      7 ")
    assert "a slice that is not understood" in output(text).complaints[0]


def test_the_same_address_twice_is_complained_of() -> None:
    table = output(OF_2_1_6.replace("0000:1B:00.0", "0000:1a:00.0"))
    assert len(table.devices) == 1
    assert isinstance(table.count, Unreadable)


def test_another_text_is_not_understood() -> None:
    assert parse("PARSE ERROR: Argument: -q\n") == Unreadable(
        "its output is not understood: PARSE ERROR: Argument: -q"
    )
    assert parse("") == Unreadable("its output is not understood: (nothing)")


def test_the_power_cap_is_what_follows_the_usage() -> None:
    caps = {
        text: [card.power_cap_w for card in output(text).devices] for text in (OF_2_2_6, OF_2_2_12)
    }
    assert list(caps.values()) == [[Observed(350)], [Observed(350)]]
    assert [card.power_cap_w for card in output(OF_2_1_12).devices] == [None]


def test_a_state_comes_with_its_reason_or_from_elsewhere() -> None:
    for cell, state in (
        ("Available           ", AVAILABLE),
        ("Not Available(broken)", "broken"),
        ("Not Available       ", None),
        ("0/65536 MiB         ", None),
    ):
        text = OF_2_2_12.replace("Available           ", f"{cell:<20}"[:20], 1)
        if len(cell) > 20:
            text = OF_2_2_12.replace("Available            |", f"{cell}|", 1)
        assert [card.state for card in output(text).devices] == [state], cell


def test_another_brands_table_is_read_as_well() -> None:
    text = OF_2_2_12.replace("mx-smi  version", "ht-smi  version").replace("MX-SMI", "HT-SMI")
    text = text.replace("MACA Version", "HPCC Version").replace("MetaX C500", "Mars X201 ")
    said = output(text)
    assert (said.smi, said.kmd, said.maca) == tuple(map(Observed, ("2.2.12", "3.8.30", "3.5.3.20")))
    assert [card.model for card in said.devices] == [Observed("X201")]


def test_a_card_is_known_by_its_number_too() -> None:
    assert [card.index for card in output(OF_2_1_6).devices] == [0, 1]


def test_a_card_that_is_sliced_may_have_slices_that_are_not_listed() -> None:
    assert not output(OF_2_2_12).lists_slices
    assert output(OF_2_2_6).lists_slices
