"""Every way to ask torch for its device, told of while a model is walked through."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator

import torch

from mxenv_recording.asking import Asked, current, own
from mxenv_recording.devices import Device, Unknown
from mxenv_recording.places import theirs

BASE = torch._C.TensorBase
CAPABLE = (8, 0)
"""A compute capability that a card may have; no comparison with it is taken as it falls."""
THERE = (
    *("torch.cuda.is_available", "torch.cuda.is_initialized", "torch.accelerator.is_available"),
    *("torch.backends.cuda.is_built", "torch.backends.cudnn.is_available"),
)
"""What asks whether there is a card."""
ABLE = (
    *("torch.cuda.is_bf16_supported", "torch.cuda.is_tf32_supported"),
    *("torch.backends.cuda.is_flash_attention_available", "torch.backends.cuda.flash_sdp_enabled"),
    *("torch.backends.cuda.mem_efficient_sdp_enabled", "torch.backends.cuda.cudnn_sdp_enabled"),
    *("torch.backends.cuda.math_sdp_enabled", "torch.backends.cuda.can_use_flash_attention"),
    *("torch.backends.cuda.can_use_efficient_attention",),
    *("torch.backends.cuda.can_use_cudnn_attention", "torch.backends.cudnn.is_acceptable"),
)
"""What asks whether a card, or the build for it, can do something."""
FACTS: dict[str, Any] = {
    "torch.cuda.device_count": 1,
    "torch.accelerator.device_count": 1,
    "torch.cuda.get_device_capability": CAPABLE,
    "torch.cuda.get_device_name": "a card",
    "torch.cuda.get_arch_list": ("sm_80",),
    "torch.cuda.mem_get_info": (1 << 36, 1 << 36),
    "torch.cuda.get_device_properties": types.SimpleNamespace(major=8, minor=0, name="a card"),
    "torch.backends.cudnn.version": 90100,
}
"""What tells a fact of a card, each with a value that it may have."""
DONE = ("torch.cuda.synchronize", "torch.cuda.empty_cache", "torch.accelerator.synchronize")
"""What is done on a card, and calls no operator."""
MAKE = (
    *("arange", "as_tensor", "empty", "empty_like", "empty_strided", "eye", "full", "full_like"),
    *("linspace", "logspace", "ones", "ones_like", "rand", "rand_like", "randint", "randint_like"),
    *("randn", "randn_like", "randperm", "scalar_tensor", "tensor", "zeros", "zeros_like"),
)
MOVE = ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "to")
HOOK = "_mxenv_asked"


@contextmanager
def told(asked: Asked) -> Iterator[None]:
    """Answer with ``asked`` whatever the model's own code asks for its device."""
    with ExitStack() as stack:
        stack.enter_context(asked)
        for name, found in TENSORS.items():
            stack.enter_context(_set(torch.Tensor, name, found(getattr(torch.Tensor, name))))
        for name, answer in FUNCTIONS.items():
            stack.enter_context(_function(name, answer))
        stack.enter_context(_modules())
        if asked.guessing:
            for owner, names in ((torch, MAKE), (torch.Tensor, MOVE)):
                for name in names:
                    stack.enter_context(_set(owner, name, _here(getattr(owner, name))))
            stack.enter_context(_set(torch.Tensor, "cuda", lambda tensor, *_, **__: tensor))
        stack.enter_context(_versions())
        _forget()
        stack.callback(_forget)
        yield


@contextmanager
def _set(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Let an attribute be ``value`` for a while; one that was inherited is so again."""
    there, before = name in vars(owner), getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if there:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def _asking(get: Callable[[Any], Any], answer: Callable[[Asked, Any, Any], Any]) -> Any:
    """Return a property that is what ``answer`` says for the model's own code, and as it was."""

    def got(tensor: Any) -> Any:
        asked = current()
        found = get(tensor)
        return found if asked is None or not own() else answer(asked, tensor, found)

    return property(got)


def _on(tensor: Any) -> str:
    return str(BASE.device.__get__(tensor).type)  # type: ignore[attr-defined]


def _kind(kind: str) -> Callable[[Any], Any]:
    def made(_before: Any) -> Any:
        get = getattr(BASE, f"is_{kind}").__get__
        wanted = "cuda" if kind == "cuda" else kind
        return _asking(
            get, lambda asked, tensor, _: asked.is_kind(_on(tensor), wanted, f"Tensor.is_{kind}")
        )

    return made


def _number(before: Any) -> Any:
    def get_device(tensor: Any) -> Any:
        asked = current()
        if asked is None or not own() or _on(tensor) != "meta":
            return before(tensor)
        return 0 if asked.card("Tensor.get_device") else before(tensor)

    return get_device


def _typed(before: Any) -> Any:
    def type_of(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        asked = current()
        if args or kwargs or asked is None or not own():
            return before(tensor, *args, **kwargs)
        found = before(tensor)
        if not asked.is_kind(_on(tensor), "cuda", "Tensor.type"):
            return found
        return "torch.cuda." + found.rpartition(".")[2]

    return type_of


TENSORS: dict[str, Callable[[Any], Any]] = {
    "device": lambda _: _asking(BASE.device.__get__, lambda _asked, _tensor, real: Device(real)),  # type: ignore[attr-defined]
    "is_cuda": _kind("cuda"),
    "is_cpu": _kind("cpu"),
    "is_meta": _kind("meta"),
    "get_device": _number,
    "type": _typed,
}


def _there(name: str) -> Callable[..., Any]:
    return lambda asked, really: bool(asked.card(name)) if asked.guessing else _real(asked, really)


def _able(name: str) -> Callable[..., Any]:
    def answer(asked: Asked, really: Callable[[], Any]) -> Any:
        return asked.ability(name) if asked.guessing else _real(asked, really)

    return answer


def _fact(name: str, value: Any) -> Callable[..., Any]:
    def answer(asked: Asked, really: Callable[[], Any]) -> Any:
        if asked.guessing and asked.card(name):
            return Unknown(f"{name}()", value)
        return _real(asked, really)

    return answer


def _where(asked: Asked, really: Callable[[], Any]) -> Any:
    if asked.guessing and asked.card("torch.accelerator.current_accelerator"):
        return Device(torch.device("meta"))
    return _real(asked, really)


def _first(asked: Asked, really: Callable[[], Any]) -> Any:
    guessed = asked.guessing and asked.card("torch.cuda.current_device")
    return 0 if guessed else _real(asked, really)


def _done(name: str) -> Callable[..., Any]:
    def answer(asked: Asked, really: Callable[[], Any]) -> Any:
        return None if asked.guessing and asked.card(name) else _real(asked, really)

    return answer


def _real(asked: Asked, really: Callable[[], Any]) -> Any:
    """Return what is so where the model runs now, which need not be so on a card."""
    asked.missed()
    return really()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _there(name) for name in THERE},
    **{name: _able(name) for name in ABLE},
    **{name: _fact(name, value) for name, value in FACTS.items()},
    **{name: _done(name) for name in DONE},
    "torch.accelerator.current_accelerator": _where,
    "torch.cuda.current_device": _first,
}


