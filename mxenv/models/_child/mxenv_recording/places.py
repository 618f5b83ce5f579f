"""Where in a model's code and modules something is called."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

from mxenv_recording.ledger import relative

OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # noqa: PTH120, PTH100
PACKAGES = "-packages" + os.sep
"""Stands in the path of whatever was installed."""
TORCH = os.path.dirname(torch.__file__) + os.sep  # noqa: PTH120 - compared as text


class Places:
    """Follows which module runs, and finds the line of the model's code that called."""

    def __init__(self, model: Any) -> None:
        self.names = {id(module): name for name, module in model.named_modules()}
        self.stack: list[str] = []
        self.theirs: dict[int, tuple[bool, Any]] = {}
        """Whether code is the model's, by its identity: to compare code takes long."""
        self.told: dict[tuple[int, int], str] = {}
        self.forward: dict[int, tuple[str, str]] = {}
        """Where each node of autograd was made, by its number."""
        self.handles: list[Any] = []

    def __enter__(self) -> Places:  # noqa: PYI034 - Python 3.8 has no Self
        modules = torch.nn.modules.module
        self.handles = [
            modules.register_module_forward_pre_hook(self._enter),
            modules.register_module_forward_hook(self._leave, always_call=True),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self.handles:
            handle.remove()

    def _enter(self, module: Any, _: Any) -> None:
        self.stack.append(self.names.get(id(module), ""))

    def _leave(self, _module: Any, _inputs: Any, _output: Any) -> None:
        if self.stack:
            self.stack.pop()

    def now(self) -> tuple[str, str]:
        """Return the module and the line that an operator is called from."""
        node = torch._C._current_autograd_node()
        if node is not None:
            found = self.forward.get(node._sequence_nr())
            # What a model's own code does backwards has a line of its own.
            return ("", self.line()) if found is None else found
        where = (self.stack[-1] if self.stack else "", self.line())
        if torch.is_grad_enabled():
            self.forward.setdefault(torch._C._autograd._get_sequence_nr() - 1, where)
        return where

    def passed(self) -> None:
        """Remember where a node of autograd was made, of a call that nobody asks the place of."""
        if not torch.is_grad_enabled() or torch._C._current_autograd_node() is not None:
            return
        number = torch._C._autograd._get_sequence_nr() - 1
        if number not in self.forward:
            self.forward[number] = (self.stack[-1] if self.stack else "", self.line())

    def _own(self, code: Any) -> bool:
        known = self.theirs.get(id(code))
        if known is None:
            # It is kept, so that no other has its identity.
            known = self.theirs[id(code)] = (theirs(code.co_filename), code)
        return known[0]

    def calls(self) -> tuple[Any, ...]:
        """Return which calls of the model's code lead here: the same ones for every layer."""
        found = []
        frame = sys._getframe(1)
        while frame is not None:
            if self._own(frame.f_code):
                found.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back  # type: ignore[assignment]
        return tuple(found)

    def line(self) -> str:
        """Return the line of the model's code that is at work; empty if there is none."""
        frame = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if self._own(code):
                key = (id(code), frame.f_lasti)
                line = self.told.get(key)
                if line is None:
                    line = self.told[key] = f"{relative(code.co_filename)}:{frame.f_lineno}"
                return line
            frame = frame.f_back  # type: ignore[assignment]
        return ""


def theirs(file: str) -> bool:
    """Return whether a file is the model's, and neither torch's nor the recorder's."""
    return not (file.startswith((TORCH, OWN, "<")) or "/triton/" in file)
