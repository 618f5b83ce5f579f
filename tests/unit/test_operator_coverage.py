from __future__ import annotations

import pytest

from mxenv.inventory import Inventory, Kernel, Phase, Use
from mxenv.operator_coverage import Coverage, cover
from mxenv.operator_decision import OUTCOMES, Class, Decision, decide
from mxenv.operator_place import Basis, Known, Platform
from mxenv.operator_table import Entry, Grade, How, Table
from mxenv.verdict import Outcome

ENTRIES = {
    "aten::mm.default": Entry(how=How.NATIVE, grade=Grade.RAN),
    "aten::gems.default": Entry(how=How.NATIVE, by="flag_gems"),
    "aten::add.Tensor": Entry(how=How.GENERATED, via=("aten::mm.default",)),
    "aten::deep.default": Entry(how=How.GENERATED, via=("aten::sum.default",)),
    "aten::sum.default": Entry(
        how=How.COMPOSITE, via=("aten::mm.default", "aten::add.Tensor", "aten::gems.default")
    ),
    "aten::many.default": Entry(
        how=How.COMPOSITE, via=tuple(f"aten::n{n}.default" for n in "123456")
    ),
    **{f"aten::n{n}.default": Entry(how=How.NATIVE) for n in "123456"},
    "aten::ran.default": Entry(how=How.COMPOSITE, grade=Grade.RAN),
    "aten::seen.default": Entry(how=How.COMPOSITE, via=("aten::mm.default",), grade=Grade.VERIFIED),
    "aten::slow.default": Entry(how=How.FALLBACK),
    "aten::broken.default": Entry(how=How.COMPOSITE, via=("aten::mm.default", "aten::no.default")),
    "aten::no.default": Entry(how=How.MISSING),
    "aten::odd.default": Entry(how=How.UNKNOWN),
    "aten::opaque.default": Entry(how=How.COMPOSITE),
    "aten::round.default": Entry(how=How.COMPOSITE, via=("aten::about.default",)),
    "aten::about.default": Entry(how=How.COMPOSITE, via=("aten::round.default",)),
    "mine::fast.default": Entry(how=How.NATIVE),
    "mine::left.default": Entry(how=How.MISSING),
}
TABLE = Table(torch="2.8.0+metax3.5.3.9", key="CUDA", entries=ENTRIES)
HERE = Platform(name="node", table=TABLE, basis=Basis.TARGET)


def known(kind: str, *operators: str, dtypes: frozenset[str] = frozenset()) -> Known:
    row = f"metax.toml:operator:{kind}"
    return Known(operators=frozenset(operators), dtypes=dtypes, kind=kind, row=row, said="seen so")


def use(operator: str, *, calls: int = 1, one_of: tuple[str, ...] = ()) -> Use:
    return Use(operator=operator, phase=Phase.DECODE, dtypes=("bf16",), calls=calls, one_of=one_of)


def covered(*uses: Use, platform: Platform = HERE, gaps: tuple[str, ...] = ()) -> Coverage:
    model = Inventory(name="m", reader="torch", source="s", uses=uses, gaps=gaps)
    return cover(model, platform)


@pytest.mark.parametrize(
    ("operator", "found", "said"),
    [
        ("aten::mm.default", Class.SUPPORTED, "a kernel for CUDA"),
        ("aten::gems.default", Class.SUPPORTED, "a kernel for CUDA by flag_gems"),
        ("mine::fast.default", Class.SUPPORTED, "a kernel for CUDA"),
        ("aten::add.Tensor", Class.SUPPORTED, "by way of aten::mm.default"),
        ("aten::deep.default", Class.INDIRECT, "by way of aten::sum.default"),
        (
            "aten::many.default",
            Class.INDIRECT,
            f"by way of {', '.join(f'aten::n{n}.default' for n in '1234')} and 2 more",
        ),
        ("aten::ran.default", Class.INDIRECT, "by way of others"),
        ("aten::seen.default", Class.INDIRECT, "by way of aten::mm.default"),
        ("aten::slow.default", Class.FALLBACK, "computed on the CPU, without a word"),
        ("aten::no.default", Class.UNSUPPORTED, "no kernel for CUDA"),
        (
            "aten::broken.default",
            Class.UNSUPPORTED,
            "by way of aten::no.default: no kernel for CUDA",
        ),
        ("aten::new.default", Class.UNSUPPORTED, "torch 2.8.0+metax3.5.3.9 does not know it"),
        ("aten::odd.default", Class.UNKNOWN, "the build does not say how it is done"),
        ("aten::opaque.default", Class.UNKNOWN, "made of others, and nobody knows of which"),
        (
            "aten::round.default",
            Class.UNKNOWN,
            "by way of aten::about.default: made of others, and nobody knows of which",
        ),
        ("mine::left.default", Class.CUSTOM, "registered, and not for CUDA"),
        ("mine::gone.default", Class.CUSTOM, "nobody has registered it in this build of torch"),
    ],
)
def test_every_operator_is_in_one_class(operator: str, found: Class, said: str) -> None:
    decision = decide(operator, (), HERE)
    assert (decision.found, decision.said) == (found, said)


