from __future__ import annotations

import pytest

from mxenv.errors import UsageError
from mxenv.start_gate import limits, render, unread


def calls(*host: str) -> list[str]:
    """Return the lines of the script that check something."""
    names = ("driver '", "nvidia '", "kernel '", "models '", "node '")
    return [line for line in render(host).splitlines() if line.startswith(names)]


def test_what_no_shell_can_ask_of_a_host_is_told() -> None:
    host = ["metax.kmd >= 3.8", "metax.device.state == available"]
    (said,) = limits(host, gated=True)
    assert "cannot check metax.device.state == available" in said
    assert list(limits(host[:1], gated=True)) == []
    (said,) = limits(host, gated=False)
    assert "no start gate" in said


def test_without_requirements_the_script_asks_nothing_of_the_host() -> None:
    script = render([])
    assert "/sys" not in script
    assert script.endswith('exec "$@"\n')


def test_equal_requirements_give_equal_text_in_any_order() -> None:
    host = ["metax.kmd >= 3.8", "kernel.release >= 5.4"]
    assert render(host) == render(host[::-1]) == render(host * 2)


def test_each_clause_is_checked_by_itself() -> None:
    assert calls("metax.kmd >= 2.5, < 4", "metax.kmd in (3.8.*, 3.9)") == [
        "driver 'metax.kmd >= 2.5' '>=' '2.5'",
        "driver 'metax.kmd < 4' '<' '4'",
        "driver 'metax.kmd in (3.8.*, 3.9)' 'in' '3.8.*' '3.9'",
    ]


def test_the_driver_of_another_vendor_is_held_by_its_own_name() -> None:
    assert calls("nvidia.kmd >= 535") == ["nvidia 'nvidia.kmd >= 535' '>=' '535'"]
    assert unread(["nvidia.kmd >= 535"]) == ()


def test_models_become_the_pci_ids_that_fit_and_those_that_do_not() -> None:
    assert calls("metax.device.model in (C500, C550)") == [
        "node '/dev/mxcd'",
        "models 'metax.device.model in (C500, C550)' '0x4000 0x4001' '0x4040 0x4081 0x4083'",
    ]


def test_a_device_node_is_looked_for_once() -> None:
    host = ["metax.node[/dev/mxcd] present", "metax.device.model == C500"]
    assert calls(*host).count("node '/dev/mxcd'") == 1


def test_presence_of_a_driver_is_enough_where_no_more_is_asked() -> None:
    assert calls("metax.kmd present") == ["driver 'metax.kmd present' 'present'"]


def test_only_the_readers_that_are_used_are_in_the_script() -> None:
    assert "mx-smi" not in render(["kernel.release >= 5.4"])
    assert "osrelease" not in render(["metax.kmd >= 3"])


@pytest.mark.parametrize(
    "text",
    [
        "metax.sdk == 3.5.3.*",
        "metax.device.count >= 8",
        "metax.kmd absent",
        "metax.kmd == 3.8-rc1",
        "metax.kmd >= 3.1234567890123456789",
        "metax.device.model absent",
        "metax.device.model[0000:0e:00.0] == C500",
        "metax.node[/dev/mxcd] absent",
        "metax.node[/dev/$(x)] present",
        "metax.kmd.sdk == 3.*",
        "METAX == 1",
    ],
)
def test_what_a_shell_cannot_check_is_named_and_left_out(text: str) -> None:
    assert unread([text, "metax.kmd >= 3"]) == (text,)
    assert calls(text) == []


def test_nonsense_about_a_known_fact_is_refused() -> None:
    with pytest.raises(UsageError):
        render(["metax.kmd about 3"])


def test_a_root_stands_before_every_path_that_is_looked_at() -> None:
    host = ["metax.kmd >= 3", "metax.device.model == C500", "kernel.release >= 5"]
    assert "@/" not in render(host)
    script = render(host, root="/tree")
    for path in ("sys/module/metax/version", "proc/sys/kernel/osrelease", "usr/bin/mx-smi"):
        assert f"'/tree/{path}'" in script
    assert '"/tree$1"' in script
