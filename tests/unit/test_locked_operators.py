"""What a lock keeps of a table of operators decides of its models what the whole table would."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _wheels import lock_of
from hypothesis import given
from hypothesis import strategies as st

from mxenv import inventoried, locked_operators
from mxenv import lock as locks
from mxenv.errors import LockError
from mxenv.inventory import Inventory, Phase, Use
from mxenv.lock import AskedTorch, Provided
from mxenv.operator_coverage import cover
from mxenv.operator_place import Basis, Platform
from mxenv.operator_table import Entry, Grade, How, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

TORCH = "2.8.0+metax3.5.3.9"
NAMES = [
    *(f"aten::{name}.{overload}" for name in ("a", "b", "c") for overload in ("default", "out")),
    "flag::d.default",
]
CALLED = [*NAMES, "aten::a", "aten::gone.default", "flag::gone.default"]

entries = st.builds(
    Entry,
    how=st.sampled_from(How),
    via=st.lists(st.sampled_from(NAMES), max_size=3, unique=True).map(lambda v: tuple(sorted(v))),
    by=st.sampled_from(["", "flag_gems", "a library by somebody"]),
    grade=st.sampled_from(Grade),
)
tables = st.dictionaries(st.sampled_from(NAMES), entries).map(
    lambda told: Table(torch=TORCH, key="CUDA", entries=told)
)
uses = st.builds(
    Use,
    operator=st.sampled_from(CALLED),
    phase=st.just(Phase.PREFILL),
    dtypes=st.just(("bf16",)),
    one_of=st.lists(st.sampled_from(CALLED), max_size=3, unique=True).map(tuple),
    calls=st.integers(1, 9),
)


def model(*called: Use) -> Inventory:
    return Inventory(name="m", reader="huggingface", source="sha256:0", uses=called)


def lock_with(table: Table, *models: Inventory) -> locks.Lock:
    """Return a lock as it is after it was written and read."""
    kept = tuple(inventoried.of(f"{n}.json", one) for n, one in enumerate(models))
    lock = replace(
        lock_of(),
        provided=(Provided(name="torch", version=TORCH),),
        inventories=kept,
        torch=locked_operators.asked("node.json", table),
        operators=locked_operators.kept(table, kept),
    )
    return locks.parse(locks.render(lock), context="lock")


@given(tables, st.lists(uses, min_size=1, max_size=5))
def test_what_is_kept_decides_what_the_whole_table_would(table: Table, called: list[Use]) -> None:
    whole = cover(model(*called), Platform(name="x", table=table, basis=Basis.TARGET))
    lock = lock_with(table, model(*called))
    kept = locked_operators.table_of(lock)
    again = cover(lock.inventories[0].inventory, Platform(name="x", table=kept, basis=Basis.TARGET))
    assert [(one.operator, one.decision) for one in again.operators] == [
        (one.operator, one.decision) for one in whole.operators
    ]
    assert again.counts == whole.counts


@given(entries)
def test_words_say_all_of_an_entry(entry: Entry) -> None:
    assert locked_operators.entry(locked_operators.words(entry)) == entry


HAS: Mapping[str, Entry] = {
    "aten::add.Tensor": Entry(how=How.COMPOSITE, via=("aten::mm.default",)),
    "aten::mm.default": Entry(how=How.NATIVE, by="flag_gems", grade=Grade.RAN),
    "aten::other.default": Entry(how=How.NATIVE),
}
TABLE = Table(torch=TORCH, key="CUDA", entries=HAS)
ADD = model(Use(operator="aten::add.Tensor", phase=Phase.PREFILL, calls=1))


def test_an_operator_is_a_line_and_none_is_there_that_no_model_needs() -> None:
    text = locks.render(lock_with(TABLE, ADD))
    assert (
        "[tool.mxenv.operators]\n"
        '"aten::add.Tensor" = "composite through aten::mm.default"\n'
        '"aten::mm.default" = "native (ran) by flag_gems"\n'
    ) in text
    assert "aten::other" not in text
    assert f'digest = "{TABLE.digest}"\nversion = "{TORCH}"\nkey = "CUDA"\n' in text


def test_a_lock_of_which_no_torch_was_asked_has_no_table() -> None:
    assert locked_operators.table_of(lock_of()) is None


def test_what_another_torch_said_is_no_table_of_the_one_that_is_locked() -> None:
    lock = lock_with(TABLE, ADD)
    other = (Provided(name="torch", version="2.6.0+metax3.2.1.3"),)
    assert locked_operators.table_of(replace(lock, provided=other)) is None
    assert locked_operators.torch_of(replace(lock, provided=())) == ""


@pytest.mark.parametrize(
    "said", ["", "natives", "native (fast)", "composite through mm", "native "]
)
def test_an_entry_that_nobody_wrote_is_refused_by_its_name(said: str) -> None:
    text = locks.render(replace(lock_with(TABLE, ADD), operators=(("aten::mm.default", said),)))
    with pytest.raises(LockError, match="is not understood") as refused:
        locks.parse(text, context="lock")
    assert "tool.mxenv.operators.aten::mm.default" in str(refused.value.context)


def test_a_torch_without_a_digest_is_refused() -> None:
    asked = AskedTorch(file="node.json", digest="abc", version=TORCH, key="CUDA")
    text = locks.render(replace(lock_with(TABLE, ADD), torch=asked))
    with pytest.raises(LockError, match="'abc' is no digest"):
        locks.parse(text, context="lock")
