"""An inventory of many operators, each with arguments of a form as a recorder writes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Case = tuple[str, list[Any]]
META = {"device": "meta"}


def t(dtype: str, *shape: int, st: list[int] | None = None) -> dict[str, Any]:
    """Return a tensor as samples have it."""
    return {"t": dtype, "s": list(shape), **({"st": st} if st else {})}


def k(**named: Any) -> dict[str, Any]:
    return {"k": named}


def inventory(*formats: str, more: list[Case] | None = None) -> str:
    """Return the file of an inventory of `cases` in each of ``formats``, and of ``more``."""
    uses: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, args in [*(c for f in formats for c in cases(f)), *(more or [])]:
        dtypes = tuple(one["t"] for one in flat(args))
        uses.setdefault((name, dtypes), []).append(json.dumps(args, separators=(",", ":")))
    told = [
        {"operator": name, "phase": "forward", "dtypes": list(dtypes), "samples": samples}
        for (name, dtypes), samples in sorted(uses.items())
    ]
    head = {"schema": "mxenv.inventory/1", "name": "many", "reader": "torch"}
    return json.dumps({**head, "source": f"sha256:{'0' * 64}", "uses": told})


def flat(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for one in value:
            yield from flat(one)
    elif isinstance(value, dict) and "t" in value:
        yield value


def cases(f: str) -> Iterator[Case]:
    yield from products(f)
    yield from elementwise(f)
    yield from reductions(f)
    yield from pointing(f)
    yield from layers(f)


def products(f: str) -> Iterator[Case]:
    left = t(f, 64, 300)
    yield "aten::mm.default", [left, t(f, 300, 80)]
    yield "aten::addmm.default", [t(f, 80), left, t(f, 300, 80, st=[1, 300])]
    yield "aten::bmm.default", [t(f, 4, 32, 64), t(f, 4, 64, 32)]
    pads = [[1, 1], [1, 1], [1, 1], False, [0, 0], 1]
    yield "aten::convolution.default", [t(f, 2, 8, 20, 20), t(f, 16, 8, 3, 3), t(f, 16), *pads]


def elementwise(f: str) -> Iterator[Case]:
    one, row = t(f, 2, 64, 33), t(f, 64, 33)
    yield "aten::add.Tensor", [one, one]
    # One element seen many times.
    yield "aten::add.Tensor", [t(f, 2, 64, 33, st=[64, 1, 0]), one]
    yield "aten::mul.Tensor", [one, row]
    yield "aten::div.Tensor", [one, row]
    yield "aten::rsqrt.default", [t(f, 2, 64, 1)]
    yield "aten::pow.Tensor_Scalar", [one, 2]
    yield "aten::silu.default", [one]
    yield "aten::gelu.default", [one]
    yield "aten::exp.default", [one]
    yield "aten::addcdiv_.default", [row, row, row, k(value=-0.001)]
    yield "aten::lerp_.Scalar", [row, row, 0.1]
    yield "aten::_foreach_sqrt.default", [[row, t(f, 12)]]
    yield "aten::cat.default", [[one, one], -1]
    yield "aten::clone.default", [t(f, 2, 33, 64, st=[2112, 1, 33])]
    yield "aten::_to_copy.default", [one, k(dtype={"dtype": "f32"}, device=META)]
    yield "aten::full_like.default", [row, {"f": "-inf"}]
    yield "aten::masked_fill.Scalar", [row, t("bool", 64, 33), {"f": "-inf"}]
    yield "aten::where.self", [t("bool", 64, 33), row, t(f)]
    yield "aten::transpose.int", [row, 0, 1]


def reductions(f: str) -> Iterator[Case]:
    one = t(f, 2, 64, 128)
    yield "aten::sum.default", [one]
    yield "aten::mean.default", [one]
    yield "aten::mean.dim", [one, [-1], True]
    yield "aten::sum.dim_IntList", [one, [0, 1], True]
    yield "aten::cumsum.default", [t(f, 64, 100), 1]
    yield "aten::var_mean.correction", [t(f, 64, 100), [1], k(correction=0)]


def pointing(f: str) -> Iterator[Case]:
    table, rows = t(f, 64, 100), t("i64", 64, 5)
    yield "aten::embedding.default", [t(f, 1000, 64), t("i64", 2, 64)]
    back = [t(f, 2, 64, 64), t("i64", 2, 64), 1000, -1, False]
    yield "aten::embedding_dense_backward.default", back
    yield "aten::gather.default", [table, 1, rows]
    yield "aten::scatter.src", [table, 1, rows, t(f, 64, 5)]
    yield "aten::scatter_add.default", [table, 1, rows, t(f, 64, 5)]
    yield "aten::index_select.default", [table, 0, t("i64", 12)]
    yield "aten::index_add.default", [table, 0, t("i64", 128), t(f, 128, 100)]
    yield "aten::index.Tensor", [t(f, 2, 64, 33), [t("i64", 2, 1), t("i64", 2, 5)]]
    yield "aten::index.Tensor", [t(f, 64, 33), [t("bool", 64)]]
    yield "aten::index_put_.default", [t(f, 64, 33), [t("i64", 20)], t(f, 20, 33)]
    yield "aten::nll_loss_forward.default", [t(f, 64, 1000), t("i64", 64), None, 1, -100]
    back = [t(f), t(f, 64, 1000), t("i64", 64), None, 1, -100, t(f)]
    yield "aten::nll_loss_backward.default", back
    yield "aten::topk.default", [t(f, 64, 1000), 5]
    yield "aten::argmax.default", [t(f, 64, 1000), -1]
    yield "aten::sort.default", [t(f, 64, 1000), -1, True]
    window = [[3, 3], [2, 2], [1, 1]]
    yield "aten::max_pool2d_with_indices.default", [t(f, 2, 8, 20, 20), *window]


def layers(f: str) -> Iterator[Case]:
    scores, one, row = t(f, 2, 4, 64, 64), t(f, 2, 64, 128), t(f, 128)
    yield "aten::_softmax.default", [scores, -1, False]
    yield "aten::_log_softmax.default", [t(f, 64, 1000), -1, False]
    yield "aten::_softmax_backward_data.default", [scores, scores, -1, {"dtype": f}]
    yield "aten::native_layer_norm.default", [one, [128], row, row, 1e-5]
    kept = [t(f, 2, 64, 1), t(f, 2, 64, 1)]
    back = [one, one, [128], *kept, row, row, [True, True, True]]
    yield "aten::native_layer_norm_backward.default", back
    norm = [t(f, 4, 8, 10, 10), *[t(f, 8)] * 4, True, 0.1, 1e-5]
    yield "aten::native_batch_norm.default", norm
    query = t(f, 2, 4, 64, 32)
    attention = "aten::_scaled_dot_product_flash_attention_for_cpu"
    yield f"{attention}.default", [query, query, query, 0.0, True]
    back = [query, query, query, query, query, t("f32", 2, 4, 64), 0.0, True]
    yield f"{attention}_backward.default", back


EXACT: list[Case] = [
    ("aten::arange.default", [10, k(dtype={"dtype": "i64"}, device=META)]),
    ("aten::eq.Tensor", [t("i64", 64), t("i64", 64)]),
    ("aten::cumsum.default", [t("i64", 4, 64), 1]),
    ("aten::_local_scalar_dense.default", [t("i64")]),
    ("aten::bitwise_and.Tensor", [t("bool", 64), t("bool", 64)]),
    ("aten::one_hot.default", [t("i64", 64), 10]),
]
"""Operators of integers and truths."""
OPEN: list[Case] = [
    ("aten::native_dropout.default", [t("f32", 64, 100), 0.1, True]),
    ("aten::empty_like.default", [t("f32", 64, 100)]),
]
"""Of which nobody can say what is right."""
UNKNOWN: list[Case] = [
    ("aten::_embedding_bag.default", [t("f32", 10, 4), t("i64", 10), t("i64", 3)]),
    ("mylib::thing.default", [t("f32", 10, 4), t("i64", 10)]),
    ("aten::mm.default", [t("f64", 60000, 60000), t("f64", 60000, 60000)]),
    ("c10d::allreduce_.default", [t("f32", 10)]),
    ("aten::add.Tensor", [t("f32", 3), t("f32", 4)]),
]
"""That cannot be called: for want of legal arguments, of whoever registers them, of memory."""
