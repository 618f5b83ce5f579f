"""What a model is given: tensors of the shapes that it is made for."""

from __future__ import annotations

import inspect
from typing import Any

import torch

BATCH = 2
LENGTH = 64
SHORT = 16
"""Tokens that a decoder is given beside what an encoder reads."""
SOUND = 16_000
"""Samples of a second of sound."""
IMAGE = 224
KEPT = ("cache", "past_key_values", "cache_params")
"""How models call what they keep of the tokens before."""
PARTS = ("vision_config", "audio_config", "encoder", "backbone_config", "text_config")


def parameters(model: Any) -> tuple[str, ...]:
    """Return the names of what a model takes."""
    return tuple(inspect.signature(model.forward).parameters)


def said(config: Any, *names: str) -> Any:
    """Return the first that a configuration, or a part of it, says of these names."""
    for part in (config, *(getattr(config, name, None) for name in PARTS)):
        for name in names:
            value = getattr(part, name, None)
            if value is not None:
                return value
    return None


def ids(model: Any, length: int, device: str) -> Any:
    """Return numbers of tokens: any that the model has."""
    words = said(model.config, "vocab_size") or 2
    if device == "meta":
        return torch.zeros((BATCH, length), dtype=torch.long, device="meta")
    low = min(10, int(words) - 1)  # the first few mean padding and ends
    return torch.randint(low, int(words), (BATCH, length), device=device)


def given(model: Any, device: str, dtype: torch.dtype) -> dict[str, Any]:
    """Return what the model is given at first, by name."""
    takes, config = parameters(model), model.config
    main = getattr(model, "main_input_name", "input_ids")
    made: dict[str, Any] = {}
    if "pixel_values" in takes and not _tokens_only(model):
        made["pixel_values"] = _pixels(config, device, dtype)
    if main == "input_features" or ("input_features" in takes and "input_ids" not in takes):
        made["input_features"] = _features(config, device, dtype)
    elif main == "input_values" or ("input_values" in takes and "input_ids" not in takes):
        made["input_values"] = torch.zeros((BATCH, SOUND), device=device, dtype=dtype)
    if "input_ids" in takes and main not in {"input_features", "input_values"}:
        made["input_ids"] = ids(model, _length(config), device)
        if "attention_mask" in takes:
            made["attention_mask"] = torch.ones_like(made["input_ids"])
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in takes:
        made["decoder_input_ids"] = ids(model, SHORT, device)
    return made


def _tokens_only(model: Any) -> bool:
    """Return whether pictures stand among the tokens: how many there are, the tokens say."""
    config = model.config
    named = ("image_token_id", "image_token_index", "image_token")
    return any(getattr(config, name, None) is not None for name in named)


def leaves_out(model: Any) -> str:
    """Return what of a model is not walked, in words; empty if all is."""
    if "pixel_values" in parameters(model) and _tokens_only(model):
        return "pictures: the model was given text alone"
    return ""


def _length(config: Any) -> int:
    most = said(config, "max_position_embeddings", "n_positions", "n_ctx")
    return min(LENGTH, most) if isinstance(most, int) and most > 0 else LENGTH


def _pixels(config: Any, device: str, dtype: torch.dtype) -> Any:
    size = said(config, "image_size") or IMAGE
    height, width = (size, size) if isinstance(size, int) else tuple(size)[:2]
    channels = said(config, "num_channels", "in_channels") or 3
    return torch.zeros((BATCH, channels, height, width), device=device, dtype=dtype)


def _features(config: Any, device: str, dtype: torch.dtype) -> Any:
    bins = said(config, "num_mel_bins", "input_feat_per_channel", "feature_size") or 80
    positions = getattr(config, "max_source_positions", None)
    # Whisper halves what it reads, and takes nothing else.
    whole = positions and getattr(config, "model_type", "") == "whisper"
    shape = (BATCH, bins, 2 * positions) if whole else (BATCH, SOUND // 160, bins)
    return torch.zeros(shape, device=device, dtype=dtype)


def labelled(model: Any, first: dict[str, Any], device: str) -> dict[str, Any]:
    """Return what a training step is given: with the labels that the model's own loss takes."""
    if "labels" not in parameters(model):
        return first
    name = type(model).__name__
    rest = dict(first)
    if name.endswith(("ForSequenceClassification", "ForImageClassification")):
        labels = torch.zeros((BATCH,), dtype=torch.long, device=device)
    elif "decoder_input_ids" in first:
        labels = rest.pop("decoder_input_ids")
    elif "input_ids" in first and not name.endswith(("Model", "ForMultipleChoice")):
        labels = first["input_ids"].clone()
    else:
        return first
    return {**rest, "labels": labels}


def next_token(model: Any, first: dict[str, Any], out: Any, device: str) -> dict[str, Any] | None:
    """Return what the model is given for one more token, with what it keeps of those before."""
    takes = parameters(model)
    name = next((name for name in KEPT if name in takes), None)
    kept = next((one for name in KEPT if (one := getattr(out, name, None)) is not None), None)
    if name is None or kept is None:
        return None
    made: dict[str, Any] = {name: kept, "use_cache": True}
    one = torch.zeros((BATCH, 1), dtype=torch.long, device=device)
    if "decoder_input_ids" in first:
        from transformers.modeling_outputs import BaseModelOutput  # noqa: PLC0415 - it is there

        made["encoder_outputs"] = BaseModelOutput(last_hidden_state=out.encoder_last_hidden_state)
        made["decoder_input_ids"] = one
        if "attention_mask" in first:
            made["attention_mask"] = first["attention_mask"]
        return made
    length = first["input_ids"].shape[1]
    made["input_ids"] = one
    if "attention_mask" in first:
        made["attention_mask"] = torch.ones((BATCH, length + 1), dtype=torch.long, device=device)
    if name != "past_key_values" and "cache_position" in takes:
        made["cache_position"] = torch.tensor([length], device=device)
    return made
