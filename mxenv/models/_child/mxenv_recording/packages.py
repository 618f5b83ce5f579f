"""Which packages are installed that change what a model calls."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path
from typing import Any

OPTIONAL = {
    "flash_attn": "flash-attn",
    "mamba_ssm": "mamba-ssm",
    "causal_conv1d": "causal-conv1d",
    "xformers": "xformers",
    "fla": "flash-linear-attention",
    "flash_linear_attention": "flash-linear-attention",
    "apex": "apex",
    "bitsandbytes": "bitsandbytes",
    "natten": "natten",
    "timm": "timm",
    "torchvision": "torchvision",
    "torchaudio": "torchaudio",
    "triton": "triton",
    "vllm": "vllm",
    "deepspeed": "deepspeed",
    "use_kernel": "kernels",
}
"""Packages with faster ways, by the word in a model's code that tells of them."""


def tools(asked: dict[str, Any]) -> dict[str, str]:
    """Return what read the model, with versions."""
    return {name: _version(name) for name in ("torch", *asked.get("needs", ()))}


def optional(model: Any) -> dict[str, str]:
    """Return the optional packages that a model's code speaks of; empty: not installed."""
    files = {
        getattr(sys.modules.get(type(module).__module__), "__file__", None)
        for module in model.modules()
        if not type(module).__module__.startswith("torch.")
    }
    text = "".join(_text(file) for file in sorted(filter(None, files)))
    found = {
        distribution
        for word, distribution in OPTIONAL.items()
        if re.search(f"(?<![A-Za-z0-9]){word}(?![A-Za-z0-9])", text)
    }
    return {name: _version(name) for name in sorted(found)}


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""
