"""A request answered: a model made, walked through in every way asked for, written down."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Iterator

import torch

from mxenv_recording import card, packages, real, walks
from mxenv_recording.asking import Making
from mxenv_recording.ledger import Ledger, short
from mxenv_recording.refusal import Missing, Refusal, line

LARGEST = 400_000_000
"""Weights of a small instance on real tensors."""
ENOUGH = 50_000_000
"""Weights of a model that runs on a device as it is."""
SHOWN = 3
"""Names of parts that are told."""
HALF = torch.bfloat16
"""What autocast lowers to where a model says nothing else."""


def answer(asked: dict[str, Any], unknown: list[str]) -> dict[str, Any]:
    """Return what was recorded, or why nothing was; ``unknown`` operators belong to no library."""
    warnings.simplefilter("ignore")
    try:
        told = _recorded(asked)
    except Missing as missing:
        return {"missing": missing.module}
    except Refusal as refused:
        return {"failed": refused.said, "hint": refused.hint, "where": refused.where}
    except SystemExit as left:
        said = f"its code ends the program: {line(left)}"
        return {"failed": said, "where": asked.get("callable", "")}
    for package in sorted({name.partition("::")[0] for name in unknown}):
        told["gaps"].append(f"{package} was built for another torch: its operators are not there")
    return told


def _recorded(asked: dict[str, Any]) -> dict[str, Any]:
    from mxenv_recording.subjects import of_callable, of_config  # noqa: PLC0415 - by what is asked

    device, tools = asked.get("device", "meta"), packages.tools(asked)
    if "device" in asked:
        tools["device"] = real.named(device)
    with _making(device) as made:
        subject = (of_callable if "callable" in asked else of_config)(asked)
    if "device" in asked:
        ledger = _on_device(subject, asked, device)
    else:
        try:
            ledger = _walked(subject, asked, device)
        except (Missing, Refusal):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a model's own code raises
            ledger = _on_values(subject, asked, error)
    ledger.take(made)
    for kind, name, said in subject.notes:
        ledger.assume(kind, name, said)
    ledger.gaps += filter(None, (subject.leaves_out(), _compiled(subject.model)))
    return {
        **ledger.document(),
        "architecture": subject.architecture,
        "dtype": short(subject.dtype),
        "mode": "training" if asked["train"] else "inference",
        "tools": tools,
        "packages": packages.optional(subject.model),
        "source": subject.source,
        "name": subject.name,
    }


def _walked(subject: Any, asked: dict[str, Any], device: str) -> Ledger:
    """Return what all walks did, on tensors of ``device``."""
    ledger = Ledger()
    if not asked["train"]:
        ledger.take(walks.both_ways(walks.infer(_made(subject, device, subject.dtype, ledger))))
        return ledger
    ways = asked.get("walks") or ["plain", "autocast"]
    if "plain" in ways:
        ledger.take(walks.both_ways(walks.train(_made(subject, device, subject.dtype, ledger))))
    if "autocast" in ways:
        lower = HALF if subject.dtype is torch.float32 else subject.dtype
        made = _made(subject, device, torch.float32, ledger)
        ledger.take(walks.both_ways(walks.train(made, autocast=lower)))
    return ledger


@contextlib.contextmanager
def _making(device: str) -> Iterator[Ledger]:
    """Give what is noted of a model while it is made."""
    ledger = Ledger()
    with card.told(Making(ledger, device)):
        yield ledger


def _made(subject: Any, device: str, dtype: Any, ledger: Ledger) -> Any:
    """Return the model of a subject and what it is given; note in ``ledger`` what it asked."""
    with _making(device) as noted:
        made = subject.make(device, dtype)
    ledger.take(noted)
    return made


def _on_values(subject: Any, asked: dict[str, Any], error: Exception) -> Ledger:
    """Return what a small instance does on real tensors, where others lead nowhere."""
    why = line(error)
    try:
        small = subject.small(LARGEST)
        ledger = _walked(small, {**asked, "walks": ["plain"]}, "cpu")
    except (Missing, Refusal):
        raise
    except Exception as again:  # noqa: BLE001 - whatever a model's own code raises
        said = f"it cannot be run without weights: {why}; nor can a small one: {line(again)}"
        if "callable" in asked:
            hint = "see whether it takes what the callable gives it, and without a card"
            raise Refusal(said, hint=hint, where=asked["callable"]) from None
        hint = "give a callable that makes it and its inputs, as module:callable"
        raise Refusal(said, hint=hint) from None
    if asked["train"]:
        ledger.gaps.append("autocast was not looked at: only tensors without values show it")
    said = f"a small instance ran on real tensors on the CPU, and the counts are its own: {why}"
    ledger.assume("size", subject.architecture or subject.name, said)
    return ledger


def _on_device(subject: Any, asked: dict[str, Any], device: str) -> Ledger:
    """Return what a small instance does on real tensors of a device, and as that device does it."""
    try:
        ledger = _walked(subject.small(LARGEST, enough=ENOUGH), asked, device)
    except (Missing, Refusal):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a model's own code, or a device, raises
        hint = "without --record-on a model is walked through on no device"
        where = asked.get("callable", "")
        raise Refusal(f"does not run on {device}: {line(error)}", hint=hint, where=where) from None
    said = f"it ran on real tensors of {device}"
    if subject.shrunk:
        said = (
            f"a small instance ran on real tensors of {device}: what is counted, and which kernel"
        )
        said += " was chosen, is its own"
    ledger.assume("size", subject.architecture or subject.name, said)
    return ledger


def _compiled(model: Any) -> str:
    """Return which parts of a model are compiled where they run, and were walked as written."""
    names = [
        name or type(model).__name__
        for name, part in model.named_modules()
        if type(part).__name__ == "OptimizedModule"
        or getattr(part, "_compiled_call_impl", None) is not None
    ]
    said = "compiled on a card, into kernels of its own, and walked through as written"
    return f"{', '.join(names[:SHOWN])}: {said}" if names else ""
