"""Which operators torch chooses by the device that it runs on, and where it says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

CUDA = frozenset({"CUDA"})
CPU = frozenset({"CPU"})
CARDS = frozenset({"CUDA", "PrivateUse1", "XPU"})
OTHERS = frozenset({"PrivateUse1", "XPU"})
EVERYWHERE: frozenset[str] = frozenset()


@frozen
class Alternative:
    """Operators that do a part of the work together, where they are chosen."""

    operators: tuple[str, ...]
    """The one that stands for them first."""
    keys: frozenset[str] = EVERYWHERE
    """The dispatch keys on which torch may choose them; empty: on any."""
    telling: bool = True
    """Whether the first is called for nothing else, so that who sees it knows of the choice."""


@frozen
class Choice:
    """A part of the work that is done in one of several ways."""

    id: str
    alternatives: tuple[Alternative, ...]
    source: str
    """The file of torch that chooses."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the operator that stands for each alternative, sorted."""
        return tuple(sorted({one.operators[0] for one in self.alternatives}))


def _aten(names: str) -> tuple[str, ...]:
    return tuple(
        f"aten::{name}" if "." in name else f"aten::{name}.default" for name in names.split()
    )


def _way(names: str, keys: frozenset[str] = EVERYWHERE, *, telling: bool = True) -> Alternative:
    return Alternative(operators=_aten(names), keys=keys, telling=telling)


ATTENTION = "_scaled_dot_product_"
SDP = "aten/src/ATen/native/transformers/attention.cpp: scaled_dot_product_attention"
MATH = (
    f"{ATTENTION}attention_math _softmax _safe_softmax bmm expand _unsafe_view view mul.Scalar"
    " mul.Tensor transpose.int clone add.Tensor add_.Tensor tril logical_not masked_fill_.Scalar"
    " ones full scalar_tensor where.self zeros_like empty_like div_.Scalar bernoulli_.float"
    " _to_copy detach"
)
"""What attention is made of where no kernel of its own fits."""

LAID = " clone view _unsafe_view"
"""What may follow a kernel whose result lies in memory otherwise than that of another."""
MATH_BACKWARD = (
    "_softmax_backward_data bmm mul.Scalar mul.Tensor transpose.int view _unsafe_view clone expand"
    " unsqueeze squeeze.dim sum.dim_IntList masked_fill.Scalar where.self scalar_tensor add.Tensor"
    " _to_copy detach"
)
"""What follows from it, backwards."""