@contextmanager
def _function(name: str, answer: Callable[..., Any]) -> Iterator[None]:
    """Answer in place of a function, also for who has it under a name of its own.

    So its code is exchanged, and not what its module calls it.
    """
    module, _, last = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), last)
    except (ImportError, AttributeError):
        yield  # an older torch has none
        return
    if not isinstance(found, types.FunctionType) or found.__code__.co_freevars:
        yield
        return
    before = found.__code__
    kept = types.FunctionType(before, found.__globals__, last, found.__defaults__)
    kept.__kwdefaults__ = found.__kwdefaults__
    hook = f"{HOOK}_{last}"

    def asked_by(args: Any, kwargs: Any) -> Any:
        asked = current()
        if asked is None or not own(3):
            return kept(*args, **kwargs)
        return answer(asked, functools.partial(kept, *args, **kwargs))

    space: dict[str, Any] = {}
    exec(f"def f(*args, **kwargs): return {hook}(args, kwargs)", space)  # noqa: S102 - its own name
    found.__globals__[hook] = asked_by
    found.__code__ = space["f"].__code__
    try:
        yield
    finally:
        found.__code__ = before
        del found.__globals__[hook]


@contextmanager
def _modules() -> Iterator[None]:
    """Answer who asks for the module of a device."""
    before = getattr(torch, "get_device_module", None)
    if before is None:
        yield
        return

    def module(device: Any = None) -> Any:
        asked = current()
        if asked is None or not own():
            return before(device)
        if isinstance(device, str) and type(device) is not Device and not _ours(device):
            return before(device)
        if not asked.guessing:
            return _real(asked, functools.partial(before, device))
        return torch.cuda if asked.card("torch.get_device_module") else torch.cpu

    with _set(torch, "get_device_module", module):
        yield


def _ours(device: Any) -> bool:
    """Return whether a device that is named is the one without values, or not yet told."""
    return str.__str__(device).partition(":")[0] == "meta"


@contextmanager
def _versions() -> Iterator[None]:
    """Answer who asks for which CUDA torch was built."""

    class Version(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            found = super().__getattribute__(name)
            asked = current() if name == "cuda" else None
            if asked is None or not own():
                return found
            if not asked.guessing:
                asked.missed()
                return found
            return Unknown("torch.version.cuda", "12") if asked.card("torch.version.cuda") else None

    before = torch.version.__class__
    torch.version.__class__ = Version  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.version.__class__ = before


def _here(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``make``, so that what it makes on a card is made where the model is."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is not None and _card(device):
            kwargs = {**kwargs, "device": "meta"}
        elif len(args) > 1 and _card(args[1]):
            args = (args[0], "meta", *args[2:])
        return make(*args, **kwargs)

    return made


def _card(device: Any) -> bool:
    if type(device) is torch.device:
        return device.type == "cuda"
    return type(device) is str and device.partition(":")[0] == "cuda"


@functools.lru_cache(maxsize=1)
def _remembering() -> tuple[Any, ...]:
    """Return what the model's libraries ask once and remember."""
    found: dict[str, Any] = {}
    for module in list(sys.modules.values()):
        if theirs(getattr(module, "__file__", None) or "<"):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    found[getattr(value, "__name__", "")] = value
    asking = {name.rpartition(".")[2] for name in FUNCTIONS}
    remembering: dict[str, Any] = {}
    while True:
        more = {
            name: value
            for name, value in found.items()
            if name not in remembering and not asking.isdisjoint(_names(value))
        }
        if not more:
            return tuple(remembering.values())
        remembering.update(more)
        asking |= set(more)


def _names(function: Any) -> set[str]:
    code = getattr(getattr(function, "__wrapped__", None), "__code__", None)
    return set(code.co_names) if code is not None else set()


def _forget() -> None:
    """Let what was remembered of a device be asked anew: it has another answer in each walk."""
    for one in _remembering():
        one.cache_clear()
