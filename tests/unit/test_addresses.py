from __future__ import annotations

import pytest

from mxenv.addresses import LONGEST, file_names, listed, once, parts
from mxenv.errors import InvalidFile

SCHEMES = ("local", "recording", "root", "ssh")


@pytest.mark.parametrize(
    ("address", "scheme", "rest"),
    [
        ("local:", "local", ""),
        ("ssh:me@host", "ssh", "me@host"),
        ("ssh://me@host", "ssh", "me@host"),
        ("root:/a:b", "root", "/a:b"),
        ("local", "local", ""),
    ],
)
def test_an_address_is_a_scheme_and_a_rest(address: str, scheme: str, rest: str) -> None:
    assert parts(address) == (scheme, rest)


def test_a_list_has_hosts_addresses_comments_and_blank_lines() -> None:
    text = (
        "\ufeff# the pilot\r\n\r\nnode1\nroot@node2.example.com  # by hand\n local: \n"
        "recording:a#b\nroot:///srv\nfe80::1%eth0\n"
        "me@[2001:db8::1]:22\nnode3:2222\n"
    )
    assert listed(text, context="hosts.txt", schemes=SCHEMES) == (
        "ssh:node1",
        "ssh:root@node2.example.com",
        "local:",
        "recording:a#b",
        "root:/srv",
        "ssh:[fe80::1%eth0]",
        "ssh:me@[2001:db8::1]:22",
        "ssh:node3:2222",
    )


def test_what_is_listed_twice_is_one_node() -> None:
    text = "node1\nssh:node1\nssh://node1\nnode1 # again\n"
    assert listed(text, context="hosts.txt", schemes=SCHEMES) == ("ssh:node1",)


@pytest.mark.parametrize(
    "line",
    [
        "shh:node",
        "node:",
        "a b",
        "-l@node",
        "-oProxyCommand=x",
        "me@-x",
        "ssh",
        "n\u00f6de",
        "a\x07",
    ],
)
def test_a_line_that_names_no_node_is_told_by_its_number(line: str) -> None:
    if line == "ssh":  # is a host of that name
        assert listed(line, context="h", schemes=SCHEMES) == ("ssh:ssh",)
        return
    with pytest.raises(InvalidFile) as raised:
        listed(f"# one\nnode1\n{line}\n", context="hosts.txt", schemes=SCHEMES)
    assert raised.value.context == "hosts.txt:3"


def test_a_list_of_nothing_is_no_list() -> None:
    with pytest.raises(InvalidFile, match="names no node"):
        listed("\n# node1\n", context="hosts.txt", schemes=SCHEMES)


def test_addresses_are_the_same_whichever_way_they_are_written() -> None:
    assert once(["local", "ssh:a", "ssh://a", "ssh:b", "local"]) == ("local", "ssh:a", "ssh:b")


class TestNamesOfFiles:
    def test_they_say_which_node_it_is(self) -> None:
        addresses = ["local:", "ssh:me@node1", "recording:/a/c500/", "image:host/x/vllm:0.17"]
        assert list(file_names(addresses).values()) == ["local", "me@node1", "c500", "vllm-0.17"]

    def test_two_that_would_be_alike_are_told_apart(self) -> None:
        addresses = ["root:/a/x", "root:/b/X", "root:/c/x", "recording:c/x", "root:c/x", "root:c:x"]
        assert list(file_names(addresses).values()) == [
            "x",
            "root-b-X",
            "root-c-x",
            "recording-c-x",
            "x-2",
            "c-x",
        ]

    @pytest.mark.parametrize(
        "address", ["root:..", "root:/", "root:/.ssh", "root:a\nb", "ssh:\u6c90"]
    )
    def test_they_lead_nowhere_else(self, address: str) -> None:
        (name,) = file_names([address]).values()
        assert name
        assert not {"/", "\n"} & set(name)
        assert name[0] not in ".-"

    def test_they_are_no_longer_than_a_disk_takes(self) -> None:
        (name,) = file_names([f"root:/{'x' * 300}"]).values()
        assert len(name) == LONGEST
