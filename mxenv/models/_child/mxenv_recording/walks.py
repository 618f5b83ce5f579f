"""One walk through a model: what it is asked to do, phase by phase, while it is recorded."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, Callable, Iterator

import torch

from mxenv_recording import inputs, launches
from mxenv_recording.autocast import Autocast, Named
from mxenv_recording.choices import Choices
from mxenv_recording.guesses import Guesses
from mxenv_recording.ledger import Ledger, short
from mxenv_recording.places import Places
from mxenv_recording.recorder import Recorder
from mxenv_recording.refusal import line

RATE = 1e-4


@contextlib.contextmanager
def recorded(ledger: Ledger, model: Any, *, truth: bool) -> Iterator[Guesses]:
    """Write into ``ledger`` what is called while this lasts."""
    guesses, choices = Guesses(ledger, truth=truth), Choices(ledger)
    with contextlib.ExitStack() as stack:
        stack.enter_context(Named())
        places = ledger.places = stack.enter_context(Places(model))
        stack.callback(setattr, ledger, "places", None)
        stack.enter_context(launches.caught(ledger, places))
        stack.enter_context(choices.made())
        stack.enter_context(_listed(guesses))
        stack.enter_context(_lifted(ledger, places))
        stack.enter_context(Recorder(ledger, places, guesses, choices))
        yield guesses


@contextlib.contextmanager
def _listed(guesses: Guesses) -> Iterator[None]:
    """Answer who takes all values of a tensor that has none."""
    before = torch.Tensor.tolist

    def listed(own: Any) -> Any:
        if own.device.type != "meta":
            return before(own)
        guesses.ledger.assume("value", "Tensor.tolist", "every number that is asked for is 1")
        return _ones(tuple(own.shape), own.dtype)

    torch.Tensor.tolist = listed  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.Tensor.tolist = before  # type: ignore[method-assign]


@contextlib.contextmanager
def _lifted(ledger: Ledger, places: Places) -> Iterator[None]:
    """Write down what makes a tensor of numbers; without values torch does nothing for it."""
    names = ("tensor", "as_tensor")
    before = {name: getattr(torch, name) for name in names}

    def lifting(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(data: Any, *args: Any, **kwargs: Any) -> Any:
            found = make(data, *args, **kwargs)
            if found.device.type == "meta" and not isinstance(data, torch.Tensor):
                ledger.use(torch.ops.aten.lift_fresh.default, (found,), {}, places.now())
            return found

        return made

    for name in names:
        setattr(torch, name, lifting(before[name]))
    try:
        yield
    finally:
        for name in names:
            setattr(torch, name, before[name])


def _ones(shape: Any, dtype: torch.dtype) -> Any:
    if not shape:
        return True if dtype is torch.bool else 1.0 if dtype.is_floating_point else 1
    return [_ones(shape[1:], dtype) for _ in range(shape[0])]


def both_ways(walk: Callable[[Ledger, bool], bool]) -> Ledger:
    """Return what a walk does, and what it does if every guess had been the other way."""
    ledger = Ledger()
    if not walk(ledger, True):
        return ledger
    other = Ledger()
    try:
        walk(other, False)
    except Exception as error:  # noqa: BLE001 - a model may well refuse what is not so
        ledger.assume("value", "the other way", f"it leads to an error: {line(error)}")
    ledger.take(other)
    return ledger


def told(ledger: Ledger, phase: str, given: dict[str, Any]) -> None:
    """Write down what a phase is given."""
    for name, value in given.items():
        if isinstance(value, torch.Tensor):
            shape = "x".join(str(size) for size in value.shape)
            key = name if phase in {"prefill", "forward"} else f"{phase}.{name}"
            ledger.inputs[key] = f"{short(value.dtype)} {shape or 'scalar'}"


def infer(made: Any) -> Callable[[Ledger, bool], bool]:
    """Return a walk that reads everything, and writes one token if the model writes any."""
    model, first = made.model, made.given
    generates = not made.args and _generates(model, first)
    given = {**first, "use_cache": True} if generates else first

    def walk(ledger: Ledger, truth: bool) -> bool:  # noqa: FBT001 - passed on
        model.eval()
        with torch.no_grad():
            ledger.phase = "prefill" if generates else "forward"
            told(ledger, ledger.phase, made.named())
            with recorded(ledger, model, truth=truth) as guesses:
                out = made(given)
            asked = guesses.asked
            if generates:
                asked |= _decode(ledger, made, out, truth=truth)
        return asked

    return walk


def _decode(ledger: Ledger, made: Any, out: Any, *, truth: bool) -> bool:
    more = inputs.next_token(made.model, made.given, out, made.device)
    if more is None:
        ledger.gaps.append("decoding was not looked at: the model keeps nothing of what it read")
        return False
    ledger.phase = "decode"
    told(ledger, "decode", more)
    with recorded(ledger, made.model, truth=truth) as guesses:
        try:
            made(more)
        except Exception as error:  # noqa: BLE001 - whatever a model's own code raises
            ledger.gaps.append(f"decoding was not looked at to its end: {line(error)}")
    return guesses.asked


def _generates(model: Any, first: dict[str, Any]) -> bool:
    """Return whether a model writes token by token, and keeps what it has read."""
    takes = inspect.signature(model.forward).parameters.values()
    names = {one.name for one in takes}
    able = getattr(model, "can_generate", None)
    cached = "use_cache" in names or any(one.kind is one.VAR_KEYWORD for one in takes)
    read = "input_ids" in first or "decoder_input_ids" in first
    keeps = not names.isdisjoint(inputs.KEPT)
    return bool(cached and keeps and read and (able is None or able()))


def train(made: Any, *, autocast: torch.dtype | None = None) -> Callable[[Ledger, bool], bool]:
    """Return a walk that does one step of training, with the model's own loss if it has one."""
    model = made.model

    def walk(ledger: Ledger, truth: bool) -> bool:  # noqa: FBT001 - passed on
        model.train()
        ledger.phase = "forward"
        told(ledger, "forward", made.named())
        optimiser = torch.optim.AdamW(model.parameters(), lr=RATE)
        with torch.enable_grad(), recorded(ledger, model, truth=truth) as guesses:
            casting = Autocast(ledger, autocast) if autocast else contextlib.nullcontext()
            with casting:
                out = made(made.given)
                loss = loss_of(out)
            ledger.phase = "backward"
            loss.backward()
            ledger.phase = "optimiser"
            optimiser.step()
        model.zero_grad(set_to_none=True)
        ledger.assume("optimiser", "AdamW", "the optimiser that most training uses")
        return guesses.asked

    return walk


def loss_of(out: Any) -> Any:
    """Return the model's own loss, or else one that every output counts for."""
    own = getattr(out, "loss", None)
    if isinstance(own, torch.Tensor):
        return own
    total: Any = None
    for tensor in _tensors(out):
        if tensor.is_floating_point() and tensor.requires_grad:
            part = tensor.float().pow(2).mean()
            total = part if total is None else total + part
    if total is None:
        raise ValueError("nothing that the model returns can be trained")
    return total


def _tensors(out: Any) -> Iterator[Any]:
    if isinstance(out, torch.Tensor):
        yield out
    elif isinstance(out, dict):
        for value in out.values():
            yield from _tensors(value)
    elif isinstance(out, (list, tuple)):
        for value in out:
            yield from _tensors(value)
