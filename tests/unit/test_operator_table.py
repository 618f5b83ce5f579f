from __future__ import annotations

import hashlib
import json

import pytest

from mxenv.operator_table import SCHEMA, Entry, Grade, How, Table, digest_of, read, summary, write

TABLE = Table(
    torch="2.8.0+metax3.5.3.9",
    key="CUDA",
    entries={
        "aten::add.Tensor": Entry(how=How.GENERATED, via=("aten::add.out",)),
        "aten::add.out": Entry(how=How.NATIVE, by="flag_gems", grade=Grade.VERIFIED),
        "aten::mm.default": Entry(how=How.NATIVE, grade=Grade.RAN),
        "aten::odd.default": Entry(
            how=How.COMPOSITE, via=("aten::mm.default", "aten::sum.default")
        ),
        "aten::sum.default": Entry(how=How.FALLBACK),
        "aten::what.default": Entry(how=How.UNKNOWN),
        "aten::where.default": Entry(how=How.MISSING),
    },
)


def written(**fields: object) -> str:
    body = json.dumps({"torch": "", "key": "", "by": [], "names": "", "entries": "", **fields})
    return f"{SCHEMA} sha256:{hashlib.sha256(body.encode()).hexdigest()} {body}"


def test_a_table_is_read_back_as_it_was() -> None:
    assert read(write(TABLE)) == TABLE
    assert read(write(TABLE)).digest == TABLE.digest
    assert digest_of(write(TABLE)) == TABLE.digest


def test_an_empty_table_is_one_as_well() -> None:
    empty = Table(torch="2.8.0", key="CPU")
    assert read(write(empty)) == empty


def test_the_order_in_which_it_was_learned_is_not_written() -> None:
    turned = Table(torch=TABLE.torch, key="CUDA", entries=dict([*TABLE.entries.items()][::-1]))
    assert write(turned) == write(TABLE)


def test_who_does_the_work_and_is_not_there_is_missing() -> None:
    entries = {"a::b.c": Entry(how=How.COMPOSITE, via=("a::gone.default",))}
    table = read(write(Table(torch="", key="CPU", entries=entries)))
    assert table.entries["a::gone.default"] == Entry(how=How.MISSING)


def test_thousands_of_operators_take_a_few_characters_each() -> None:
    names = [f"aten::operator_{n:04}.Tensor" for n in range(3600)]
    entries = {name: Entry(how=How.COMPOSITE, via=(names[n // 2],)) for n, name in enumerate(names)}
    table = Table(torch="2.8.0", key="CUDA", entries=entries)
    assert read(write(table)) == table
    assert len(write(table)) < 20 * 3600


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is not 'mxenv.operators/1'"),
        ("mxenv.operators/2 x y", "'mxenv.operators/2' is not"),
        (write(TABLE)[:-1], "is not what its digest says"),
        (written(names="0a::b.c", entries="x"), "is not understood: 'x'"),
        (written(names="0a::b.c", entries="n?"), "is not understood: 'n?'"),
        (written(names="0a::b.c", entries="n@3"), "is not understood (IndexError"),
        (written(names="0a::b.c", entries="c9"), "is not understood (IndexError"),
        (written(names="0a::b.c"), "zip() argument 2 is shorter"),
        (written(names=3), "is not understood (AttributeError"),
        (f"{SCHEMA} sha256:{hashlib.sha256(b'[]').hexdigest()} []", "is not understood (TypeError"),
        (
            f"{SCHEMA} sha256:{hashlib.sha256(b'{}').hexdigest()} {{}}",
            "is not understood (KeyError",
        ),
        (f"{SCHEMA} sha256:{hashlib.sha256(b'{').hexdigest()} {{", "Expecting property name"),
    ],
)
def test_what_is_no_table_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        read(text)
    assert str(caught.value).startswith(said)


def test_in_one_line_it_says_what_it_has_and_of_whom() -> None:
    assert summary(TABLE) == (
        "torch 2.8.0+metax3.5.3.9 for CUDA: 7 operators (2 native, 1 generated, 1 composite, "
        f"1 fallback, 1 missing, 1 unknown); some by flag_gems; {TABLE.digest}"
    )
    alone = Table(torch="2.8.0", key="CPU", entries={"a::b.default": Entry(how=How.NATIVE)})
    said = f"torch 2.8.0 for CPU: 1 operators (1 native); {alone.digest}"
    assert summary(alone) == said
