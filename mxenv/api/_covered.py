"""What layers did to what lies below them: links covered, files replaced, modules put beside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.api._inside import sites
from mxenv.configuration import lock_path
from mxenv.layers import START_GATE
from mxenv.transports._tree import Unanswered

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from mxenv.api._inside import Inside
    from mxenv.stores.unpacked import Node

SITE = re.compile(r"/(?:site|dist)-packages/")
"""Where Python looks for distributions, and runs what ``.pth`` files say."""


def links(inside: Inside, layers: Iterable[int]) -> list[str]:
    """Return the links that a directory covers, one of ours or of a layer on top.

    ``layers`` are those in which files of wheels were found.
    """
    first = min(inside.ours or layers, default=last(inside))
    found = inside.files.covered_links.items()
    return [_said(inside, path, layer) for path, layer in found if layer >= first]


def replaced(inside: Inside, known: Container[str]) -> list[str]:
    """Return the files that a layer on top replaced or removed, but those looked at elsewhere."""
    highest = last(inside)
    others = (*sites(inside.lock), START_GATE, lock_path(inside.lock.name))
    return [
        _said(inside, path, layer)
        for path, layer in inside.files.replaced.items()
        if layer > highest
        and path not in known
        and not any(f"{path}/".startswith(f"{other}/") for other in others)
    ]


def modules(inside: Inside) -> list[str]:
    """Return what a layer on top has where another Python of the image, or the base's, looks."""
    highest, own = last(inside), tuple(f"{site}/" for site in sites(inside.lock))
    return [
        _said(inside, path, node.layer)
        for path, node in below("", inside.files.root)
        if node.layer > highest and SITE.search(path) and not path.startswith(own)
    ]


def below(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    """Yield everything below a directory that is none itself."""
    for name, child in node.children.items():
        if child.kind == "directory":
            yield from below(f"{path}/{name}", child)
        else:
            yield f"{path}/{name}", child


def last(inside: Inside) -> int:
    """Return the last layer of the lock; without a record of them, that of its own copy."""
    if inside.ours:
        return max(inside.ours)
    try:
        _, node = inside.node(lock_path(inside.lock.name))
    except Unanswered:
        node = None
    return node.layer if node else len(inside.files.description.layers)


def _said(inside: Inside, path: str, layer: int) -> str:
    return f"{path} (layer {inside.files.description.layers[layer].digest})"
