"""The shipped rows in a form that is read in a tenth of the time, and only where it is of them."""

from __future__ import annotations

import hashlib
import json
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.bundle import Layer

OF = "of"
"""The field with the digest of the text that the rows were read from."""


def rows(layer: Layer) -> dict[str, object] | None:
    """Return what a shipped file says, if its compiled form is there and of this very text."""
    file = resources.files("mxenv") / "matrices" / layer.name.replace(".toml", ".json")
    try:
        values = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(values, dict) or values.pop(OF, "") != digest(layer.text):
        return None
    return values


def digest(text: str) -> str:
    """Return what tells one text from another."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def render(text: str, values: Mapping[str, object]) -> str:
    """Return the compiled form of ``text``, which says ``values``: one row a line."""
    lines = [f'"{OF}":{_json(digest(text))}']
    for name, value in values.items():
        if isinstance(value, list):
            lines.append(f'"{name}":[\n' + ",\n".join(map(_json, value)) + "\n]")
        else:
            lines.append(f'"{name}":{_json(value)}')
    return "{" + ",\n".join(lines) + "}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