_FIXED = (
    Choice(
        id="attention",
        alternatives=(
            _way(f"{ATTENTION}flash_attention", CUDA | {"XPU"}),
            # A mask is filled up to a multiple of eight, and made as large as what it masks.
            _way(f"{ATTENTION}efficient_attention expand constant_pad_nd slice.Tensor{LAID}", CUDA),
            _way(f"{ATTENTION}cudnn_attention", CUDA),
            _way(f"{ATTENTION}flash_attention_for_cpu{LAID}", CPU),
            _way(f"{ATTENTION}fused_attention_overrideable", OTHERS),
            _way(MATH),
        ),
        source=SDP,
    ),
    Choice(
        id="attention, backward",
        alternatives=(
            _way(f"{ATTENTION}flash_attention_backward", CUDA | {"XPU"}),
            _way(f"{ATTENTION}efficient_attention_backward", CUDA),
            _way(f"{ATTENTION}cudnn_attention_backward", CUDA),
            _way(f"{ATTENTION}flash_attention_for_cpu_backward", CPU),
            _way(f"{ATTENTION}fused_attention_overrideable_backward", OTHERS),
            _way(MATH_BACKWARD, telling=False),
        ),
        source=SDP,
    ),
    Choice(
        id="dropout",
        alternatives=(
            _way("native_dropout", CARDS),
            _way("bernoulli_.float empty_like div_.Scalar mul.Tensor", CPU, telling=False),
        ),
        source="aten/src/ATen/native/Dropout.cpp: is_fused_kernel_acceptable",
    ),
    Choice(
        id="dropout, backward",
        alternatives=(
            _way("native_dropout_backward", CARDS),
            _way("mul.Tensor", CPU, telling=False),
        ),
        source="aten/src/ATen/native/Dropout.cpp: is_fused_kernel_acceptable",
    ),
    Choice(
        id="batch norm",
        alternatives=(
            _way("native_batch_norm"),
            _way("cudnn_batch_norm", CUDA),
        ),
        source="aten/src/ATen/native/Normalization.cpp: _select_batch_norm_backend",
    ),
    Choice(
        id="batch norm, backward",
        alternatives=(
            _way("native_batch_norm_backward"),
            _way("cudnn_batch_norm_backward", CUDA),
        ),
        source="aten/src/ATen/native/Normalization.cpp: _select_batch_norm_backend",
    ),
    Choice(
        id="rms norm",
        alternatives=(
            _way("_fused_rms_norm", CARDS),
            _way("rsqrt pow.Tensor_Scalar mean.dim add_.Scalar mul.Tensor", telling=False),
        ),
        source="aten/src/ATen/native/layer_norm.cpp: rms_norm_symint",
    ),
    Choice(
        id="rms norm, backward",
        alternatives=(
            _way("_fused_rms_norm_backward", CARDS),
            _way(
                "pow.Tensor_Scalar mul.Tensor mul.Scalar div.Scalar expand sum.dim_IntList",
                telling=False,
            ),
        ),
        source="aten/src/ATen/native/layer_norm.cpp: rms_norm_symint",
    ),
    Choice(
        id="recurrent network",
        alternatives=(
            _way("_cudnn_rnn", CUDA),
            _way("mkldnn_rnn_layer transpose.int select.int stack clone detach", CPU),
            _way("_thnn_fused_lstm_cell", CUDA),
            _way("_thnn_fused_gru_cell", CUDA),
            _way("addmm t unsafe_chunk sigmoid_ tanh tanh_ mul.Tensor", telling=False),
        ),
        source="aten/src/ATen/native/RNN.cpp: use_cudnn, use_mkldnn",
    ),
    Choice(
        id="recurrent network, backward",
        alternatives=(
            _way("_cudnn_rnn_backward", CUDA),
            _way("mkldnn_rnn_layer_backward transpose.int select.int stack clone detach", CPU),
        ),
        source="aten/src/ATen/native/RNN.cpp: use_cudnn, use_mkldnn",
    ),
    Choice(
        id="layer of a transformer",
        alternatives=(
            _way("_transformer_encoder_layer_fwd", CPU | CUDA | {"PrivateUse1"}),
            _way("native_layer_norm addmm add.Tensor", OTHERS - {"PrivateUse1"}, telling=False),
        ),
        source="torch/nn/modules/transformer.py: TransformerEncoderLayer.forward",
    ),
    Choice(
        id="attention of many heads",
        alternatives=(
            _way("_native_multi_head_attention", CPU | CUDA | {"PrivateUse1"}),
            _way("addmm bmm _softmax", OTHERS - {"PrivateUse1"}, telling=False),
        ),
        source="torch/nn/modules/activation.py: MultiheadAttention.forward",
    ),
    Choice(
        id="connectionist temporal classification",
        alternatives=(
            _way("_ctc_loss"),
            _way("_ctc_loss.Tensor"),
            _way("_cudnn_ctc_loss", CUDA),
            _way("_cudnn_ctc_loss.Tensor", CUDA),
        ),
        source="aten/src/ATen/native/LossCTC.cpp: ctc_loss_impl",
    ),
    Choice(
        id="a number put into a part of a tensor",
        alternatives=(
            _way("scalar_tensor view expand copy_", CARDS, telling=False),
            _way("fill_.Tensor lift_fresh", CPU, telling=False),
        ),
        source="aten/src/ATen/TensorIndexing.h: scalarToTensor, copy_to;"
        " torch/csrc/autograd/python_variable_indexing.cpp: valueToTensor",
    ),
    Choice(
        id="tokens of each expert, counted in floats or in integers",
        alternatives=(
            _way("histc cumsum", CARDS, telling=False),
            _way("histc cumsum", CPU, telling=False),
        ),
        source="transformers/integrations/moe.py: grouped_mm_experts_forward",
    ),
    Choice(
        id="products of groups of matrices",
        alternatives=(
            _way("_grouped_mm"),
            Alternative(operators=("transformers::grouped_mm_fallback.default",)),
        ),
        source="transformers/integrations/moe.py: _can_use_grouped_mm",
    ),
    Choice(
        id="products of groups of matrices, backward",
        alternatives=(
            _way("_grouped_mm", telling=False),
            Alternative(operators=("transformers::grouped_mm_fallback_backward.default",)),
        ),
        source="transformers/integrations/moe.py: _can_use_grouped_mm",
    ),
    Choice(
        id="a tensor moved to where it may be already",
        alternatives=(
            _way("_to_copy", CARDS, telling=False),
            _way("to.device", CPU, telling=False),
        ),
        source="aten/src/ATen/native/TensorConversions.cpp: to_will_alias",
    ),
    Choice(
        id="sampling of a grid",
        alternatives=(_way("grid_sampler_2d"), _way("cudnn_grid_sampler", CUDA)),
        source="aten/src/ATen/native/GridSampler.cpp: grid_sampler",
    ),
)

