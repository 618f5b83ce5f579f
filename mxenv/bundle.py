"""A whole matrix in one file: every layer as it was written, and the digest of all together."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mxenv.errors import MatrixError
from mxenv.frozen import frozen
from mxenv.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = "mxenv.bundle/1"
LAYERS = ("shipped", "site")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@frozen
class Layer:
    """One file of a matrix."""

    name: str
    """As its rows are named: without folders in a bundle, which is read on another machine."""
    kind: str
    """``shipped`` with mxenv, or of a ``site``."""
    text: str


@frozen
class Bundle:
    """What one file carries from one machine to another."""

    digest: str
    """Of the matrix that the layers make together; it is the same wherever it is read."""
    layers: tuple[Layer, ...]


def is_bundle(content: bytes) -> bool:
    """Tell a bundle from a file of rows, which is TOML and cannot begin with a brace."""
    return content.lstrip().startswith(b"{")


def render(bundle: Bundle) -> str:
    """Return the text of a bundle: equal bundles give equal bytes."""
    document = {
        "schema": SCHEMA,
        "digest": bundle.digest,
        "layers": [
            {"name": layer.name, "kind": layer.kind, "text": layer.text} for layer in bundle.layers
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def parse(text: str, *, context: str) -> Bundle:
    """Return the bundle in ``text``, or say what in it is wrong."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise MatrixError(f"not JSON: {error}", context=context) from None
    except RecursionError:
        raise MatrixError("not JSON that mxenv wrote: nested too deeply", context=context) from None
    if not isinstance(values, dict):
        raise MatrixError("not a bundle", context=context)
    root = Table(values=values, context=context, error=MatrixError)
    if root.text("schema") != SCHEMA:
        root.fail("schema", f"not {SCHEMA!r}", hint="it was written for another mxenv")
    root.only("schema", "digest", "layers")
    if not _DIGEST.fullmatch(root.text("digest")):
        root.fail("digest", "not a digest")
    layers = tuple(map(_layer, root.tables("layers")))
    if not layers:
        root.fail("layers", "missing")
    distinct(layers, context)
    return Bundle(digest=root.text("digest"), layers=layers)


def _layer(table: Table) -> Layer:
    table.only("name", "kind", "text")
    if not _NAME.fullmatch(table.text("name")):
        table.fail("name", f"{table.text('name')!r} is no name of a file")
    if table.text("kind") not in LAYERS:
        table.fail("kind", f"{table.text('kind')!r} is none of {', '.join(LAYERS)}")
    return Layer(name=table.text("name"), kind=table.text("kind"), text=table.text("text"))


def distinct(layers: Sequence[Layer], context: str) -> None:
    """Refuse two layers of one name: rows are named after their file."""
    names = [layer.name for layer in layers]
    for name in names:
        if names.count(name) > 1:
            hint = "give one of the files another name"
            raise MatrixError(f"two files are called {name!r}", context=context, hint=hint)
