"""A node in the state that a row speaks of gets the finding of that row, named right.

Each row has an entry: a recorded node, and what is changed of it. What is changed are single facts,
so that everything else of the node is as a real machine had it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mxenv import excerpt
from mxenv.api import checking, nodes
from mxenv.facts import Absent, Fact, Observed, Snapshot, Unreadable, View
from mxenv.probes import environment
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.facts import Reading, Value
    from mxenv.matrix import Broken, Requirement, Rule
    from mxenv.verdict import Finding

RECORDINGS = Path(__file__).parent.parent / "recordings"
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
TODAY = date(2026, 11, 30)
GONE, DARK = Absent(), Unreadable("permission denied")
MATRIX = checking.load_matrix()
ENV = "/opt/conda"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A recorded node, and what is changed of it.

    A name without a dot is a distribution; a key that has instances, without one, is each of them.
    """

    base: str = "c500-8cards"
    changes: Mapping[str, Value | Reading] = field(default_factory=dict)


def case(base: str = "c500-8cards", /, **changes: Value | Reading) -> Case:
    """Return a case in which dots are written as ``__``, for short."""
    return Case(base=base, changes={_key(name): value for name, value in changes.items()})


def _key(name: str) -> str:
    return name.replace("__", ".") if "__" in name else name.replace("_", "-")


def on(case: Case, more: Mapping[str, Value | Reading]) -> Case:
    """Return the case with changes of facts that Python cannot name as arguments."""
    return replace(case, changes={**case.changes, **more})


@cache
def recorded(name: str) -> Snapshot:
    return nodes.snapshot_of(f"recording:{RECORDINGS / name}", now=NOW)


def derived(case: Case) -> Snapshot:
    """Return the recorded node with the named facts changed."""
    base = recorded(case.base)
    facts = list(base.facts)
    for name, value in case.changes.items():
        label = name if "." in name.partition("[")[0] or "[" in name else _package(name)
        facts = list(_changed(facts, label, value))
    return replace(base, facts=tuple(facts))


def _package(name: str) -> str:
    return f"python.package[{ENV}/{name}]"


def _changed(facts: list[Fact], label: str, value: Value | Reading) -> Iterator[Fact]:
    key, _, instance = label.partition("[")
    instance = instance.removesuffix("]")
    reading = value if isinstance(value, Observed | Absent | Unreadable) else Observed(value)
    meant = [f for f in facts if f.key == key and (not instance or f.instance == instance)]
    yield from (fact for fact in facts if fact not in meant)
    whole = not instance and isinstance(reading, Absent)
    instances = sorted({f.instance for f in meant if f.instance}) if not whole else []
    view = next((f.view for f in facts if f.key == key), View.HOST)
    for one in instances if not instance and instances else [instance]:
        yield Fact(key=key, instance=one, reading=reading, source="changed", view=view)


def findings(snapshot: Snapshot, row: str) -> list[Finding]:
    verdict = checking.check(snapshot, MATRIX, today=TODAY)
    # A mixture of releases names the rule that it breaks as well.
    return [f for f in verdict.findings if f.row == row and f.code != "MX110"]


C550 = {"metax.device.model": "C550"}
FLAGGEMS = {"flag-gems": "5.0.2"}

