"""The shipped rows in a form that is read in a tenth of the time, and only where it is of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from mxenv.facts import FactKey, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.bundle import Layer
    from mxenv.constraint import Constraint
    from mxenv.matrix import Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What a file says, and the facts that it speaks of: no probe has to be loaded for them."""

    rows: dict[str, object]
    keys: Mapping[str, FactKey]


def read(layer: Layer) -> Compiled | None:
    """Return the compiled form of a shipped file, if it is there and of this very text."""
    if layer.kind != "shipped":
        return None
    file = resources.files("mxenv") / "matrices" / layer.name.replace(".toml", ".json")
    try:
        values = json.loads(file.read_bytes())
        if values["of"] != digest(layer.text):
            return None
        keys = {name: _key(name, *values["keys"][name]) for name in values["keys"]}
        return Compiled(rows=dict(values["rows"]), keys=keys)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _key(name: str, meaning: str, instance: str, view: str) -> FactKey:
    return FactKey(name=name, meaning=meaning, instance=instance, view=View(view) if view else None)


def digest(text: str) -> str:
    """Return what tells one text from another."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def render(text: str, rows: Mapping[str, object], matrix: Matrix) -> str:
    """Return the compiled form of ``text``, which says ``rows`` and makes ``matrix``."""
    kinds = []
    for name, value in rows.items():
        listed = value if isinstance(value, list) else None
        said = "[\n" + ",\n".join(map(_json, listed)) + "\n]" if listed else _json(value)
        kinds.append(f"{_json(name)}:{said}")
    keys = {
        key.name: [key.meaning, key.instance, key.view.value if key.view else ""]
        for key in sorted(set(_asked(matrix)), key=lambda key: key.name)
    }
    parts = (_json(digest(text)), _json(keys), "{" + ",\n".join(kinds) + "}")
    return '{{"of":{},\n"keys":{},\n"rows":{}}}\n'.format(*parts)


def _asked(matrix: Matrix) -> Iterator[FactKey]:
    """Yield every fact that a row speaks of."""
    for broken in matrix.broken:
        yield from _keys(broken.when)
    for needed in matrix.requirements:
        yield from _keys((*needed.when, *needed.requires))
    for operator in matrix.operators:
        yield from _keys(operator.when)
    for rule in matrix.rules:
        yield from _keys((*rule.when, *rule.requires))
        for relation in rule.agree:
            yield relation.left.key
            yield relation.right.key


def _keys(constraints: Iterable[Constraint]) -> Iterator[FactKey]:
    return (constraint.selector.key for constraint in constraints)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
