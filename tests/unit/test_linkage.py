from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _stacks import DARK, ENV, GONE, fact, snapshot

from mxenv.facts import View
from mxenv.linkage import findings
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from mxenv.facts import Fact, Reading, Value
    from mxenv.verdict import Finding

SITE = f"{ENV}/lib/python3.10/site-packages"
OP = f"{SITE}/mcoplib/_C.so"
LACKS = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
AROUND = (
    fact("elf.machine[libc.so.6]", "x86_64"),
    fact("elf.provides[libc.so.6]", "2.35"),
    fact("elf.provides[libstdc++.so.6]", "3.4.30"),
    fact(f"python.site[{ENV}]", (SITE,)),
    fact(f"python.version[{ENV}]", "3.10.12"),
    fact("python.version[/opt/other]", "3.10.12"),
)


def told(*facts: Fact, env: str | None = ENV, view: View = View.HOST) -> list[Finding]:
    return list(findings(snapshot(*AROUND, *facts, view=view), env))


def one(label: str, value: Value | Reading, **how: object) -> Finding:
    (finding,) = told(fact(label, value, source="/opt/x.so"), **how)  # type: ignore[arg-type]
    return finding


def test_a_node_on_which_all_is_well_has_no_finding() -> None:
    assert told() == []
    good = {"elf.glibc": "2.28", "elf.glibcxx": "3.4.22", "elf.machine": "x86_64"}
    assert told(*(fact(f"{key}[{ENV}/torch]", value) for key, value in good.items())) == []


def test_what_could_not_be_read_is_no_finding() -> None:
    for key in ("elf.glibc", "elf.glibcxx", "elf.machine", "elf.missing", "elf.undefined"):
        assert told(fact(f"{key}[{ENV}/torch]", DARK), fact(key, GONE)) == []
    assert list(findings(snapshot(fact(f"elf.glibc[{ENV}/torch]", "9.9")), ENV)) == []
    assert list(findings(snapshot(fact(f"elf.machine[{ENV}/torch]", "s390x")), ENV)) == []
    assert list(findings(snapshot(fact(f"elf.undefined[{OP}]", ("a",))), ENV)) == []


@pytest.mark.parametrize(
    "owner", [f"{ENV}/torch", "/opt/mxdriver/lib", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"]
)
def test_a_library_that_needs_a_newer_glibc_cannot_be_loaded(owner: str) -> None:
    finding = one(f"elf.glibc[{owner}]", "2.38")
    assert finding.code == "MX122"
    assert finding.outcome is Outcome.INCOMPATIBLE
    assert finding.subject == owner
    assert finding.found == "/opt/x.so needs glibc 2.38, and 2.35 is here"


def test_versions_are_compared_by_their_numbers() -> None:
    assert told(fact(f"elf.glibc[{ENV}/torch]", "2.4")) == []
    assert told(fact(f"elf.glibc[{ENV}/torch]", "rubbish")) == []


def test_the_libstdcxx_of_the_environment_counts_as_well() -> None:
    needs = fact(f"elf.glibcxx[{ENV}/torch]", "3.4.33")
    assert [f.code for f in told(needs)] == ["MX122"]
    assert told(needs, fact(f"elf.provides[{ENV}/lib/libstdc++.so.6]", "3.4.33")) == []
    other = fact("elf.provides[/opt/other/lib/libstdc++.so.6]", "3.4.33")
    assert [f.code for f in told(needs, other)] == ["MX122"]


def test_another_environment_is_not_judged() -> None:
    facts = (
        fact("elf.glibc[/opt/other/torch]", "2.99"),
        fact("elf.machine[/opt/other/torch]", "aarch64"),
        fact("elf.undefined[/opt/other/lib/python3.10/site-packages/op.so]", ("a",)),
        fact("elf.missing[/opt/other/lib/python3.10/site-packages/op.so]", ("liba.so",)),
    )
    assert told(*facts) == []
    assert told(*facts, env=None) == []
    assert [f.code for f in told(*facts, env="/opt/other")] == ["MX121", "MX122"]


def test_objects_of_another_machine_cannot_be_loaded() -> None:
    finding = one(f"elf.machine[{ENV}/torch]", "aarch64")
    assert (finding.code, finding.outcome) == ("MX121", Outcome.INCOMPATIBLE)
    assert told(fact("elf.machine[/opt/maca/lib]", "i386, x86_64")) == []


def test_an_extension_of_another_torch_is_found_by_its_symbols() -> None:
    finding = one(f"elf.undefined[{OP}]", (LACKS, "b", "c", "d", "e"))
    assert (finding.code, finding.outcome) == ("MX123", Outcome.INCOMPATIBLE)
    assert finding.found == f"it needs {LACKS}, b, c and 2 more, which nothing here defines"
    assert finding.subject == OP
    assert told(fact(f"elf.undefined[{OP}]", "not a list")) == []


def test_a_library_that_is_nowhere_leaves_it_unknown() -> None:
    finding = one(f"elf.missing[{OP}]", ("libcuda.so.1", "libmcruntime.so"))
    assert (finding.code, finding.outcome) == ("MX124", Outcome.UNKNOWN)
    assert "libcuda.so.1, libmcruntime.so" in finding.found
    assert told(fact(f"elf.missing[{OP}]", "not a list")) == []


def test_an_image_need_not_have_what_the_host_brings() -> None:
    finding = one(f"elf.missing[{OP}]", ("libcuda.so.1", "libmcruntime.so"), view=View.IMAGE)
    assert "libcuda" not in finding.found
    assert told(fact(f"elf.missing[{OP}]", ("libcuda.so.1",)), view=View.IMAGE) == []


def test_what_few_people_use_of_torch_is_no_finding() -> None:
    rare = fact(f"elf.missing[{SITE}/torch/lib/libnvshmem_plugin.so]", ("libnvshmem.so.3",))
    assert told(rare) == []
    core = fact(f"elf.missing[{SITE}/torch/lib/libtorch_cpu.so]", ("libgomp.so.1",))
    assert [f.code for f in told(core)] == ["MX124"]


def test_a_vendors_library_that_lacks_another_is_no_finding() -> None:
    assert told(fact("elf.missing[/opt/maca/lib/libmctools.so]", ("libQt5Core.so.5",))) == []