RULES: dict[str, Case] = {
    "wheel-same-maca": case(apex="0.1+metax3.7.1.3"),
    "mcoplib-major-minor": case(mcoplib="0.4.6+maca3.7.1.5.torch2.8"),
    "mcoplib-floor": case(mcoplib="0.4.12+maca3.5.3.20.torch2.8"),
    "torch-abi": case(flash_attn="2.6.3+metax3.5.3.9torch2.6"),
    "torch-overwritten": case("c500-torch-overwritten"),
    "vllm-metax-python": on(case(), {f"python.series[{ENV}]": "3.13"}),
    "vllm-same-version": case(vllm="0.18.0"),
    "vllm-metax-after-0.21": case(vllm_metax="0.23.0", vllm="0.23.0"),
    "flash-mla-floor": case(metax__sdk="2.25.0.3"),
    "c550-bios": on(case(), {**C550, "metax.device.bios": "1.12.0.0"}),
    "c550-sdk": on(case(metax__sdk="2.20.2.20"), C550),
    "driver-loaded": case("c500-driver-broken"),
    "driver-built-for-this-kernel": case("c500-driver-broken"),
    "card-available": on(
        case(), {"metax.device.state": "not available: Driver And Vbios Compatibility Check Failed"}
    ),
    "container-device-nodes": on(case("c500-sgpu-container"), {"metax.node[/dev/mxcd]": GONE}),
    "maca-path": on(case(), {"env[MACA_PATH]": GONE}),
    "flagtree-or-triton": case(flagtree="0.6.1+metax3.6"),
    "flagtree-glibc-python3.12": on(
        case(flagtree="0.6.1+metax3.6", triton=GONE, libc__version="2.35"),
        {f"python.series[{ENV}]": "3.12"},
    ),
    "flagtree-glibc-python3.10": case(flagtree="0.6.1+metax3.6", triton=GONE, libc__version="2.31"),
}
VLLM_WITHOUT = {"vllm-metax": GONE}
BROKEN: dict[str, Case] = {
    "cuda-vllm": on(case(vllm="0.17.0"), VLLM_WITHOUT),
    "two-card-hang": case(metax__smi="2.2.8", torch="2.6.0+metax3.1.0.4"),
    "c550-kmd2.16.0-tensor-parallel": on(case(metax__kmd="2.16.0"), C550),
    "second-model-sdk2.33.1.12": case(metax__kmd="3.0.11", metax__sdk="2.33.1.12"),
    "ringbuffer-ioctl": case(metax__sdk="3.2.1.10", vllm="0.11.0"),
    "vllm-metax-0.10.1.1-sdk3.0.0.5": case(metax__sdk="3.0.0.5", vllm_metax="0.10.1.1"),
    "torch-fl-beside-cuda-torch": case(torch_fl="0.1.0", torch="2.10.0+cu128"),
    "torch-fl-vendor-triton": case(torch_fl="0.1.0", triton="3.6.0+metax3.8.0.7"),
    "vllm-0.19-without-plugin": on(case(vllm="0.19.0"), VLLM_WITHOUT),
    "flaggems-mm-autotune": on(
        case(torch="2.8.0+metax3.7.0.7", flag_gems="5.4.0.dev606", vllm="0.24.0"), C550
    ),
    "flaggems-libentry": on(case(flag_gems="5.4.0.dev606", vllm="0.24.0"), C550),
    "flaggems-masked-fill": on(
        case(metax__kmd="3.3.12", metax__sdk="3.7.2.0", vllm="0.20.2"), {**C550, **FLAGGEMS}
    ),
    "flaggems-vstack-capture": on(
        case(torch="2.8.0+metax3.7.0.7", vllm="0.20.2"), {**C550, **FLAGGEMS}
    ),
    "plugin-fl-sdk3.7.0.37": case(
        vllm_plugin_fl="0.1.0", metax__sdk="3.7.0.37", mcoplib="0.4.5+maca3.7.0.37.torch2.8"
    ),
    "plugin-fl-offline-sdk3.5.3": on(
        case(vllm_plugin_fl="0.1.0", flagtree="0.5.0", triton=GONE), C550
    ),
    "flagtree-block-of-one": on(case(metax__sdk="3.7.2.1", flagtree="0.6.1+metax3.6"), C550),
    "sampling-sdk3.0.0.5": case(
        metax__smi="2.2.3", metax__sdk="3.0.0.5", torch="2.6.0+metax3.0.0.3"
    ),
    "lmcache-sdk3.0.0.5": case(lmcache="0.3.1", vllm="0.9.1", metax__sdk="3.0.0.5"),
    "mxgvm-hides-cards": on(
        case("c500-driver-broken", metax__module__gvm="loaded"), {"metax.device.count": 0}
    ),
    "paddle-2.6-without-fastdeploys-apis": case(
        paddlepaddle_gpu="2.6.0+maca3.0.0.5", fastdeploy_metax_gpu="2.5.0"
    ),
}
CONTAINER = {"container.runtime": "docker"}
GVM = {"metax.module.gvm": "loaded"}
UNMET: dict[str, Case] = {
    "kernel-that-somebody-tried": case(kernel__release="5.15.0-119-generic"),
    "driver-package-3.0.0.1": on(
        case(metax__driver_package="3.0.0.1"), {"container.runtime": GONE}
    ),
    "driver-package-3.3.0.15": on(
        case(metax__driver_package="3.3.0.15"), {"container.runtime": GONE}
    ),
    "driver-package-2.18.0.8": on(
        case(metax__driver_package="2.18.0.8"), {"container.runtime": GONE}
    ),
    "memlock-rdma": on(case(), CONTAINER),
    "memlock": case(),
    "shm-of-a-container": on(case(memory__shm_mib=64), CONTAINER),
    "shm-recommended": case("c500-sgpu-container"),
    "docker": on(case(), {"runtime[docker]": "18.09.1"}),
    "iommu-of-a-virtualization-host": on(case(iommu__groups=GONE), GVM),
    "iommu-of-passthrough": on(
        case(), {"metax.device.driver": "vfio_pci", "boot.parameter[iommu]": GONE}
    ),
    "sriov-of-the-cards": on(case(), {**GVM, "metax.device.sriov[0000:16:00.0]": "off"}),
    "clang-path": on(case(), {"env[MACA_CLANG_PATH]": GONE}),
    "mccl-several-nodes": on(case(), {"env[MCCL_IB_HCA]": GONE}),
    "vllm-metax-0.16-skipped": case(vllm_metax="0.16.0"),
    "plugin-fl-0.1.1": case(vllm_plugin_fl="0.1.1"),
    "flash-attention-2": case(flash_attn="3.0.0+metax3.5.3.9torch2.8"),
    "sgl-kernel-of-the-vendor": case(sgl_kernel="0.3.20"),
    "lmdeploy-torch": case(lmdeploy="0.10.2"),
    "paddle-system": case(paddle_metax_gpu="3.3.0", os__id="debian"),
}
ADVICE: dict[str, Case] = {
    "torch-fl-inductor": case(torch_fl="0.1.0"),
    "flaggems-masked-fill-int8": on(case(), {**C550, **FLAGGEMS}),
    "moe-shared-experts-sdk3.2.1": case(
        metax__smi="2.2.9", torch="2.6.0+metax3.2.1.3", libc__version="2.39"
    ),
    "tarsier2-slice-sdk3.2.1": case("c500-sgpu-container", torch="2.6.0+metax3.2.1.3"),
    "qwen3.5-35b-vllm-0.22": case(vllm_metax="0.22.0", vllm="0.22.0"),
    "driver-and-sdk-of-one-line": case(),
    "torch-line-of-an-sdk": case(),
    "bios-of-a-virtualization-host": on(case(), GVM),
    "user-in-group-video": case(),
    "pcie-slot": case(kernel__flavour="tl3"),
    "container-brings-no-driver": case("c500-sgpu-container"),
    "mxvs-libfuse": on(case(), {"metax.tool[mxvs]": "present"}),
    "one-process-a-card": on(case(), {"env[MACA_MPS_MODE]": GONE}),
    "mccl-one-node": case(),
    "mccl-arm": case(machine__arch="aarch64"),
    "tensor-parallel-in-a-group": case(),
    "kernel-limits-c550": on(case(), C550),
    "shared-memory-c500": case(),
    "event-codes": on(case(), {"metax.device.state": "not available: Layout Node Not Found"}),
    "pins-of-a-branch": case(vllm_metax="0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8"),
    "mcoplib-of-a-day": case(metax__sdk="20251011.746"),
    "mcoplib-first": on(case(), FLAGGEMS),
    "plugin-fl-sampling": case(vllm_plugin_fl="0.2.0", vllm="0.19.0"),
    "flashinfer-of-the-vendor": case(),
    "torchvision-0.15.1": case(),
    "lmdeploy-device": case(lmdeploy="0.10.2"),
    "fp8-switch": case(),
}


