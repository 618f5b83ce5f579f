"""Which values arguments may have: indices that point at something, numbers that have a root.

A tensor of integers is data, an index, a length or a count, and its form does not say which. So an
index has to be known by its operator and its name there; what is called as data is called is data,
in torch's own operators only; of everything else nobody knows.
"""

from __future__ import annotations

from typing import Any

import torch

OWN = ("aten", "prims")
DATA = frozenset(
    [
        "self",
        "other",
        "others",
        "tensors",
        "tensor",
        "tensor1",
        "tensor2",
        "input",
        "src",
        "source",
        "value",
        "values",
        "elements",
        "test_elements",
        "condition",
        "mask",
        "mat1",
        "mat2",
        "batch1",
        "batch2",
        "vec",
        "vec1",
        "vec2",
        "min",
        "max",
        "end",
        "start",
        "weight",
        "exponent",
        "exp",
        "base",
        "x",
        "y",
        "a",
        "b",
        "grad",
        "grad_output",
        "grads",
        "scalars",
    ]
)
"""What arguments are called that hold numbers to compute with."""
HALF = 0.5
"""The share of truths that are true."""
FLAT = 2
"""Dimensions of one matrix."""
SMALL = 8
"""Integers that are data lie below: their products and powers fit into every format."""
POSITIVE_NAMES = frozenset(
    [
        "running_var",
        "save_var",
        "save_invstd",
        "invstd",
        "rstd",
        "var",
        "variance",
        "std",
        "exp_avg_sqs",
        "max_exp_avg_sqs",
        "state_sums",
        "scale",
        "scale_a",
        "scale_b",
        "scales",
        "inv_scale",
        "scale_result",
        "total_weight",
        "weights",
    ]
)
POSITIVE = frozenset(
    [
        "sqrt",
        "rsqrt",
        "log",
        "log2",
        "log10",
        "log1p",
        "pow",
        "float_power",
        "lgamma",
        "digamma",
        "reciprocal",
        "multinomial",
        "poisson",
        "_standard_gamma",
        "_sample_dirichlet",
        "acosh",
        "xlogy",
        "frac",
        "trigamma",
        "prod",
        "cumprod",
        "logspace",
    ]
)
"""Operators of numbers above zero: half of all numbers would show nothing but NaN."""
UNIT = frozenset(
    [
        "asin",
        "acos",
        "atanh",
        "erfinv",
        "logit",
        "bernoulli",
        "binary_cross_entropy",
        "binary_cross_entropy_backward",
        "tanh_backward",
        "sigmoid_backward",
        "logit_backward",
    ]
)
"""Of numbers between zero and one."""
DIVISORS = {
    "div": "other",
    "divide": "other",
    "true_divide": "other",
    "floor_divide": "other",
    "remainder": "other",
    "fmod": "other",
    "addcdiv": "tensor2",
    "atan2": "other",
}
KEPT = frozenset({"philox_seed", "philox_offset", "rng_state", "unused", "cum_seq_q", "cum_seq_k"})
"""What a forward pass on the device gives, and `meanings.FORWARD` puts in the place of zeros."""
ZERO = frozenset({"found_inf"})
STEPS = frozenset({"state_steps"})


def base(operator: Any) -> Any:
    """Return what an operator does: its name without namespace, and what says in what way."""
    name = operator.partition("::")[2].partition(".")[0]
    if name.startswith("_foreach_"):
        name = name[len("_foreach_") :]
    return name.rstrip("_") if not name.startswith("__") else name


def along(named: Any, of: Any = "self") -> Any:
    """Return the size of a tensor along the dimension that is named."""
    shape = named[of].shape
    return shape[named.get("dim", 0)] if shape else 1


def _classes(named: Any) -> Any:
    shape = named["self"].shape
    return shape[1] if len(shape) > 1 else shape[0]


def _plane(named: Any) -> Any:
    """Return how many places a window of two dimensions is taken from."""
    height, width = named["self"].shape[-2:]
    return height * width