def test_registered_is_not_yet_working_and_is_said_so() -> None:
    grades = {name: decide(name, (), HERE).grade for name in ENTRIES}
    assert grades["aten::gems.default"] is Grade.REGISTERED
    assert grades["aten::mm.default"] is Grade.RAN
    assert grades["aten::seen.default"] is Grade.VERIFIED
    assert grades["aten::sum.default"] is Grade.REGISTERED
    assert grades["aten::no.default"] is None


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        (Platform(name="x"), "no table of operators is known of the platform"),
        (Platform(name="x", basis=Basis.TARGET), "no table of operators is known of the platform"),
        (
            Platform(name="x", table=TABLE, basis=Basis.OTHER),
            "another build of torch was asked, which says nothing of the platform's",
        ),
    ],
)
def test_another_build_says_nothing_of_the_platform(platform: Platform, said: str) -> None:
    assert decide("aten::mm.default", (), platform) == Decision(found=Class.UNKNOWN, said=said)


@pytest.mark.parametrize("kind", ["wrong", "traps", "missing"])
def test_a_row_that_knows_better_decides(kind: str) -> None:
    platform = Platform(name="n", table=TABLE, basis=Basis.TARGET, known=(known(kind, "aten::mm"),))
    decision = decide("aten::mm.default", (), platform)
    assert decision.found is Class.UNSUPPORTED
    assert decision.said == f"{kind}: seen so"
    assert decision.row == f"metax.toml:operator:{kind}"


def test_a_row_of_one_format_leaves_others_alone() -> None:
    row = known("wrong", "aten::mm.default", dtypes=frozenset({"f64"}))
    platform = Platform(name="n", table=TABLE, basis=Basis.TARGET, known=(row,))
    assert decide("aten::mm.default", ("bf16",), platform).found is Class.SUPPORTED
    assert decide("aten::mm.default", ("i64", "f64"), platform).found is Class.UNSUPPORTED


def test_what_somebody_saw_working_needs_no_table_and_what_is_slow_does() -> None:
    rows = (known("works", "aten::mm"), known("slow", "aten::odd"))
    platform = Platform(name="n", known=rows)
    seen = decide("aten::mm.default", (), platform)
    assert (seen.found, seen.grade, seen.row) == (
        Class.SUPPORTED,
        Grade.RAN,
        "metax.toml:operator:works",
    )
    assert decide("aten::odd.default", (), platform).found is Class.UNKNOWN


@pytest.mark.parametrize(
    ("one_of", "found"),
    [
        (("aten::mm.default", "aten::gems.default"), Class.SUPPORTED),
        (("aten::mm.default", "aten::sum.default"), Class.INDIRECT),
        (("aten::mm.default", "aten::no.default"), Class.UNKNOWN),
        (("aten::slow.default", "aten::no.default"), Class.FALLBACK),
        (("aten::no.default", "aten::new.default"), Class.UNSUPPORTED),
    ],
)
def test_of_alternatives_all_have_to_run(one_of: tuple[str, ...], found: Class) -> None:
    (one,) = covered(use("aten::mm.default", one_of=one_of)).operators
    assert one.decision.found is found


