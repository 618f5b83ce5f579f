"""What torch chooses by device, chosen for tensors without values as a card would have it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

import torch
from torch.utils._python_dispatch import _disable_current_modes

from mxenv_recording.guesses import meta

ATEN = torch.ops.aten
HALVES = (torch.float16, torch.bfloat16)
RANK = 4
WIDEST = 256
"""Elements of a head that the flash kernels take."""
STEP = 8
"""A head's elements have to be a multiple of it; others are filled up."""
COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
KEY = "AutogradMeta"
"""Where kernels are put that no tensor with values ever meets."""


class Choices:
    """Kernels that stand in for composites while a walk goes on."""

    def __init__(self, ledger: Any) -> None:
        self.ledger = ledger

    @contextmanager
    def made(self) -> Iterator[Choices]:
        """Put them into the dispatcher, and take them away again."""
        library = torch.library.Library("aten", "IMPL")
        try:
            for name, kernel in self.kernels().items():
                library.impl(name, kernel, KEY)
            with _lists(), _layers():
                yield self
        finally:
            library._destroy()

    def kernels(self) -> dict[str, Any]:
        """Return each kernel, by the name of the composite that it stands in for."""
        found = {"scaled_dot_product_attention": self.attention, "dropout": self.dropout}
        if hasattr(ATEN, "_fused_rms_norm_backward"):
            found["rms_norm"] = self.rms_norm
        if hasattr(ATEN, "_cudnn_rnn"):
            found["lstm.input"] = self.lstm
            found["gru.input"] = self.gru
        return found

    def attention(  # noqa: PLR0913, PLR0917 - the operator's own arguments
        self,
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,  # noqa: FBT001, FBT002 - as the operator has it
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        """Return what attention returns, computed by the kernel that a card would take."""
        kernel = _kernel(query, key, value, attn_mask, enable_gqa=enable_gqa)
        self.ledger.assume(
            "attention", f"aten::{_named(kernel)}", "the kernel of attention that a card would take"
        )
        if kernel == "math":
            inside = ATEN.scaled_dot_product_attention.default
            return inside._op_dk(
                *(COMPOSITE, query, key, value, attn_mask, dropout_p, is_causal),
                scale=scale,
                **({"enable_gqa": True} if enable_gqa else {}),
            )
        if scale is None:
            scale = float(query.shape[-1]) ** -0.5
        if kernel == "flash":
            return _flash(query, key, value, dropout_p, is_causal, scale)
        mask = None if attn_mask is None else _bias(attn_mask, query, key)
        train = torch.is_grad_enabled() and any(x.requires_grad for x in (query, key, value))
        inside = ATEN._scaled_dot_product_efficient_attention.default
        return inside(query, key, value, mask, train, dropout_p, is_causal, scale=scale)[0]

    def dropout(self, value: Any, p: float, train: bool) -> Any:  # noqa: FBT001 - as torch has it
        """Return what the fused kernel does where a card would take it."""
        if train and 0 < p < 1 and value.numel():
            self.ledger.assume("device", "aten::native_dropout.default", "in one kernel")
            return ATEN.native_dropout.default(value, p, train)[0]
        return ATEN.dropout.default._op_dk(COMPOSITE, value, p, train)

    def rms_norm(self, value: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
        """Return what the fused kernel does, which torch has as a composite where no card is."""
        self.ledger.assume("device", "aten::_fused_rms_norm.default", "in one kernel")
        return _RmsNorm.apply(self.ledger, value, shape, weight, eps)

    def lstm(  # noqa: PLR0913, PLR0917 - the operator's own arguments
        self,
        value: Any,
        hidden: Any,
        weights: Any,
        has_biases: bool,  # noqa: FBT001 - as the operator has it
        layers: int,
        dropout: float,
        train: bool,  # noqa: FBT001 - as the operator has it
        both: bool,  # noqa: FBT001 - as the operator has it
        batch_first: bool,  # noqa: FBT001 - as the operator has it
    ) -> Any:
        """Return what a long short-term memory returns, in one kernel."""
        state = (hidden[0], hidden[1])
        rest = (has_biases, layers, dropout, train, both, batch_first)
        out = self._recurrent(2, value, state, weights, rest)
        return out[0], out[1], out[2]

    def gru(  # noqa: PLR0913, PLR0917 - the operator's own arguments
        self,
        value: Any,
        hidden: Any,
        weights: Any,
        has_biases: bool,  # noqa: FBT001 - as the operator has it
        layers: int,
        dropout: float,
        train: bool,  # noqa: FBT001 - as the operator has it
        both: bool,  # noqa: FBT001 - as the operator has it
        batch_first: bool,  # noqa: FBT001 - as the operator has it
    ) -> Any:
        """Return what gated recurrent units return, in one kernel."""
        rest = (has_biases, layers, dropout, train, both, batch_first)
        out = self._recurrent(3, value, (hidden, None), weights, rest)
        return out[0], out[1]

    def _recurrent(self, mode: int, value: Any, state: Any, weights: Any, rest: Any) -> Any:
        has_biases, layers, dropout, train, both, batch_first = rest
        self.ledger.assume("device", "aten::_cudnn_rnn.default", "in one kernel")
        with torch._C._DisableTorchDispatch():  # it is none of the model's own
            packed = torch.empty(0, dtype=value.dtype, device=value.device)
        return ATEN._cudnn_rnn.default(
            *(value, weights, 4 if has_biases else 2, packed, *state, mode),
            *(state[0].shape[-1], 0, layers, batch_first, dropout, train, both, [], None),
        )


class _RmsNorm(torch.autograd.Function):
    """Norms by the root of the mean square, forwards and backwards, as the fused kernels do."""

    @staticmethod
    def forward(  # noqa: PLR0913, PLR0917 - the operator's own arguments
        ctx: Any, ledger: Any, value: Any, shape: Any, weight: Any, eps: Any
    ) -> Any:
        ctx.ledger, ctx.shape = ledger, shape
        ctx.save_for_backward(value, weight)
        ledger.use(ATEN._fused_rms_norm.default, (value, shape, weight, eps), {})
        with _disable_current_modes():
            return torch.empty_like(value)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        value, weight = ctx.saved_tensors
        mask = [ctx.needs_input_grad[1], ctx.needs_input_grad[3]]
        with _disable_current_modes():
            scale = value.new_empty((*value.shape[: -len(ctx.shape)], *(1 for _ in ctx.shape)))
            grads = [torch.empty_like(one) if one is not None else None for one in (value, weight)]
        args = (grad, value, ctx.shape, scale, weight, mask)
        ctx.ledger.use(ATEN._fused_rms_norm_backward.default, args, {})
        return None, grads[0], None, grads[1], None


def _named(kernel: str) -> str:
    return {
        "flash": "_scaled_dot_product_flash_attention.default",
        "efficient": "_scaled_dot_product_efficient_attention.default",
        "math": "_scaled_dot_product_attention_math.default",
    }[kernel]


def _kernel(query: Any, key: Any, value: Any, mask: Any, *, enable_gqa: bool) -> str:
    """Return which kernel a card of the CUDA kind takes, by the rules of torch."""
    flat = not (query.dim() == key.dim() == value.dim() == RANK)
    if flat or not meta(query) or (mask is not None and mask.requires_grad):
        return "math"
    alike = query.shape[-1] == value.shape[-1]
    if mask is None and alike and query.dtype in HALVES and query.shape[-1] <= WIDEST:
        return "flash"
    grouped = enable_gqa or query.shape[1] != key.shape[1]
    if grouped or query.dtype not in (*HALVES, torch.float32):
        return "math"
    return "efficient"


def _flash(  # noqa: PLR0913, PLR0917 - the operator's own arguments
    query: Any, key: Any, value: Any, dropout: float, causal: Any, scale: float
) -> Any:
    wide = query.shape[-1]
    if wide % STEP:
        more = (0, STEP - wide % STEP)
        query, key, value = (torch.nn.functional.pad(x, more) for x in (query, key, value))
    inside = ATEN._scaled_dot_product_flash_attention.default
    out = inside(query, key, value, dropout, causal, scale=scale)[0]
    return out[..., :wide] if wide % STEP else out


def _bias(mask: Any, query: Any, key: Any) -> Any:
    """Return a mask as the kernel takes it: added, filled up to a multiple, expanded."""
    if mask.dtype is torch.bool:
        least = torch.scalar_tensor(float("-inf"), dtype=query.dtype, device=mask.device)
        mask = torch.where(mask, 0.0, least)
    wide = mask.shape[-1]
    if wide % STEP:
        mask = torch.nn.functional.pad(mask, (0, STEP - wide % STEP))[..., :wide]
    return mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])


@contextmanager
def _layers() -> Iterator[None]:
    """Let layers of transformers take the fast way that they have on cards known by name."""
    import torch.utils.backend_registration as backends  # noqa: PLC0415 - patched where it is kept

    before = backends._privateuse1_backend_name
    backends._privateuse1_backend_name = "meta"
    try:
        yield
    finally:
        backends._privateuse1_backend_name = before


@contextmanager
def _lists() -> Iterator[None]:
    """Let optimisers work on lists of tensors at once, as they do on a card."""
    import torch.optim.optimizer as optimiser  # noqa: PLC0415 - patched where it is looked up
    import torch.utils._foreach_utils as lists  # noqa: PLC0415 - the same

    name = "_get_foreach_kernels_supported_devices"
    before = [(place, getattr(place, name)) for place in (lists, optimiser) if hasattr(place, name)]
    for place, asked in before:
        setattr(place, name, lambda asked=asked: [*asked(), "meta"])
    try:
        yield
    finally:
        for place, asked in before:
            setattr(place, name, asked)
