"""JSON that anybody may have written: what of it can be used, and why none of it can."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def read(content: bytes) -> Mapping[str, object]:
    """Return the object that ``content`` is; `ValueError` says why it is none."""
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except ValueError as error:
        raise ValueError(f"not JSON ({error})") from None
    if isinstance(document, dict):
        return document
    raise ValueError("not a JSON object")


def table(value: object) -> Mapping[str, object]:
    """Return an object; whatever else there is counts as an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> Sequence[object]:
    """Return a list; whatever else there is counts as an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """Return a text; whatever else there is counts as an empty one."""
    return value if isinstance(value, str) else ""