SDP = "aten::_scaled_dot_product_"
CPU_ONLY, MATH = f"{SDP}flash_attention_for_cpu.default", f"{SDP}attention_math.default"
FLASH = f"{SDP}flash_attention.default"


@pytest.mark.parametrize(
    ("key", "has", "found"),
    [
        ("CUDA", (FLASH, MATH), Class.SUPPORTED),
        ("CUDA", (MATH, CPU_ONLY), Class.UNKNOWN),
        ("CPU", (MATH, CPU_ONLY), Class.SUPPORTED),
        ("CPU", (FLASH, MATH), Class.UNKNOWN),
    ],
)
def test_what_is_made_for_another_device_need_not_run(
    key: str, has: tuple[str, ...], found: Class
) -> None:
    table = Table(torch="2.8.0", key=key, entries=dict.fromkeys(has, Entry(how=How.NATIVE)))
    there = Platform(name="n", table=table, basis=Basis.TARGET)
    one_of = (MATH, FLASH, CPU_ONLY)
    (one,) = covered(use(FLASH, one_of=one_of), platform=there).operators
    assert one.decision.found is found
    if found is Class.UNKNOWN:
        lacks = CPU_ONLY if key == "CPU" else FLASH
        assert one.decision.said.endswith(f"as the device chooses: not known to run is {lacks}")
        assert one.decision.remedy.startswith(f"Have one chosen that is known to run ({MATH})")


def test_where_nobody_was_asked_no_alternative_is_known_to_run() -> None:
    one_of = (MATH, FLASH, CPU_ONLY)
    (one,) = covered(use(FLASH, one_of=one_of), platform=Platform(name="C500")).operators
    assert one.decision.found is Class.UNKNOWN


def test_alternatives_of_which_nobody_knows_the_devices_all_have_to_run() -> None:
    (one,) = covered(use(CPU_ONLY, one_of=(CPU_ONLY,))).operators
    assert one.decision.found is Class.UNSUPPORTED


def test_the_worst_comes_first_then_what_is_called_most() -> None:
    told = covered(
        use("aten::mm.default", calls=2),
        use("aten::gems.default", calls=9),
        use("aten::no.default"),
        use("aten::slow.default", calls=7),
    )
    assert [one.operator.split("::")[1].split(".")[0] for one in told.operators] == [
        *("no", "slow", "gems", "mm"),
    ]
    assert (told.counts[Class.SUPPORTED], told.calls[Class.SUPPORTED]) == (2, 11)
    assert (told.counts[Class.CUSTOM], told.calls[Class.FALLBACK]) == (0, 7)
    assert told.outcome is Outcome.INCOMPATIBLE


def test_an_operator_is_as_good_as_its_worst_use() -> None:
    row = known("wrong", "aten::mm", dtypes=frozenset({"f64"}))
    platform = Platform(name="n", table=TABLE, basis=Basis.TARGET, known=(row,))
    double = Use(operator="aten::mm.default", phase=Phase.PREFILL, dtypes=("f64",))
    (one,) = covered(use("aten::mm.default"), double, platform=platform).operators
    assert one.decision.found is Class.UNSUPPORTED
    assert one.calls == 2


def test_a_kernel_past_the_dispatcher_is_custom() -> None:
    kernel = Kernel(kind="triton", name="_fwd", phase=Phase.DECODE, calls=3)
    again = Kernel(kind="triton", name="_fwd", phase=Phase.PREFILL, calls=2)
    model = Inventory(name="m", reader="torch", source="s", kernels=(kernel, again))
    told = cover(model, HERE)
    assert (told.counts[Class.CUSTOM], told.calls[Class.CUSTOM]) == (1, 5)
    assert told.outcome is Outcome.UNKNOWN


def test_what_may_lack_something_is_never_compatible() -> None:
    assert covered(use("aten::mm.default")).outcome is Outcome.COMPATIBLE
    assert covered(use("aten::mm.default"), gaps=("no",)).outcome is Outcome.UNKNOWN
    assert covered().outcome is Outcome.UNKNOWN


def test_every_class_has_an_outcome() -> None:
    assert set(OUTCOMES) == set(Class)
