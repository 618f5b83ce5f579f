"""An image is held against a node before it starts there, and nobody is asked for it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from _attested import key_pair
from _elf_files import shared
from _layouts import folder, image
from _locked import debian_lock, write_lock
from click.testing import CliRunner

from mxenv.api import building, nodes, scheduling
from mxenv.cli._front import FRONT
from mxenv.errors import LayoutError, UsageError
from mxenv.facts import Fact, Observed, Snapshot, View
from mxenv.stores.description import describe
from mxenv.stores.layout import open_source
from mxenv.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from _registry import Registry

NOW = datetime(2026, 11, 30, tzinfo=UTC)
WANTED = "metax.kmd >= 3.8"


def node(path: Path, needed: str, *, kmd: str = "3.8.30", arch: str = "x86_64") -> str:
    """The snapshot of a node whose driver has a library that needs this glibc, as it was probed."""
    root = path / "root"
    library = root / "opt/mxdriver/lib/libmxsml.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(shared(needed=["libc.so.6"], needs={"libc.so.6": [f"GLIBC_{needed}"]}))
    probed = nodes.probe(f"root:{root}", now=NOW)
    told = {"metax.kmd": kmd, "machine.arch": arch}
    facts = [fact for fact in probed.facts if fact.key not in told]
    for key, value in told.items():
        reading = Observed(value)
        facts.append(Fact(key=key, reading=reading, source="mx-smi", view=View.HOST))
    snapshot = Snapshot(node="node-7", view=View.HOST, taken_at=NOW, facts=tuple(facts))
    nodes.write_snapshot(snapshot, path / "node.json")
    return str(path / "node.json")


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock for MetaX cards on a base with glibc 2.36; its image lies beside it."""
    written = write_lock(tmp_path, replace(debian_lock(tmp_path, WANTED), accelerator="metax"))
    private, _ = key_pair(tmp_path, "site")
    building.build(written, out=tmp_path / "dist", cache=tmp_path / "cache", sign=private)
    return written


def before(lock: Path | None, root: Path, snapshot: str, *keys: Path, at: str = "") -> Verdict:
    address = f"oci:{root / 'dist'}{at}"
    (verdict,) = scheduling.before(lock, address, [snapshot], now=NOW, keys=keys)
    return verdict


def codes(verdict: Verdict) -> set[str]:
    return {f.code for f in verdict.findings if f.outcome is not Outcome.COMPATIBLE}


def found(verdict: Verdict, code: str) -> str:
    return "\n".join(f.found for f in verdict.findings if f.code == code)


def test_a_node_that_fits_fits_with_the_lock_or_the_one_that_the_image_brings(
    lock: Path, tmp_path: Path
) -> None:
    snapshot = node(tmp_path, "2.34")
    for named in (lock, None):
        verdict = before(named, tmp_path, snapshot, tmp_path / "site.pub.pem")
        assert verdict.outcome is Outcome.COMPATIBLE
        assert "need glibc 2.34, and the image has 2.36" in found(verdict, "MX333")
        assert {"MX331", "MX334", "MX350"} <= {f.code for f in verdict.findings}


def test_a_library_of_the_driver_that_the_image_is_too_old_for_is_refused(
    lock: Path, tmp_path: Path
) -> None:
    verdict = before(lock, tmp_path, node(tmp_path, "2.38"))
    assert codes(verdict) == {"MX333"}
    assert verdict.outcome is Outcome.INCOMPATIBLE
    assert "/opt/mxdriver/lib/libmxsml.so of the host needs glibc 2.38" in found(verdict, "MX333")


def test_a_driver_or_a_machine_that_does_not_fit_is_refused(lock: Path, tmp_path: Path) -> None:
    verdict = before(lock, tmp_path, node(tmp_path, "2.34", kmd="3.7", arch="aarch64"))
    assert codes(verdict) == {"MX332", "MX334"}
    assert verdict.outcome is Outcome.INCOMPATIBLE


