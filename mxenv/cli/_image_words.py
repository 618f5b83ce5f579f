"""How an image is told of: for programs all that is known, for people what they ask first."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from mxenv.redaction import UNPRINTABLE

if TYPE_CHECKING:
    from mxenv.api.showing import Layer, Shown

MANY = 20
"""Packages that are named; -v names all."""
LONGEST = 100
"""Signs of what made a layer that are shown; -v shows all."""
UNITS = ("B", "kB", "MB", "GB", "TB")
STEP = 1000


def document(shown: Shown) -> dict[str, object]:
    """Return all that is known."""
    lock = shown.lock
    return {
        "image": shown.name,
        "made_by_mxenv": shown.made_by_mxenv,
        "manifest": shown.manifest,
        "config": shown.config,
        "platform": shown.platform,
        "size": shown.size,
        "labels": shown.labels,
        "lock": lock
        and {
            "name": lock.name,
            "base": {"reference": lock.base.reference, "digest": lock.base.digest},
            "packages": {one.name: one.version for one in lock.packages},
            "provided": {one.name: one.version for one in lock.provided},
            "host": list(lock.host),
        },
        "start_gate": shown.gate,
        "entrypoint": list(shown.entrypoint),
        "command": list(shown.command),
        "signed_by": list(shown.signed),
        "signatures_verified": shown.verified,
        "attached": list(shown.attached),
        "layers": [
            {"digest": one.digest, "size": one.size, "title": one.title, "by_mxenv": one.ours}
            for one in shown.layers
        ],
    }


def lines(shown: Shown, *, whole: bool) -> dict[str, object]:
    """Return what is told to people, by name; what is not known is left out."""
    labels = shown.labels
    accelerated = labels.get("io.mxenv.accelerator") != "none"
    told: dict[str, object] = {"image": shown.name}
    if not shown.made_by_mxenv:
        told["made by"] = "not mxenv, as far as it says"
    told |= {
        "manifest": shown.manifest,
        "config": shown.config,
        "platform": shown.platform,
        "size": f"{size(shown.size)} in {_many(len(shown.layers))}",
        "lock": _lock(shown),
        "base": _base(shown),
        "python": labels.get("io.mxenv.python"),
        "accelerator": labels.get("io.mxenv.accelerator"),
        "packages": _packages(shown, whole=whole),
        "needs of host": list(shown.lock.host) if shown.lock else None,
        "start gate": shown.gate if shown.made_by_mxenv else None,
        "starts": shlex.join((*shown.entrypoint, *shown.command)),
        # Without an accelerator nothing was held against the matrix: that is no unknown outcome.
        "when locked": labels.get("io.mxenv.outcome") if accelerated else None,
        "signed by": _signed(shown),
        "attached": ", ".join(shown.attached) or "nothing that mxenv knows",
        "layers": [
            f"{size(one.size):>9}  {'+' if one.ours else ' '} {_made(one, whole=whole)}"
            for one in shown.layers
        ],
    }
    return {name: _plain(value) for name, value in told.items() if value}


def _made(layer: Layer, *, whole: bool) -> str:
    """Return what made a layer, in one line: an engine says whole scripts."""
    said = " ".join(layer.title.split()) or layer.digest
    return said if whole or len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def _plain(value: object) -> object:
    """Return what an image says without whatever would move a terminal."""
    if isinstance(value, list):
        return [UNPRINTABLE.sub("?", str(one)) for one in value]
    return UNPRINTABLE.sub("?", str(value))


def _lock(shown: Shown) -> str | None:
    if not shown.made_by_mxenv:
        return None
    name = shown.labels.get("org.opencontainers.image.title", "")
    attached = "attached" if shown.lock else "inside only"
    return f"{name} {shown.labels['io.mxenv.lock.digest']} ({attached})"


def _base(shown: Shown) -> str | None:
    prefix = "org.opencontainers.image.base."
    name, digest = (shown.labels.get(f"{prefix}{key}", "") for key in ("name", "digest"))
    return " ".join(part for part in (name, "" if digest in name else digest) if part)


def _packages(shown: Shown, *, whole: bool) -> list[str] | None:
    if shown.lock is None:
        return None
    added = [f"{one.name} {one.version}" for one in shown.lock.packages]
    listed = added if whole or len(added) <= MANY else [*added[:MANY], f"and {len(added) - MANY}"]
    return (
        [*listed, f"and {len(shown.lock.provided)} of the base"] if shown.lock.provided else listed
    )


def _signed(shown: Shown) -> list[str]:
    if shown.verified:
        return list(shown.signed) or ["none of the keys that were named"]
    return [f"{one} (as it says; --key PUB checks)" for one in shown.signed] or ["nobody"]


def _many(layers: int) -> str:
    return f"{layers} layer{'s' * (layers != 1)}"


def size(count: int) -> str:
    """Return a number of bytes as people say it."""
    number, unit = float(count), 0
    while number >= STEP and unit < len(UNITS) - 1:
        number, unit = number / STEP, unit + 1
    return f"{number:.0f} {UNITS[unit]}" if not unit else f"{number:.1f} {UNITS[unit]}"
