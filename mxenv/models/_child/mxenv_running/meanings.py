"""What operators mean that a CPU cannot do as they stand, in terms of those that it can.

What is compared with a device has to be computed in float64, and by the CPU in the same format.
Fused attention, scaled products and products by groups have no such kernels; what they compute is
no secret. A meaning gives the first results of its operator; the others are not compared.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from mxenv_running import legal

ATEN = torch.ops.aten
STACKED = 4
"""Dimensions of what has a batch and heads."""
STACK = 3
"""Those of several matrices."""


class NoMeaning(Exception):
    """It has one, and not with these arguments; the reason."""


def meaning(operator: str) -> Any:
    """Return what computes the results of ``operator``; `None`: itself does."""
    return MEANINGS.get(operator.partition("::")[2].partition(".")[0])


def wants(operator: str) -> Any:
    """Return what gives arguments of ``operator`` that only a forward pass on the device has."""
    return FORWARD.get(operator.partition("::")[2].partition(".")[0])


def _written_out(query: Any, key: Any, value: Any, bias: Any, named: Any) -> Any:
    """Return attention as it is written in books."""
    scale = named["scale"]
    factor = scale if scale is not None else 1.0 / math.sqrt(query.shape[-1])
    groups = query.shape[1] // key.shape[1] if query.dim() == STACKED and key.shape[1] else 1
    if groups > 1:
        key, value = (one.repeat_interleave(groups, 1) for one in (key, value))
    # As kernels do: what is summed up is kept wider than what comes in.
    wide = torch.float64 if query.dtype is torch.float64 else torch.float32
    scores = (query.to(wide) @ key.to(wide).transpose(-2, -1)) * factor
    if named["is_causal"]:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    if bias is not None and bias.dtype is torch.bool:
        scores = scores.masked_fill(~bias, -math.inf)
    elif bias is not None:
        scores = scores + bias
    return scores.softmax(-1).to(query.dtype) @ value


def _bias(named: Any) -> Any:
    return next((named[name] for name in ("attn_bias", "attn_mask") if name in named), None)


def _attention(named: Any) -> Any:
    if named["dropout_p"]:
        raise NoMeaning("it leaves out numbers at random")
    query, key, value = (named[name] for name in ("query", "key", "value"))
    return [_written_out(query, key, value, _bias(named), named)]


def _attention_backward(named: Any) -> Any:
    """Return the gradients of query, key and value; that of a mask is not compared."""
    if named["dropout_p"]:
        raise NoMeaning("it leaves out numbers at random")
    grad = named["grad_out"] if "grad_out" in named else named["grad_out_"]
    leaves = [named[name].detach().clone() for name in ("query", "key", "value")]
    for leaf in leaves:
        leaf.requires_grad_(requires_grad=True)
    with torch.enable_grad():
        found = _written_out(*leaves, _bias(named), named)
        return list(torch.autograd.grad(found, leaves, grad))


def _softmax(named: Any) -> Any:
    return [ATEN._softmax(_to_float(named), named["dim"], False)]


def _log_softmax(named: Any) -> Any:
    return [ATEN._log_softmax(_to_float(named), named["dim"], False)]


def _to_float(named: Any) -> Any:
    given = named["self"]
    return given.float() if named["half_to_float"] and given.dtype is not torch.float64 else given


def _scaled(named: Any) -> Any:
    """Return a product of scaled numbers; what is scaled by blocks has another shape, and fails."""
    given = named["self"]
    wide = torch.float64 if given.dtype is torch.float64 else torch.float32
    left = given.to(wide) * named["scale_a"].to(wide)
    found = left @ (named["mat2"].to(wide) * named["scale_b"].to(wide))
    if named["bias"] is not None:
        found = found + named["bias"].to(wide)
    return [found.to(named["out_dtype"] or given.dtype)]


def _grouped(named: Any) -> Any:
    """Return products of the groups that rows, or what is summed over, fall into."""
    left, right, offsets = named["self"], named["mat2"], named["offs"]
    if named["bias"] is not None:
        raise NoMeaning("nobody says what is added to which group")
    if offsets is None:
        return [torch.bmm(left, right)]
    ends = offsets.tolist()
    parts = list(zip([0, *ends[:-1]], ends))
    flat = (left.dim() < STACK, right.dim() < STACK)
    if flat == (True, True):
        return [torch.stack([left[:, a:b] @ right[a:b] for a, b in parts])]
    if flat == (True, False):
        return [torch.cat([left[a:b] @ right[n] for n, (a, b) in enumerate(parts)])]
    if flat == (False, True):
        return [torch.cat([left[n] @ right[:, a:b] for n, (a, b) in enumerate(parts)], -1)]
    raise NoMeaning("two stacks of matrices have no groups")


def _cudnn_batch_norm(named: Any) -> Any:
    names = "input weight bias running_mean running_var training exponential_average_factor epsilon"
    return [ATEN.native_batch_norm(*(named[name] for name in names.split()))[0]]


def _cudnn_convolution(named: Any) -> Any:
    given = [named[name] for name in ("padding", "dilation")]
    zeros = [0] * len(named["padding"])
    return [
        ATEN.convolution(
            named["self"],
            named["weight"],
            None,
            named["stride"],
            *given,
            False,
            zeros,
            named["groups"],
        )
    ]


MEANINGS = {
    "_scaled_dot_product_flash_attention": _attention,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_efficient_attention": _attention,
    "_scaled_dot_product_cudnn_attention": _attention,
    "_scaled_dot_product_fused_attention_overrideable": _attention,
    "_scaled_dot_product_flash_attention_backward": _attention_backward,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    "_scaled_dot_product_efficient_attention_backward": _attention_backward,
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "_scaled_mm": _scaled,
    "_grouped_mm": _grouped,
    "cudnn_batch_norm": _cudnn_batch_norm,
    "cudnn_convolution": _cudnn_convolution,
}
FLASH = ("query", "key", "value", "dropout_p", "is_causal")
EFFICIENT = ("query", "key", "value", "attn_bias")


def _flash_kept(named: Any) -> Any:
    found = ATEN._scaled_dot_product_flash_attention(
        *(named[name] for name in FLASH), False, scale=named["scale"]
    )
    names = ("out", "logsumexp", "cum_seq_q", "cum_seq_k", None, None)
    return {**dict(zip(names, found)), "philox_seed": found[6], "philox_offset": found[7]}


def _flash_kept_cpu(named: Any) -> Any:
    found = ATEN._scaled_dot_product_flash_attention_for_cpu(
        *(named[name] for name in FLASH), attn_mask=named["attn_mask"], scale=named["scale"]
    )
    return dict(zip(("out", "logsumexp"), found))


def _efficient_kept(named: Any) -> Any:
    rest = (True, named["dropout_p"], named["is_causal"])
    found = ATEN._scaled_dot_product_efficient_attention(
        *(named[name] for name in EFFICIENT), *rest, scale=named["scale"]
    )
    return dict(zip(("out", "logsumexp", "philox_seed", "philox_offset"), found))


FORWARD = {
    "_scaled_dot_product_flash_attention_backward": _flash_kept,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _flash_kept_cpu,
    "_scaled_dot_product_efficient_attention_backward": _efficient_kept,
}
"""By operator: what a forward pass gives of its arguments, by their names."""

UNDEFINED = frozenset(
    [
        "empty",
        "empty_like",
        "empty_strided",
        "empty_permuted",
        "new_empty",
        "new_empty_strided",
        "resize",
        "resize_as",
        "set",
        "empty_quantized",
        "_efficientzerotensor",
    ]
)
"""Operators that give memory, and say nothing of what is in it."""
AMBIGUOUS = frozenset(
    [
        "_linalg_svd",
        "linalg_svd",
        "linalg_qr",
        "linalg_eigh",
        "_linalg_eigh",
        "linalg_eig",
        "geqrf",
        "svd",
        "lu_unpack",
        "linalg_lu_factor_ex",
        "linalg_lu",
        "_linalg_det",
        "unique_consecutive",
    ]
)
"""Operators with more than one right result."""
AFAR = frozenset({"c10d", "_c10d_functional", "_c10d_functional_autograd"})
"""Namespaces of what other processes have a part in."""
POINTING = {
    "sort": (1, "dim", -1),
    "argsort": (0, "dim", -1),
    "topk": (1, "dim", -1),
    "max": (1, "dim", None),
    "min": (1, "dim", None),
    "median": (1, "dim", None),
    "nanmedian": (1, "dim", None),
    "kthvalue": (1, "dim", -1),
    "mode": (1, "dim", -1),
    "cummax": (1, "dim", None),
    "cummin": (1, "dim", None),
    "argmax": (0, "dim", None),
    "argmin": (0, "dim", None),
    "max_pool2d_with_indices": (1, -2, None),
    "max_pool3d_with_indices": (1, -3, None),
    "adaptive_max_pool2d": (1, -2, None),
}
"""Which result points at numbers, and along what: two that are equal may change places."""


def pointed_at(operator: Any, named: Any, results: Any) -> Any:
    """Return results in which an index is what it points at, of which there is only one right."""
    place, along, default = POINTING.get(legal.base(operator), (None, None, None))
    if place is None or place >= len(results):
        return results
    index, data = results[place], named["self"]
    if isinstance(along, int):
        data, index = data.flatten(along), index.flatten(along)
        dim = -1
    else:
        dim = named.get(along, default)
    if dim is None:
        data, index, dim = data.reshape(-1), index.reshape(-1), 0
    elif index.dim() < data.dim():
        index = index.unsqueeze(dim)
    if not data.dim():
        return results
    found = list(results)
    found[place] = torch.take_along_dim(data, index, dim)
    return found