LISTS = (
    ("add_.Scalar", "add_.Tensor"),
    ("add_.Tensor", "add_.Tensor"),
    ("add_.List", "add_.Tensor"),
    ("add.Scalar", "add.Tensor"),
    ("addcdiv_.Scalar", "addcdiv_.default"),
    ("addcdiv_.ScalarList", "addcdiv_.default"),
    ("addcdiv_.Tensor", "addcdiv_.default"),
    ("addcmul_.Scalar", "addcmul_.default"),
    ("div_.Scalar", "div_.Tensor"),
    ("div_.ScalarList", "div.Tensor"),
    ("div_.Tensor", "div_.Tensor"),
    ("lerp_.Scalar", "lerp_.Scalar"),
    ("maximum_.List", "maximum.default"),
    ("mul_.Scalar", "mul_.Tensor"),
    ("mul_.Tensor", "mul_.Tensor"),
    ("neg.default", "neg.default"),
    ("sqrt.default", "sqrt.default"),
    ("sqrt_.default", "sqrt_.default"),
    ("zero_.default", "zero_.default"),
)
"""What an optimiser calls for all weights at once, and what for each in its turn."""
STEPS = " _local_scalar_dense lift_fresh"
"""How many steps were taken is read once or twice, and one more is added as a tensor."""
CHOICES = (
    *_FIXED,
    *(
        Choice(
            id=f"optimiser: {lists}",
            alternatives=(
                _way(f"_foreach_{lists}{STEPS}", CARDS),
                _way(f"{each}{STEPS}", CPU, telling=False),
            ),
            source="torch/optim/optimizer.py: _default_to_fused_or_foreach",
        )
        for lists, each in LISTS
    ),
)
_TOLD = {
    one.operators[0]: choice for choice in CHOICES for one in choice.alternatives if one.telling
}


def one_of(operator: str) -> tuple[str, ...]:
    """Return the operators of which a device runs one where ``operator`` was seen; or none."""
    choice = _TOLD.get(operator)
    return choice.names if choice is not None else ()


def chosen(operator: str, beside: str, key: str) -> bool:
    """Return whether torch may choose ``operator``, in place of ``beside``, on a dispatch key."""
    choice = _TOLD.get(beside)
    found = [one for one in choice.alternatives if one.operators[0] == operator] if choice else []
    return not found or any(not one.keys or key in one.keys for one in found)


def explained(operator: str) -> Iterator[Choice]:
    """Yield every choice of which ``operator`` is a part."""
    for choice in CHOICES:
        if any(operator in one.operators for one in choice.alternatives):
            yield choice
