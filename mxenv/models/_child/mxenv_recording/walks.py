"""One walk through a model: what it is asked to do, phase by phase, while it is recorded."""

from __future__ import annotations

import contextlib
import inspect
import threading
from typing import Any, Callable, Iterator

import torch

from mxenv_recording import card, inputs, launches
from mxenv_recording.asking import CARD, Asked
from mxenv_recording.autocast import Autocast, Named
from mxenv_recording.choices import Choices
from mxenv_recording.guesses import Guesses
from mxenv_recording.ledger import Ledger, short
from mxenv_recording.paths import AGAIN, NO, Paths, refused
from mxenv_recording.places import Places, theirs
from mxenv_recording.recorder import Recorder
from mxenv_recording.refusal import line

RATE = 1e-4
TOGETHER = "those of one phase are combined with each other, and not with those of another"
ENDLESS = f"what a loop does that ends by its values: it was left after {AGAIN} rounds"


@contextlib.contextmanager
def recorded(ledger: Ledger, made: Any, paths: Paths) -> Iterator[None]:
    """Write into ``ledger`` what is called while this lasts."""
    guesses = Guesses(ledger, paths, made.device)
    choices: Choices | None = None
    with contextlib.ExitStack() as stack:
        stack.enter_context(Named())
        places = ledger.places = stack.enter_context(Places(made.model))
        stack.callback(setattr, ledger, "places", None)
        stack.enter_context(launches.caught(ledger, places))
        if not made.truly:
            choices = stack.enter_context(Choices(ledger).made())
        stack.enter_context(_listed(guesses))
        stack.enter_context(_lifted(ledger))
        stack.enter_context(_alone(ledger))
        stack.enter_context(card.told(Asked(ledger, paths, made.device)))
        stack.enter_context(Recorder(ledger, places, guesses, choices))
        yield


@contextlib.contextmanager
def _listed(guesses: Guesses) -> Iterator[None]:
    """Answer who takes all values of a tensor that has none."""
    before = torch.Tensor.tolist

    def listed(own: Any) -> Any:
        if own.device.type != "meta":
            return before(own)
        guesses.number("Tensor.tolist")
        return _ones(tuple(own.shape), own.dtype)

    torch.Tensor.tolist = listed  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.Tensor.tolist = before  # type: ignore[method-assign]