def test_every_row_that_is_held_against_a_node_has_an_entry() -> None:
    assert {row.id for row in MATRIX.rules} == RULES.keys()
    assert {row.id for row in MATRIX.broken} == BROKEN.keys()
    held = {row.id: bool(row.requires) for row in MATRIX.requirements if not row.applies}
    assert {name for name, checked in held.items() if checked} == UNMET.keys()
    assert {name for name, checked in held.items() if not checked} == ADVICE.keys()


@pytest.mark.parametrize("row", MATRIX.rules, ids=lambda row: row.id)
def test_a_node_that_breaks_a_rule_is_told_which(row: Rule) -> None:
    (found,) = findings(derived(RULES[row.id]), row.row)
    assert (found.code, found.outcome) == ("MX111", row.severity)
    assert found.because == row.evidence
    assert found.remedy


@pytest.mark.parametrize("row", MATRIX.broken, ids=lambda row: row.id)
def test_a_node_that_is_known_to_fail_is_told_why(row: Broken) -> None:
    (found,) = findings(derived(BROKEN[row.id]), row.row)
    assert (found.code, found.outcome) == ("MX114", row.severity)
    assert found.because == row.evidence
    assert found.remedy


@pytest.mark.parametrize(
    "row", [row for row in MATRIX.requirements if row.id in UNMET], ids=lambda row: row.id
)
def test_a_node_that_does_not_meet_a_requirement_is_told_which(row: Requirement) -> None:
    (found,) = findings(derived(UNMET[row.id]), row.row)
    assert (found.code, found.outcome) == ("MX126", row.severity)
    assert found.because == row.evidence


