"""Arguments that are legal only together, or make sense only so."""

from __future__ import annotations

from typing import Any

import torch

from mxenv_running import legal

MASKS = (torch.bool, torch.uint8)
MOST = 1 << 24
"""Places among which is chosen without hitting one twice."""
LAST_WINS = frozenset(
    ["scatter", "index_copy", "index_put", "_index_put_impl", "_unsafe_index_put", "put"]
)
"""Operators of which it is open who wins, where two write to one place."""


def together(operator: Any, named: Any, generator: Any) -> None:
    """Make the values of arguments fit each other."""
    does = legal.base(operator)
    if does in legal.LISTED:
        _listed(named, generator)
    if does in LAST_WINS and not named.get("accumulate"):
        _one_value(does, named)
    if does == "masked_scatter":
        few_true(named["mask"], named["source"].numel)
    if does.endswith("layer_norm_backward") and named.get("mean") is not None:
        _normalised(named, named["input"], len(named["normalized_shape"]), "mean", "rstd")
    if does == "native_group_norm_backward":
        _grouped(named)
    if does.endswith("batch_norm_backward"):
        _batched(named)
    if does.startswith("nll_loss") and "total_weight" in named:
        named["total_weight"].fill(torch.tensor(float(max(named["target"].numel, 1))))
    if does in ("linalg_cholesky_ex", "cholesky", "linalg_cholesky", "cholesky_inverse"):
        matrix = named["self"].values().double()
        size = matrix.shape[-1]
        named["self"].fill(matrix @ matrix.mT / size + torch.eye(size, dtype=torch.float64))


def _listed(named: Any, generator: Any) -> None:
    """Give a list of indices values: each points into its dimension, no place is hit twice."""
    masks, whole = _bound(named)
    values = named.get("values")
    if values is not None and values.numel != 1 and values.shape:
        for mask in masks:
            few_true(mask, values.shape[0], exact=True)
    places = 1
    for _, bound in whole:
        places *= max(bound, 1)
    alike = len({one.shape for one, _ in whole}) == 1
    once = all(one.once == one.shape for one, _ in whole)
    if alike and once and len(whole) > 1 and whole[0][0].numel <= places < MOST:
        at = torch.randperm(places, generator=generator)[: whole[0][0].numel]
        for one, bound in reversed(whole):
            one.fill((at % max(bound, 1)).reshape(one.shape))
            at = at // max(bound, 1)
        return
    for one, bound in whole:
        spread = legal.spread(one.once, bound, generator)
        if spread is not None:
            one.fill(spread)


def _bound(named: Any) -> Any:
    """Return the masks of a list of indices, and the others with what each lies below."""
    left = list(named["self"].shape)
    masks, whole = [], []
    for one in named["indices"]:
        if one is None:
            left.pop(0)
        elif one.dtype in MASKS:
            del left[: len(one.shape)]
            masks.append(one)
        else:
            whole.append((one, left.pop(0)))
    return masks, whole


def _one_value(does: Any, named: Any) -> None:
    """Write one value everywhere, if two may be written to one place."""
    given = named.get("values", named.get("src", named.get("source")))
    index = named.get("index")
    if given is None or not hasattr(given, "fill") or not given.numel:
        return
    if does == "index_copy" and index.numel <= legal.along(named):
        return
    given.fill(torch.ones(given.once) * (0.75 if given.floating else 1))


def few_true(mask: Any, most: Any, *, exact: bool = False) -> None:
    """Leave no more of a mask true than there are values for it."""
    flat = mask.values().reshape(-1).clone()
    if exact:
        flat = torch.arange(flat.numel()) < most
    else:
        flat &= flat.cumsum(0) <= most
    mask.fill(flat.reshape(mask.shape))


def _normalised(named: Any, held: Any, last: Any, mean: Any, deviation: Any) -> None:
    """Give what a forward pass has kept the values that it would have."""
    given = held.values().double()
    over = tuple(range(given.dim() - last, given.dim()))
    _keep(named.get(mean), given.mean(over))
    _keep(named.get(deviation), (given.var(over, unbiased=False) + 1e-5).rsqrt())


def _keep(held: Any, values: Any) -> None:
    if held is not None and held.numel == values.numel():
        held.fill(values.reshape(held.shape))


def _grouped(named: Any) -> None:
    count, groups = named["input"].shape[0], named["group"]
    given = named["input"].values().double().reshape(count, groups, -1)
    _keep(named.get("mean"), given.mean(-1))
    _keep(named.get("rstd"), (given.var(-1, unbiased=False) + 1e-5).rsqrt())


def _batched(named: Any) -> None:
    given = named["input"].values().double()
    over = tuple(n for n in range(given.dim()) if n != 1)
    _keep(named.get("save_mean"), given.mean(over))
    _keep(named.get("save_invstd"), (given.var(over, unbiased=False) + 1e-5).rsqrt())
