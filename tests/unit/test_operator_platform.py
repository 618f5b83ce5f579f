from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from _stacks import matrix

from mxenv import operator_table
from mxenv.errors import UsageError
from mxenv.facts import Absent, Fact, Observed, Reading, Snapshot, Unreadable, View
from mxenv.operator_place import Basis
from mxenv.operator_platform import KEY, known, makers, of_card, of_node
from mxenv.operator_runs import Device, Runs
from mxenv.operator_table import Entry, How, Table

if TYPE_CHECKING:
    from mxenv.facts import Value

ENV = "/opt/conda"
METAX, CPU, CUDA = "2.8.0+metax3.5.3.9", "2.13.0+cpu", "2.13.0+cu130"
NONE = matrix("")


def table(torch: str = METAX, key: str = "CUDA") -> str:
    entries = {"aten::mm.default": Entry(how=How.NATIVE)}
    return operator_table.write(Table(torch=torch, key=key, entries=entries))


def node(*facts: tuple[str, str, Value | Reading], view: View = View.HOST) -> Snapshot:
    made = (
        Fact(
            key=key,
            instance=instance,
            reading=value if isinstance(value, Observed | Absent | Unreadable) else Observed(value),
            source="s",
        )
        for key, instance, value in facts
    )
    taken_at = datetime(2026, 11, 30, tzinfo=UTC)
    return Snapshot(node="n", view=view, taken_at=taken_at, facts=tuple(made))


def with_torch(
    torch: str, key: str, *more: tuple[str, str, Value | Reading], view: View = View.HOST
) -> Snapshot:
    return node(
        ("python.series", ENV, "3.10"),
        ("python.package", f"{ENV}/torch", torch),
        (KEY, ENV, table(torch, key)),
        *more,
        view=view,
    )


C500 = ("metax.device.model", "0", "C500")
H100 = ("nvidia.device.model", "0", "H100")


def test_the_torch_that_is_installed_for_the_cards_that_are_there_is_the_platforms_own() -> None:
    place = of_node(with_torch(METAX, "CUDA", C500), NONE)
    assert (place.name, place.basis, place.why) == ("n", Basis.TARGET, "")
    assert place.asked is not None
    assert place.asked.torch == METAX


@pytest.mark.parametrize(
    ("snapshot", "own"),
    [
        (with_torch(METAX, "CUDA"), True),
        (with_torch(METAX, "CUDA", view=View.IMAGE), True),
        (with_torch(METAX, "CUDA", H100), False),
        (with_torch(METAX, "CPU", C500), False),
        (with_torch(CUDA, "CUDA", H100), True),
        (with_torch(CUDA, "CUDA", C500), False),
        (with_torch("2.13.0", "CUDA", H100), True),
        (with_torch("2.13.0", "CUDA"), False),
        (with_torch(CPU, "CPU"), True),
        (with_torch(CPU, "CPU", C500), False),
        (with_torch(CPU, "PrivateUse1", C500), False),
        (
            with_torch(CPU, "PrivateUse1", C500, ("python.package", f"{ENV}/torch-fl", "0.1")),
            True,
        ),
        (with_torch(METAX, "CUDA", ("metax.device.model", "", Unreadable("no"))), False),
        (
            with_torch(
                METAX, "CUDA", ("metax.device.model", "", Unreadable("no")), view=View.IMAGE
            ),
            True,
        ),
    ],
)
def test_a_build_says_nothing_of_cards_that_it_is_not_for(snapshot: Snapshot, own: bool) -> None:  # noqa: FBT001 - what is expected
    place = of_node(snapshot, NONE)
    assert place.basis is (Basis.TARGET if own else Basis.OTHER)
    assert bool(place.why) is not own


def test_why_a_build_says_nothing_is_told() -> None:
    assert of_node(with_torch(CPU, "CPU", C500), NONE).why == (
        "torch 2.13.0+cpu was asked what it has for CPU: a build that is not for the cards of "
        "metax says nothing of the one that is"
    )
    assert "not for this place says" in of_node(with_torch("2.13.0", "CUDA"), NONE).why
    dark = with_torch(METAX, "CUDA", ("metax.device.model", "", Unreadable("no")))
    assert of_node(dark, NONE).why.endswith(
        "for which cards that would have to be could not be read"
    )