def test_no_layer_is_read(lock: Path, tmp_path: Path) -> None:
    snapshot = node(tmp_path, "2.34")
    image = describe(open_source(str(tmp_path / "dist")), "linux/amd64")
    for layer in image.layers:
        (tmp_path / "dist" / "blobs" / layer.digest.replace(":", "/")).unlink(missing_ok=True)
    assert before(None, tmp_path, snapshot).outcome is Outcome.COMPATIBLE
    assert before(lock, tmp_path, snapshot).outcome is Outcome.COMPATIBLE


def test_nothing_is_asked_if_the_address_names_the_manifest_of_the_lock(
    lock: Path, tmp_path: Path
) -> None:
    snapshot = node(tmp_path, "2.34")
    manifest = lock.read_text().partition('manifest = "')[2].partition('"')[0]
    shutil.rmtree(tmp_path / "dist")
    verdict = before(lock, tmp_path, snapshot, at=f"@{manifest}")
    assert verdict.outcome is Outcome.COMPATIBLE
    assert "the one that the lock records" in found(verdict, "MX335")
    with pytest.raises(LayoutError):
        before(lock, tmp_path, snapshot)


def test_the_image_of_another_lock_is_refused(lock: Path, tmp_path: Path) -> None:
    snapshot = node(tmp_path, "2.34")
    for text in (lock.read_text(), lock.read_text().partition("[tool.mxenv.image]")[0]):
        lock.write_text(text.replace(WANTED, "metax.kmd >= 3.6"))
        verdict = before(lock, tmp_path, snapshot)
        assert codes(verdict) == {"MX335"}
        assert verdict.outcome is Outcome.INCOMPATIBLE


def test_what_nobody_knows_of_a_node_is_unknown(lock: Path, tmp_path: Path) -> None:
    empty = Snapshot(node="n", view=View.HOST, taken_at=NOW, facts=())
    nodes.write_snapshot(empty, tmp_path / "empty.json")
    verdict = before(lock, tmp_path, str(tmp_path / "empty.json"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert codes(verdict) == {"MX332", "MX333", "MX334"}


def test_what_is_no_image_or_no_image_of_mxenv_is_refused(lock: Path, tmp_path: Path) -> None:
    snapshot = node(tmp_path, "2.34")
    with pytest.raises(UsageError, match="is no image"):
        scheduling.before(lock, "local:", [snapshot], now=NOW)
    other = image(tmp_path / "other", [folder("a")])
    with pytest.raises(UsageError, match="carries no lock"):
        scheduling.before(None, f"oci:{other}", [snapshot], now=NOW)


def test_from_a_registry_with_the_lock_that_the_image_brings(
    lock: Path, tmp_path: Path, registry: Registry
) -> None:
    place = f"{registry.address}/scheduled/small:1"
    building.build(lock, push=place, cache=tmp_path / "cache", with_base=True)
    mark = registry.mark()
    snapshot = node(tmp_path, "2.38")
    (verdict,) = scheduling.before(None, f"image:{place}", [snapshot], now=NOW)
    assert codes(verdict) == {"MX333", "MX354"}
    assert [f.code for f in verdict.findings if f.advice] == ["MX354"]
    assert len(registry.requests(mark)) < 20
    assert not any(request.method == "PUT" for request in registry.requests(mark))


def test_the_command_line_judges_several_nodes_and_exits_as_the_worst(
    lock: Path, tmp_path: Path
) -> None:
    good, bad = node(tmp_path / "good", "2.34"), node(tmp_path / "bad", "2.38")
    words = ["verify", str(lock), "--on", f"oci:{tmp_path / 'dist'}", "--node", good]
    run = CliRunner()
    assert run.invoke(FRONT, words).exit_code == 0
    both = run.invoke(FRONT, [*words, "--node", bad])
    assert both.exit_code == 1
    assert both.stdout.count("node-7") == 2
    assert run.invoke(FRONT, [*words, "--on", "oci:other"]).exit_code == 2
