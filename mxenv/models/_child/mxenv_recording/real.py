"""A device with real tensors on it: whether it is there, and what it is."""

from __future__ import annotations

import sys

import torch

from mxenv_recording.refusal import Refusal, line

HINT = "name a device that torch has there, or with --python another interpreter"


def named(device: str) -> str:
    """Return what a device is, for people; refuse one on which nothing can be computed."""
    try:
        kind = torch.device(device).type
        computed = (torch.ones(1, device=device) + 1).item()
        there = computed == 2 and kind != "meta"  # noqa: PLR2004 - one and one
        what = torch.cuda.get_device_name(device) if kind == "cuda" else ""
    except Exception as error:  # noqa: BLE001 - whatever a device's library raises
        said = f"torch computes nothing on {device}: {line(error)}"
        raise Refusal(said, hint=HINT, where=sys.executable) from None
    if not there:
        raise Refusal(f"torch computes nothing on {device}", hint=HINT, where=sys.executable)
    return f"{device} {what}".strip()
