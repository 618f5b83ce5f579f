"""Which number format a function computes in under autocast, for tensors without values."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

# As torch lists them for CUDA: https://docs.pytorch.org/docs/stable/amp.html#cuda-op-specific-behavior
LOWER = frozenset(
    (
        "matmul",
        "__matmul__",
        "__rmatmul__",
        "mm",
        "mv",
        "bmm",
        "addmm",
        "addmv",
        "addr",
        "addbmm",
        "baddbmm",
        "chain_matmul",
        "multi_dot",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "linear",
        "prelu",
        "scaled_dot_product_attention",
        "lstm_cell",
        "gru_cell",
        "rnn_tanh_cell",
        "rnn_relu_cell",
        "einsum",
    )
)
FLOAT32 = frozenset(
    (
        "pow",
        "__pow__",
        "__rpow__",
        "acos",
        "asin",
        "cosh",
        "sinh",
        "tan",
        "exp",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
        "reciprocal",
        "rsqrt",
        "rdiv",
        "__rdiv__",
        "__rtruediv__",
        "softmax",
        "log_softmax",
        "softmin",
        "softplus",
        "layer_norm",
        "group_norm",
        "norm",
        "normalize",
        "cosine_similarity",
        "cosine_embedding_loss",
        "cdist",
        "cumsum",
        "cumprod",
        "prod",
        "sum",
        "dist",
        "renorm",
        "mse_loss",
        "l1_loss",
        "nll_loss",
        "nll_loss_nd",
        "cross_entropy",
        "cross_entropy_loss",
        "kl_div",
        "smooth_l1_loss",
        "huber_loss",
        "soft_margin_loss",
        "multi_margin_loss",
        "hinge_embedding_loss",
        "margin_ranking_loss",
        "triplet_margin_loss",
        "poisson_nll_loss",
        "binary_cross_entropy_with_logits",
        "multilabel_margin_loss",
        "pdist",
        "erfinv",
    )
)
WIDEST = frozenset(
    (
        "addcdiv",
        "addcmul",
        "atan2",
        "bilinear",
        "cross",
        "dot",
        "grid_sample",
        "index_put",
        "scatter_add",
        "tensordot",
    )
)


class Autocast(TorchFunctionMode):
    """Casts as autocast for CUDA does, which leaves tensors without values alone."""

    def __init__(self, ledger: Any, dtype: torch.dtype) -> None:
        super().__init__()
        self.ledger, self.dtype = ledger, dtype
        self.kept: dict[Any, Any] = {}
        """Weights that were cast once; autocast keeps them as well."""

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call ``func`` with its tensors in the format that autocast has for it."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in LOWER:
            wanted = self.dtype
        elif name in FLOAT32:
            wanted = torch.float32
        elif name in WIDEST:
            wanted = _widest(args)
        else:
            return func(*args, **kwargs)
        args, kwargs = tree_map_only(
            torch.Tensor, lambda value: self._cast(value, wanted), (args, kwargs)
        )
        return func(*args, **kwargs)

    def _cast(self, value: Any, dtype: Any) -> Any:
        if dtype is None or not value.is_floating_point():
            return value
        if value.dtype is dtype or value.dtype is torch.float64:
            return value
        self.ledger.assume("autocast", "autocast", "casts are those that torch documents for CUDA")
        if not (value.is_leaf and value.requires_grad and dtype is self.dtype):
            return value.to(dtype)
        key = id(value)
        if key not in self.kept:
            self.kept[key] = value.to(dtype)
        return self.kept[key]


def _widest(args: Any) -> Any:
    dtypes = {one.dtype for one in args if isinstance(one, torch.Tensor)}
    return torch.float32 if torch.float32 in dtypes and len(dtypes) > 1 else None


class Named:
    """The names under which autocast is asked for a device that it does not know."""

    def __init__(self) -> None:
        self.before = torch.autocast.__init__

    def __enter__(self) -> None:
        before = self.before

        def made(own: Any, device_type: str, *args: Any, **kwargs: Any) -> Any:
            # Models switch it off for a part of their work; torch 2.4 knows none for meta.
            return before(own, "cpu" if device_type == "meta" else device_type, *args, **kwargs)

        torch.autocast.__init__ = made  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        torch.autocast.__init__ = self.before  # type: ignore[method-assign]
