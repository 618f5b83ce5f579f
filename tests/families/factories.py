"""Models that no configuration of transformers describes, each with what it is given."""

from __future__ import annotations

from typing import Any

import torch


def unet() -> tuple[Any, dict[str, Any]]:
    """Return the network of a latent diffusion model, as diffusers builds it."""
    from diffusers import UNet2DConditionModel  # noqa: PLC0415 - imported late: half of its time

    model = UNet2DConditionModel(
        sample_size=16,
        layers_per_block=1,
        block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        attention_head_dim=8,
        norm_num_groups=8,
    )
    return model, {
        "sample": torch.randn(1, 4, 16, 16),
        "timestep": torch.tensor([7]),
        "encoder_hidden_states": torch.randn(1, 7, 32),
    }


def recurrent() -> tuple[Any, tuple[Any, ...]]:
    """Return layers for which a device may have one kernel that does all steps."""
    return torch.nn.LSTM(16, 24, num_layers=2, batch_first=True), (torch.randn(2, 5, 16),)


def encoder() -> tuple[Any, Any]:
    """Return layers that take another way where nobody asks for gradients."""
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2), torch.randn(2, 6, 32)
