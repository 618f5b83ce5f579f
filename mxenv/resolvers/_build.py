"""How a source distribution becomes a wheel: with exact tools, and a clock that stands still."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv._hashing import sha256_of
from mxenv.distribution import normalised, same_version
from mxenv.errors import EngineError, WheelError
from mxenv.resolvers import Made, _pins, _tools, _unpack

if TYPE_CHECKING:
    from mxenv.resolvers import Order
    from mxenv.resolvers._tools import Tools


def build(order: Order) -> Made:
    """Build the wheel of ``order``; with tools that nobody named before, twice and alike."""
    label = f"{order.name} {order.version}"
    with tempfile.TemporaryDirectory(prefix="mxenv-build-") as name:
        room = Path(name)
        tools = _tools.made(room, order)
        source = _unpack.unpack(order.sdist, room / "once", order.epoch)
        if order.requires is None:
            requires = _resolved(tools, source)
            # What ran meanwhile may have left something behind in it.
            source = _unpack.unpack(order.sdist, room / "afresh", order.epoch)
        else:
            requires = order.requires
            _pins.install(requires, tools)
        wheel = tools.build(source, room / "wheel")
        _check_name(wheel, order)
        if order.requires is None:
            again = _unpack.unpack(order.sdist, room / "twice", order.epoch)
            _compare(wheel, tools.build(again, room / "wheel-again"), label)
        return Made(
            wheel=Path(shutil.move(wheel, order.out)),
            builder=_tools.builder(),
            python=tools.version(),
            epoch=order.epoch,
            requires=requires,
        )


def _resolved(tools: Tools, source: Path) -> tuple[str, ...]:
    """Install what building ``source`` takes, and return it exactly."""
    wanted = tools.required(source)
    requires = _pins.resolved(wanted, tools)
    _pins.install(requires, tools)
    if more := tools.required_more(source) - wanted:
        requires = _pins.resolved(wanted | more, tools)
        _pins.install(requires, tools)
    return requires


def _check_name(wheel: Path, order: Order) -> None:
    name, version, *_ = wheel.name.split("-")
    if normalised(name) != order.name or not same_version(version, order.version):
        raise WheelError(
            f"became {wheel.name}, of another name or version", context=order.sdist.name
        )


def _compare(one: Path, other: Path, label: str) -> None:
    if one.name != other.name or sha256_of(one) != sha256_of(other):
        raise EngineError(
            f"{label} becomes another wheel every time that it is built, so that nobody else could "
            "build the one that is locked",
            hint="build it once (`pip wheel`), keep the wheel where everybody finds it, and add "
            "that folder or index with --find-links or --index",
        )