BELOW = {
    ("embedding", "indices"): lambda named: named["weight"].shape[0],
    ("embedding_renorm", "indices"): lambda named: named["self"].shape[0],
    ("embedding_dense_backward", "indices"): lambda named: named["num_weights"],
    ("embedding_backward", "indices"): lambda named: named["num_weights"],
    ("gather", "index"): along,
    ("scatter", "index"): along,
    ("scatter_add", "index"): along,
    ("scatter_reduce", "index"): along,
    ("index_select", "index"): along,
    ("index_add", "index"): along,
    ("index_copy", "index"): along,
    ("index_fill", "index"): along,
    ("index_reduce", "index"): along,
    ("take", "index"): lambda named: named["self"].numel,
    ("put", "index"): lambda named: named["self"].numel,
    ("one_hot", "self"): lambda named: named["num_classes"],
    ("nll_loss", "target"): _classes,
    ("nll_loss_forward", "target"): _classes,
    ("nll_loss_backward", "target"): _classes,
    ("nll_loss2d_forward", "target"): _classes,
    ("nll_loss2d_backward", "target"): _classes,
    ("cross_entropy_loss", "target"): _classes,
    ("max_pool2d_with_indices_backward", "indices"): _plane,
    ("adaptive_max_pool2d_backward", "indices"): _plane,
}
"""By operator and argument: below what its integers have to lie, as other arguments say."""
LISTED = frozenset(
    [
        "index",
        "index_put",
        "_unsafe_index",
        "_unsafe_index_put",
        "_index_put_impl",
        "_unsafe_masked_index",
        "_unsafe_masked_index_put_accumulate",
    ]
)
"""Operators with a list of indices, one for each dimension; a mask takes as many as it has."""


def values(operator: Any, name: Any, held: Any, named: Any, generator: Any) -> Any:
    """Return values that ``held``, the argument ``name``, may have; nothing if nobody knows."""
    shape = held.once
    if held.dtype.is_complex:
        return torch.randn(shape, generator=generator, dtype=torch.complex128)
    if held.dtype.is_floating_point:
        return _floats(base(operator), name, shape, named, generator)
    if held.dtype is torch.bool:
        return torch.rand(shape, generator=generator) < HALF
    return _integers(operator, name, shape, named, generator)


def _integers(operator: Any, name: Any, shape: Any, named: Any, generator: Any) -> Any:
    """Return indices that point at something, lengths that add up, or data."""
    does = base(operator)
    if (does, name) in BELOW:
        return spread(shape, BELOW[does, name](named), generator)
    if does in LISTED and name == "indices":
        # `fitting` makes them, once all are there: each is bound by its place in the list.
        return torch.zeros(shape, dtype=torch.int64)
    if name in KEPT and does.endswith("_backward"):
        return torch.zeros(shape, dtype=torch.int64)
    counted = _counted(does, name, shape, named)
    if counted is not None:
        return counted
    if operator.partition("::")[0] not in OWN or name not in DATA:
        return None
    return torch.randint(1 if name != "self" else 0, SMALL, shape, generator=generator)


def spread(shape: Any, bound: Any, generator: Any) -> Any:
    """Return indices below ``bound``, none twice before each was there once."""
    count = 1
    for size in shape:
        count *= size
    if not count:
        return torch.zeros(shape, dtype=torch.int64)
    if bound <= 0:
        return None
    if bound > 4 * count + (1 << 20):
        return torch.randint(bound, shape, generator=generator)
    times = -(-count // bound)
    found = [torch.randperm(bound, generator=generator) for _ in range(times)]
    return torch.cat(found)[:count].reshape(shape)


def _counted(does: Any, name: Any, shape: Any, named: Any) -> Any:
    """Return lengths, and ends of groups, that add up to what there is."""
    if does == "repeat_interleave" and name == "repeats" and len(shape) == 1:
        total = named.get("output_size")
        count = shape[0]
        if total is None or not count:
            return torch.arange(count) % 3
        return torch.tensor(
            [(total * (n + 1)) // count - (total * n) // count for n in range(count)]
        )
    if does in ("_grouped_mm", "_scaled_grouped_mm") and name == "offs":
        # Groups of two matrices share the rows of the first, or what both are summed over.
        total = named["self"].shape[-1 if len(named["mat2"].shape) == FLAT else -2]
        count = shape[0]
        ends = [(total * (n + 1)) // count // 16 * 16 for n in range(count)]
        return torch.tensor([*ends[:-1], total])
    return None


def _floats(  # noqa: PLR0911 - one for each kind of number
    does: Any, name: Any, shape: Any, named: Any, generator: Any
) -> Any:
    """Return numbers that an operator has a result for, as well as it is known."""
    unit = torch.rand(shape, generator=generator, dtype=torch.float64)
    if name in ZERO:
        return torch.zeros(shape)
    if name in STEPS:
        return torch.full(shape, 3.0)
    if name in ("sorted_sequence", "boundaries"):
        return unit.sort(-1).values if shape else unit
    if does in UNIT or (does == "pow" and name == "exponent"):
        return 0.05 + 0.9 * unit
    if does == "acosh":
        return 1.25 + unit
    if name in POSITIVE_NAMES or (does in POSITIVE and not _whole_power(does, named)):
        return 0.5 + unit
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    if DIVISORS.get(does) == name:
        return (0.5 + unit) * torch.where(normal < 0, -1.0, 1.0)
    return normal


def _whole_power(does: Any, named: Any) -> Any:
    exponent = named.get("exponent")
    return does == "pow" and isinstance(exponent, (int, float)) and float(exponent).is_integer()
