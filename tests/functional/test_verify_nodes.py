"""A node is compared with a lock by its versions and by what the lock asks of a host."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from _locked import debian_lock, write_lock

from mxenv.api import nodes, verifying
from mxenv.errors import LockError, SnapshotError, UsageError
from mxenv.facts import Absent, Fact, Observed, Reading, Snapshot, Unreadable, View
from mxenv.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 30, tzinfo=UTC)
INSTALLED = {"alpha": "1.0", "beta": "2.0+metax3.5.3", "gamma": "0.3"}


def write(path: Path, packages: dict[str, Reading], kmd: Reading | None = None) -> Path:
    facts = [
        Fact(key="python.package", instance=f"/usr/{name}", reading=reading, source=f"/{name}")
        for name, reading in packages.items()
    ]
    if kmd is not None:
        facts.append(Fact(key="metax.kmd", reading=kmd, source="mx-smi"))
    snapshot = Snapshot(node="n", view=View.HOST, taken_at=NOW, facts=tuple(facts))
    nodes.write_snapshot(snapshot, path)
    return path


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return write_lock(tmp_path, debian_lock(tmp_path, "metax.kmd >= 3.8"))


@pytest.fixture
def node(tmp_path: Path, lock: Path) -> Verifier:
    return Verifier(tmp_path / "node.json", lock)


class Verifier:
    """Verifies a snapshot with these facts."""

    def __init__(self, path: Path, lock: Path) -> None:
        self.path, self.lock = path, lock

    def __call__(
        self,
        changed: dict[str, Reading] | None = None,
        kmd: Reading | None = None,
        without: str = "",
    ) -> Verdict:
        packages = {n: Observed(v) for n, v in INSTALLED.items() if n != without}
        write(self.path, packages | (changed or {}), kmd or Observed("3.8.30"))
        return verifying.verify(self.lock, str(self.path), now=NOW)


def bad(verdict: Verdict) -> list[tuple[str, str]]:
    return [(f.code, f.subject) for f in verdict.findings if f.outcome is not Outcome.COMPATIBLE]


def test_a_node_as_locked_is_compatible(node: Verifier) -> None:
    verdict = node()
    assert verdict.outcome is Outcome.COMPATIBLE
    assert {f.code for f in verdict.findings} == {"MX310", "MX331"}


def test_a_version_may_be_spelt_in_another_way(node: Verifier) -> None:
    assert bad(node({"alpha": Observed("1.0.0")})) == []


@pytest.mark.parametrize(
    ("changed", "without", "expected"),
    [
        ({"alpha": Observed("1.1")}, "", ("MX312", "alpha")),
        ({"beta": Observed("2.0")}, "", ("MX312", "beta")),
        ({"gamma": Observed("0.4")}, "", ("MX315", "gamma")),
        ({"delta": Observed("1")}, "", ("MX314", "delta")),
        ({}, "alpha", ("MX311", "alpha")),
        ({"gamma": Absent()}, "", ("MX311", "gamma")),
    ],
)
def test_what_differs_is_named_and_incompatible(
    node: Verifier, changed: dict[str, Reading], without: str, expected: tuple[str, str]
) -> None:
    verdict = node(changed, without=without)
    assert bad(verdict) == [expected]
    assert verdict.outcome is Outcome.INCOMPATIBLE


def test_what_could_not_be_read_is_unknown(node: Verifier) -> None:
    verdict = node({"alpha": Unreadable("permission denied")})
    assert bad(verdict) == [("MX316", "alpha")]
    assert verdict.outcome is Outcome.UNKNOWN


def test_a_host_that_does_not_meet_the_lock_is_incompatible(node: Verifier) -> None:
    verdict = node(kmd=Observed("2.5.1"))
    assert bad(verdict) == [("MX332", "metax.kmd")]
    assert verdict.outcome is Outcome.INCOMPATIBLE


def test_a_host_that_could_not_be_asked_is_unknown(node: Verifier) -> None:
    assert node(kmd=Unreadable("not recorded")).outcome is Outcome.UNKNOWN


def test_a_snapshot_that_knows_no_such_environment_is_unknown(tmp_path: Path, lock: Path) -> None:
    path = write(tmp_path / "node.json", {}, Observed("3.8.30"))
    verdict = verifying.verify(lock, str(path), now=NOW)
    assert verdict.outcome is Outcome.UNKNOWN
    assert ("MX316", "distributions") in bad(verdict)


def test_another_environment_is_compared_when_it_is_named(node: Verifier) -> None:
    node()
    verdict = verifying.verify(node.lock, str(node.path), now=NOW, env="/opt/conda")
    assert ("MX316", "distributions") in bad(verdict)


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (Observed("3.8.30"), Outcome.COMPATIBLE),
        (Observed("3.8.31"), Outcome.INCOMPATIBLE),
        (Absent(), Outcome.INCOMPATIBLE),
        (Unreadable("not recorded"), Outcome.UNKNOWN),
    ],
)
def test_facts_of_the_base_are_compared_too(
    node: Verifier, tmp_path: Path, found: Reading, outcome: Outcome
) -> None:
    node(kmd=found)
    facts = (("metax.kmd", "3.8.30"),)
    lock = write_lock(tmp_path, replace(debian_lock(tmp_path / "again"), facts=facts))
    verdict = verifying.verify(lock, str(node.path), now=NOW)
    assert bad(verdict) == ([] if outcome is Outcome.COMPATIBLE else [("MX318", "metax.kmd")])
    assert verdict.outcome is outcome


def test_a_requirement_that_is_misspelt_is_an_invalid_lock(node: Verifier, tmp_path: Path) -> None:
    node()
    lock = write_lock(tmp_path, debian_lock(tmp_path / "again", "metax.kdm >= 3.8"))
    with pytest.raises(LockError, match=r"tool\.mxenv\.host\[0\]"):
        verifying.verify(lock, str(node.path), now=NOW)


def test_an_address_that_nothing_answers_to_is_a_usage_error(lock: Path) -> None:
    with pytest.raises(UsageError):
        verifying.verify(lock, "nowhere:x", now=NOW)


def test_a_layout_that_is_named_as_a_file_is_said_to_be_an_image(
    tmp_path: Path, lock: Path
) -> None:
    with pytest.raises(SnapshotError, match="cannot be read: is a directory") as raised:
        verifying.verify(lock, str(tmp_path / "base"))
    assert raised.value.hint == f"an image in a folder is oci:{tmp_path / 'base'}"


def test_a_root_file_system_is_looked_into(tmp_path: Path, lock: Path) -> None:
    root = tmp_path / "root"
    for place, name, version in (
        ("usr/local/lib/python3.11/dist-packages", "alpha", "1.0"),
        ("usr/lib/python3/dist-packages", "gamma", "0.4"),
    ):
        info = root / place / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    (root / "usr/bin").mkdir()
    (root / "usr/bin/python3.11").write_bytes(b"\x7fELF")
    (root / "usr/bin/python3").symlink_to("python3.11")
    verdict = verifying.verify(lock, f"root:{root}", now=NOW)
    assert {("MX311", "beta"), ("MX315", "gamma")} <= set(bad(verdict))
    assert ("MX312", "alpha") not in bad(verdict)
    assert verdict.outcome is Outcome.INCOMPATIBLE