@contextlib.contextmanager
def _lifted(ledger: Ledger) -> Iterator[None]:
    """Write down what makes a tensor of numbers; without values torch does nothing for it."""
    names = ("tensor", "as_tensor")
    before = {name: getattr(torch, name) for name in names}

    def lifting(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(data: Any, *args: Any, **kwargs: Any) -> Any:
            found = make(data, *args, **kwargs)
            if found.device.type == "meta" and not isinstance(data, torch.Tensor):
                ledger.use(torch.ops.aten.lift_fresh.default, (found,), {})
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


@contextlib.contextmanager
def _alone(ledger: Ledger) -> Iterator[None]:
    """Note that a thread was started: a recorder hears its own thread alone."""
    before = threading.Thread.start

    def started(own: Any) -> None:
        gap = "what threads of the model's own call"
        if gap not in ledger.gaps:
            ledger.gaps.append(gap)
        before(own)

    threading.Thread.start = started  # type: ignore[method-assign]
    try:
        yield
    finally:
        threading.Thread.start = before  # type: ignore[method-assign]


def both_ways(walk: Callable[[Ledger, Paths], None]) -> Ledger:
    """Return what a walk does, whatever the answers to the questions that it cannot answer.

    What a model's own code refuses ends a walk; any other error hides what would have followed.
    """
    ledger, paths, ended, first = Ledger(), Paths(), False, None
    on_card, failed = False, ""
    while paths.walks == 0 or paths.onward():
        paths.begin()
        other = Ledger()
        try:
            walk(other, paths)
            ended = True
            on_card = on_card or paths.taken.get(CARD, False)
        except Exception as error:  # noqa: BLE001 - whatever a model's own code raises
            first = first or error
            failed = failed or (line(error) if paths.taken.get(CARD) else "")
            if refused(error, theirs):
                other.assume("value", "the other way", f"the model refuses it: {line(error)}")
            else:
                other.gaps.append(f"what follows another way: it leads to {line(error)}")
        for place in paths.endless():
            other.gaps.append(f"{ENDLESS}: at {place}")
        ledger.take(other, calls=paths.walks <= NO)
    if not ended and first is not None:
        raise first
    if failed and not on_card:
        ledger.gaps.append(
            f"what follows on a card: it leads to {failed}: asked at {paths.shown[CARD]}"
        )
    if left := paths.open():
        more = f", and {len(left) - 1} more" if len(left) > 1 else ""
        ledger.gaps.append(f"a branch walked one way alone: at {paths.shown[left[0][0]]}{more}")
    elif alone := next(paths.apart(), None):
        ledger.gaps.append(f"answers not walked together: at {paths.shown[alone[-1][0]]}")
    if paths.parts() > 1:
        ledger.assume("value", "answers together", TOGETHER)
    return ledger


def told(ledger: Ledger, phase: str, given: dict[str, Any]) -> None:
    """Write down what a phase is given."""
    for name, value in given.items():
        if isinstance(value, torch.Tensor):
            shape = "x".join(str(size) for size in value.shape)
            key = name if phase in {"prefill", "forward"} else f"{phase}.{name}"
            ledger.inputs[key] = f"{short(value.dtype)} {shape or 'scalar'}"


def infer(made: Any) -> Callable[[Ledger, Paths], None]:
    """Return a walk that reads everything, and writes one token if the model writes any."""
    model, first = made.model, made.given
    generates = not made.args and _generates(model, first)
    given = {**first, "use_cache": True} if generates else first

    def walk(ledger: Ledger, paths: Paths) -> None:
        model.eval()
        with torch.no_grad():
            ledger.phase = "prefill" if generates else "forward"
            told(ledger, ledger.phase, made.named())
            with recorded(ledger, made, paths):
                out = made(given)
            if generates:
                _decode(ledger, made, out, paths)

    return walk


def _decode(ledger: Ledger, made: Any, out: Any, paths: Paths) -> None:
    more = inputs.next_token(made.model, made.given, out, made.device)
    if more is None:
        ledger.gaps.append("decoding was not looked at: the model keeps nothing of what it read")
        return
    ledger.phase = "decode"
    told(ledger, "decode", more)
    with recorded(ledger, made, paths):
        try:
            made(more)
        except Exception as error:  # noqa: BLE001 - whatever a model's own code raises
            ledger.gaps.append(f"decoding was not looked at to its end: {line(error)}")


def _generates(model: Any, first: dict[str, Any]) -> bool:
    """Return whether a model writes token by token, and keeps what it has read."""
    takes = inspect.signature(model.forward).parameters.values()
    names = {one.name for one in takes}
    able = getattr(model, "can_generate", None)
    cached = "use_cache" in names or any(one.kind is one.VAR_KEYWORD for one in takes)
    read = "input_ids" in first or "decoder_input_ids" in first
    keeps = not names.isdisjoint(inputs.KEPT)
    return bool(cached and keeps and read and (able is None or able()))


def train(made: Any, *, autocast: torch.dtype | None = None) -> Callable[[Ledger, Paths], None]:
    """Return a walk that does one step of training, with the model's own loss if it has one."""
    model = made.model

    def walk(ledger: Ledger, paths: Paths) -> None:
        model.train()
        ledger.phase = "forward"
        told(ledger, "forward", made.named())
        optimiser = torch.optim.AdamW(model.parameters(), lr=RATE)
        with torch.enable_grad(), recorded(ledger, made, paths):
            with _casting(made, ledger, autocast):
                out = made(made.given)
                loss = loss_of(out)
            ledger.phase = "backward"
            loss.backward()
            ledger.phase = "optimiser"
            optimiser.step()
        model.zero_grad(set_to_none=True)
        ledger.assume("optimiser", "AdamW", "the optimiser that most training uses")

    return walk


def _casting(made: Any, ledger: Ledger, dtype: torch.dtype | None) -> Any:
    """Return what casts as autocast does: the device's own, or what stands for a card's."""
    if dtype is None:
        return contextlib.nullcontext()
    if made.truly:
        return torch.autocast(torch.device(made.device).type, dtype=dtype)
    return Autocast(ledger, dtype)


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