@pytest.mark.parametrize(
    "row", [row for row in MATRIX.requirements if row.id in ADVICE], ids=lambda row: row.id
)
def test_what_cannot_be_seen_is_advice_to_those_whom_it_concerns(row: Requirement) -> None:
    (found,) = findings(derived(ADVICE[row.id]), row.row)
    assert (found.code, found.outcome) == ("MX127", Outcome.COMPATIBLE)


@pytest.mark.parametrize("name", ["c500-8cards", "c500-sgpu-container"])
def test_a_node_in_order_is_told_of_no_breakage(name: str) -> None:
    verdict = checking.check(recorded(name), MATRIX, today=TODAY)
    rows = {f.row for f in verdict.findings if f.outcome is not Outcome.COMPATIBLE}
    assert not rows


@pytest.mark.parametrize(
    "row", [row for row in MATRIX.requirements if row.applies], ids=lambda row: row.id
)
def test_what_is_for_others_is_held_against_nobody(row: Requirement) -> None:
    assert all(findings(recorded(path.name), row.row) == [] for path in metax())


def metax() -> list[Path]:
    return sorted(p for p in RECORDINGS.glob("c5*") if p.is_dir())


def test_a_matrix_asks_for_no_variable_and_no_parameter_that_no_probe_reads() -> None:
    # Of a name that is not on the list of a probe nothing is ever known.
    rows = (*MATRIX.rules, *MATRIX.broken, *MATRIX.requirements)
    asked = [s for row in rows for s in (*row.when, *getattr(row, "requires", ()))]
    named = {(c.selector.key.name, c.selector.instance) for c in asked}
    assert {name for key, name in named if key == "env"} <= {*environment.NAMES}
    assert {name for key, name in named if key == "boot.parameter"} <= {*excerpt.PARAMETERS}


