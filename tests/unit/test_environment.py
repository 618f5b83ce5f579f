from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _stacks import GONE, fact, snapshot

from mxenv.environment import candidates, environments, select_env, within
from mxenv.errors import UsageError

if TYPE_CHECKING:
    from mxenv.facts import Fact, Snapshot


def node(**environments: dict[str, str]) -> Snapshot:
    facts: list[Fact] = [fact("metax.sdk", "3.5.3.20")]
    for env, packages in environments.items():
        facts.append(fact(f"python.version[/opt/{env}]", "3.10.12"))
        facts += [fact(f"python.package[/opt/{env}/{n}]", v) for n, v in packages.items()]
    return snapshot(*facts)


VENDORS = {"torch": "2.8.0+metax3.5.3.9"}
REPLACED = {"torch": "2.6.0+cu124", "apex": "0.1+metax3.5.3.9"}
UPSTREAM = {"torch": "2.6.0"}
PLAIN = {"numpy": "1.26.4"}


@pytest.mark.parametrize(
    ("environments", "expected"),
    [
        ({"a": VENDORS, "b": UPSTREAM, "c": REPLACED}, ("/opt/a",)),
        ({"a": REPLACED, "b": UPSTREAM}, ("/opt/a",)),
        ({"a": PLAIN, "b": UPSTREAM}, ("/opt/b",)),
        ({"a": PLAIN}, ()),
        ({"b": VENDORS, "a": VENDORS}, ("/opt/a", "/opt/b")),
        ({}, ()),
    ],
)
def test_the_environment_in_use_is_that_of_the_vendors_framework(
    environments: dict[str, dict[str, str]], expected: tuple[str, ...]
) -> None:
    found = node(**environments)
    assert candidates(found) == expected
    assert select_env(found, None) == (expected[0] if len(expected) == 1 else None)


def test_an_environment_can_be_named() -> None:
    found = node(a=VENDORS, b=VENDORS)
    assert select_env(found, "/opt/b/") == "/opt/b"
    assert environments(found) == {"/opt/a", "/opt/b"}


def test_an_environment_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="node-1 has no Python environment '/opt/x'") as caught:
        select_env(node(a=VENDORS), "/opt/x")
    assert caught.value.hint == "it has /opt/a"
    with pytest.raises(UsageError) as caught:
        select_env(node(), "/")
    assert caught.value.hint == "none was found there"


def test_what_belongs_to_another_environment_is_left_out() -> None:
    found = within(node(a=VENDORS, b=PLAIN), "/opt/b")
    assert [f.label for f in found.facts] == [
        "metax.sdk",
        "python.package[/opt/b/numpy]",
        "python.version[/opt/b]",
    ]


def test_what_is_true_of_all_environments_is_kept() -> None:
    found = snapshot(fact("python.package", GONE))
    assert within(found, "/opt/a") == found
    assert within(node(a=PLAIN), None) == node(a=PLAIN)