def test_a_table_of_another_torch_than_is_installed_says_nothing() -> None:
    facts = (KEY, ENV, table())
    series = ("python.series", ENV, "3.10")
    other = node(series, facts, ("python.package", f"{ENV}/torch", CPU), C500)
    assert of_node(other, NONE).why == (
        f"torch {METAX} was asked, and {CPU} is installed in /opt/conda"
    )
    unread = node(series, facts, C500)
    assert of_node(unread, NONE).why == (
        f"torch {METAX} was asked, and one that was not read is installed in /opt/conda"
    )


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ((), "its torch was not asked for its operators"),
        (
            (("", Unreadable("only if asked for")),),
            "its torch was not asked for its operators: only if asked for",
        ),
        (((ENV, Unreadable("it hung")),), "its torch was not asked for its operators: it hung"),
        (((ENV, Absent()),), "there is no torch in it to be asked"),
        (
            ((ENV, Observed("mxenv.operators/1 sha256:0 {}")),),
            "the table of operators of its torch is not what its digest says",
        ),
    ],
)
def test_without_a_table_it_is_told_why(facts: tuple[tuple[str, Reading], ...], why: str) -> None:
    series = ("python.series", ENV, "3.10")
    torch = ("python.package", f"{ENV}/torch", METAX)
    asked = ((KEY, instance, reading) for instance, reading in facts)
    place = of_node(node(series, torch, *asked), NONE)
    assert (place.basis, place.why, place.table) == (Basis.NOTHING, why, None)


def both() -> Snapshot:
    venv = "/opt/venv"
    return with_torch(
        METAX,
        "CUDA",
        C500,
        ("python.package", f"{venv}/torch", METAX),
        (KEY, venv, table()),
    )


def test_of_several_environments_the_named_one_counts() -> None:
    place = of_node(both(), NONE)
    assert place.why == "torch was asked in several environments: /opt/conda, /opt/venv"
    assert of_node(both(), NONE, env="/opt/venv").basis is Basis.TARGET
    with pytest.raises(UsageError, match="no Python environment '/no'"):
        of_node(both(), NONE, env="/no")


def test_the_only_one_that_was_asked_counts_where_several_could_be_in_use() -> None:
    venv = ("python.package", "/opt/venv/torch", METAX)
    assert of_node(with_torch(METAX, "CUDA", C500, venv), NONE).basis is Basis.TARGET
    place = of_node(with_torch(METAX, "CUDA", C500, venv), NONE, env="/opt/venv")
    assert place.why == "its torch was not asked for its operators"


ROWS = """
[[operator]]
id = "mm"
text = "it traps"
operators = ["aten::mm"]
kind = "traps"
dtypes = ["bf16"]
by = "flag_gems"
when = ["metax.device.model == C550"]
remedy = "leave it"
EVIDENCE

[[operator]]
id = "anywhere"
text = "it is wrong"
operators = ["aten::add"]
kind = "wrong"
EVIDENCE
"""


def test_rows_count_where_they_are_about_the_place_or_may_be() -> None:
    rows = matrix(ROWS)
    assert [one.row for one in of_card("C500", rows).known] == ["test.toml:operator:anywhere"]
    one, other = of_card("C550", rows).known
    assert (one.kind, one.by, one.sure, one.remedy) == ("traps", "flag_gems", True, "leave it")
    assert (one.operators, one.dtypes) == ({"aten::mm"}, {"bf16"})
    assert one.because == rows.operators[0].evidence
    assert (other.said, other.by, other.dtypes) == ("it is wrong", "", frozenset())
    unsure, _ = known(node(), rows, None)
    assert not unsure.sure


def test_makers_are_those_whose_cards_were_seen() -> None:
    assert makers(node(C500, H100)) == {"metax", "nvidia"}
    assert makers(node(("metax.device.model", "", Absent()))) == frozenset()


def runs(torch: str = METAX, device: str = "cuda") -> Runs:
    return Runs(inventory="s", model="m", device=Device(name=device, torch=torch))


def test_what_was_run_there_goes_with_the_platform() -> None:
    assert of_node(with_torch(METAX, "CUDA", C500), NONE, runs=runs()).runs == runs()
    assert of_node(node(C500), NONE, runs=runs()).runs == runs()
    assert of_node(node(), NONE, runs=runs("2.13.0+cpu", "cpu")).runs is not None
    assert of_card("C500", NONE, runs=runs()).runs == runs()


@pytest.mark.parametrize(
    ("snapshot", "made", "why"),
    [
        (
            with_torch(METAX, "CUDA", C500),
            runs("2.6.0+metax3.0.0.3"),
            f"they are of torch 2.6.0+metax3.0.0.3, and the platform has {METAX}",
        ),
        (node(C500), runs(CUDA), f"they are of torch {CUDA} on cuda, not of its cards of metax"),
        (with_torch(CPU, "CPU", C500), runs(CPU, "cpu"), "not of its cards of metax"),
        (node(), runs(METAX, "xla"), "on xla, not of its cards"),
    ],
)
def test_what_was_run_elsewhere_is_refused(snapshot: Snapshot, made: Runs, why: str) -> None:
    with pytest.raises(UsageError) as error:
        of_node(snapshot, NONE, runs=made)
    assert error.value.message.startswith("the results say nothing of n: ")
    assert error.value.message.endswith(why)