class TestKernels:
    """A kernel off the lists is unverified, not forbidden; a tested row is as good as a list."""

    ROW = "metax.toml:requirement:kernel-that-somebody-tried"

    @pytest.mark.parametrize(
        ("release", "code"),
        [
            ("5.15.0-58-generic", "MX125"),
            ("5.15.0-112-generic", "MX125"),
            ("5.4.241-24.0017.23.tl3.x86_64", "MX125"),
            ("4.18.0-240.el8.x86_64", "MX125"),
            ("5.14.0", "MX125"),
            ("5.15.0-119-generic", "MX126"),
            ("5.15.0-5-generic", "MX126"),
            ("5.14.0-3.1.8.kwai", "MX126"),
            (DARK, "MX127"),
        ],
        ids=str,
    )
    def test_each_is_on_a_list_or_not(self, release: Value | Reading, code: str) -> None:
        (found,) = findings(derived(case(kernel__release=release)), self.ROW)
        assert found.code == code
        bad = found.outcome is not Outcome.COMPATIBLE
        assert bad == (code == "MX126")

    def test_a_driver_that_was_seen_working_on_it_is_as_good(self) -> None:
        changed = case(metax__kmd="3.4.3", kernel__release="5.14.0-3.1.8.kwai")
        (found,) = findings(derived(changed), self.ROW)
        assert (found.code, found.outcome) == ("MX118", Outcome.COMPATIBLE)
        assert "c550-kmd3.4.3-sdk3.7.0.38" in found.found

    def test_off_the_list_is_unknown_and_never_incompatible(self) -> None:
        changed = derived(case(kernel__release="6.18.44"))
        verdict = checking.check(changed, MATRIX, today=TODAY)
        assert verdict.outcome is Outcome.UNKNOWN


def test_a_container_of_the_white_label_brand_has_other_device_nodes() -> None:
    changed = case(
        "x201-white-label", container__runtime="docker", metax__sdk="3.3.0.15", metax__node=GONE
    )
    assert findings(derived(changed), "metax.toml:rule:container-device-nodes") == []
    ours = on(changed, {"metax.brand": "MetaX"})
    (found,) = findings(derived(ours), "metax.toml:rule:container-device-nodes")
    assert found.code == "MX111"


def test_a_set_that_was_seen_working_beats_a_general_rule() -> None:
    changed = case(
        vllm="0.22.1.dev0+g0b3ba88f1.d20260621.empty",
        vllm_metax="0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8",
        mcoplib="0.4.4+maca3.5.3.20.torch2.8",
    )
    row = "metax.toml:rule:vllm-same-version"
    (found,) = findings(derived(changed), row)
    assert (found.code, found.outcome) == ("MX118", Outcome.COMPATIBLE)
    assert "c500-kmd3.8.30-sdk3.5.3.20-vllm-metax" in found.found
    (broken,) = findings(derived(on(changed, {"mcoplib": "0.4.3+maca3.5.3.20.torch2.8"})), row)
    assert (broken.code, broken.outcome) == ("MX111", Outcome.INCOMPATIBLE)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/opt/maca/mxgpu_llvm/bin", "MX125"),
        ("/opt/maca/mxgpu_llvm/bin/", "MX125"),
        ("yes", "MX126"),
        ("/usr/bin", "MX126"),
    ],
)
def test_a_compiler_that_is_not_the_sdk_s_is_told(path: str, code: str) -> None:
    node = derived(on(case(), {"env[MACA_CLANG_PATH]": path}))
    (found,) = findings(node, "metax.toml:requirement:clang-path")
    assert (found.code, found.outcome) == (code, Outcome.COMPATIBLE)
    assert found.advice == (code == "MX126")
