from __future__ import annotations

from mxenv.facts import Observed, Unreadable
from mxenv.vendors._mxsmi import AVAILABLE, Output
from mxenv.vendors._mxsmi_lists import (
    parse_ecc,
    parse_list,
    parse_power,
    parse_vbios,
    parse_versions,
)

UUID = "GPU-00000000-0000-0000-0000-00000000000a"
LIST = f"""\
mx-smi  version: 2.2.12
GPU#0    MXC500      0000:37:00.0   Available (UUID: {UUID})
  SGPU#3   25% 15.625gb   Available (UUID: {UUID}) sgpu-1700000000
GPU#1    MXC500      0000:0E:00.0   Not Available(MetaX Sysfs File Unaccessible)
"""
OLD_LIST = """\
mx-smi  version: 2.2.6
GPU#0    MXC500      0000:37:00.0   Available
GPU#1    MXC600-AL   0000:38:00.0   Available
"""
UNITS = """\
    Version
        MACA                                      : {maca}\x20
        BIOS                                      : 1.33.5.0\x20
        KMD                                       : 3.8.30\x20
        SMP0                                      : 1.33.5.0\x20
        CCX0                                      : 1.33.0.0\x20
        VR0                                       : 0.13.0.5\x20
        MCU                                       : 1.2.6.0\x20

"""
VERSIONS = (
    """\
mx-smi  version: 2.2.12

=================== MetaX System Management Interface Log ===================
Timestamp                                         : Mon Nov 16 09:12:03 2026

Attached GPUs                                     : 2
GPU#0  MXC500  0000:37:00.0
"""
    + UNITS.format(maca="3.5.3.20")
    + "GPU#1  MXC500  0000:38:00.0\n"
    + UNITS.format(maca="3.5.3.20")
    + "End of Log\n"
)


def output(parsed: Output | Unreadable) -> Output:
    assert isinstance(parsed, Output)
    return parsed


def test_a_list_tells_number_model_and_state() -> None:
    first, second = output(parse_list(LIST)).devices
    assert (first.bdf, first.model, first.state) == ("0000:37:00.0", Observed("C500"), AVAILABLE)
    assert [first.index, second.index] == [0, 1]
    assert (second.bdf, second.state) == ("0000:0e:00.0", "MetaX Sysfs File Unaccessible")


def test_a_list_without_uuids_is_a_list_too() -> None:
    devices = output(parse_list(OLD_LIST)).devices
    assert [(card.model, card.state) for card in devices] == [
        (Observed("C500"), AVAILABLE),
        (Observed("C600-AL"), AVAILABLE),
    ]


def test_no_uuid_is_kept() -> None:
    assert UUID not in repr(parse_list(LIST))
    assert UUID not in repr(parse_list(LIST.replace("Available (", "Availalbe (")))


def test_a_list_cut_within_a_line_complains_of_it() -> None:
    end = "Not Available(MetaX"
    cut = output(parse_list(LIST[: LIST.index(end) + len(end)]))
    assert len(cut.complaints) == 1


def test_a_list_two_lines_of_which_became_one_complains_of_it() -> None:
    other = "GPU#2    MXC500      0000:0F:00.0   Not Available(MetaX Sysfs File Unaccessible)"
    joined = output(parse_list(LIST.replace("Unaccessible)\n", f"Unaccessible) {other}\n", 1)))
    assert len(joined.complaints) == 1
    assert "GPU#2" not in "".join(card.state or "" for card in joined.devices)


def test_a_list_gives_no_card_the_slice_of_a_line_that_was_lost() -> None:
    assert all(card.slices == () for card in output(parse_list(LIST)).devices)
    assert parse_list("  SGPU#3   25% 15.625gb   Available\n") == Unreadable(
        "its output is not understood: SGPU#3 25% 15.625gb Available"
    )


def test_every_firmware_unit_of_every_card_is_read() -> None:
    said = output(parse_versions(VERSIONS))
    assert said.count == Observed(2)
    assert (said.kmd, said.maca) == (Observed("3.8.30"), Observed("3.5.3.20"))
    for card in said.devices:
        assert card.bios == Observed("1.33.5.0")
        assert dict(card.firmware) == {
            "SMP0": Observed("1.33.5.0"),
            "CCX0": Observed("1.33.0.0"),
            "VR0": Observed("0.13.0.5"),
            "MCU": Observed("1.2.6.0"),
        }


def test_cards_that_differ_have_no_common_version() -> None:
    text = VERSIONS.replace("3.8.30", "3.4.4", 1)
    assert output(parse_versions(text)).kmd == Unreadable(
        "it differs from card to card: 3.4.4, 3.8.30"
    )


def test_a_version_cut_in_half_is_not_read() -> None:
    cut = VERSIONS[: VERSIONS.index("3.5.3.20") + 7]
    said = output(parse_versions(cut))
    assert said.maca is None
    assert said.complaints == ("it ends without 'End of Log'",)
    assert isinstance(said.count, Unreadable)


def test_other_texts_are_not_understood() -> None:
    assert isinstance(parse_versions("PARSE ERROR: Argument: --show-version\n"), Unreadable)
    assert isinstance(parse_list(""), Unreadable)


def log(*sections: str) -> str:
    cards = "".join(
        f"GPU#{n}  MXC500  0000:3{n}:00.0\n{section}\n" for n, section in enumerate(sections)
    )
    return f"mx-smi  version: 2.2.12\n\nAttached GPUs : {len(sections)}\n{cards}End of Log\n"


def test_ecc_is_on_or_off_or_not_understood() -> None:
    states = [f"    Ecc state\n        state : {word} \n" for word in ("Enable", "Disable", "?")]
    on, off, unknown = output(parse_ecc(log(*states))).devices
    assert (on.ecc, off.ecc) == (Observed("on"), Observed("off"))
    assert isinstance(unknown.ecc, Unreadable)


def test_a_card_that_cannot_say_says_why() -> None:
    failed = "GPU#0 show-ecc-state Sysfs error: No such file or directory\n"
    (card,) = output(parse_ecc(log(failed))).devices
    assert card.ecc == Unreadable("Sysfs error: No such file or directory")


def test_a_power_limit_is_a_number_of_watts() -> None:
    limits = ("350.000 W", "349.50 W", "350,000 W", "NA")
    cards = output(parse_power(log(*(f"        Limit : {limit}\n" for limit in limits)))).devices
    assert [card.power_cap_w for card in cards[:2]] == [Observed(350), Observed(349.5)]
    assert all(isinstance(card.power_cap_w, Unreadable) for card in cards[2:])


def test_what_a_log_does_not_speak_of_is_not_told() -> None:
    (card,) = output(parse_power(log("    Board Power\n"))).devices
    assert card.power_cap_w is None


def test_the_bios_may_make_virtual_functions_and_may_tell_its_version() -> None:
    old = "    Vbios info\n        SRIOV : Not Support \n"
    new = "    Vbios info\n        Version : 1.33.5.0 \n        SRIOV : Support \n"
    first, second = output(parse_vbios(log(old, new))).devices
    assert (first.sriov, first.bios) == (Observed("off"), None)
    assert (second.sriov, second.bios) == (Observed("on"), Observed("1.33.5.0"))


def test_a_log_that_lost_a_card_says_so() -> None:
    whole = log("        state : Enable\n", "        state : Disable\n")
    assert output(parse_ecc(whole)).all_there
    assert not output(parse_ecc(whole.replace("GPU#1  MXC500  0000:31:00.0\n", ""))).all_there
