"""How what a tree wants is put to a shell: many paths to one program, odd ones alone."""

from __future__ import annotations

import re
import secrets
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from mxenv.facts import Unreadable
from mxenv.frozen import frozen
from mxenv.transports import _shell_reading as reading
from mxenv.transports._shell_script import quote
from mxenv.transports._shell_talk import STALL, Item
from mxenv.transports._watched import LATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mxenv.transports._shell_talk import Sections
    from mxenv.transports._shell_tree import Entry, Shelf, ShellTree

K = TypeVar("K")
V = TypeVar("V")

BATCH = 150
"""Paths for one program; what hangs costs no more than those that were asked for with it."""
BYTES = 8 << 20
"""Of content from one program, at most, unless a single file is larger."""
UNKNOWN = 1 << 16
"""Bytes that a file is taken for of which the kernel says that it has none."""
PATIENT = 60.0
"""Seconds that a large file is read for before a byte comes; the limit of all ends it earlier."""
PLAIN = re.compile(r"(?!.* -> )[ -&(-\[\]-~]*")
"""A name that every program prints as it is: no sign that one would quote."""


@frozen(kw_only=False)
class Look:
    """An item for the shell, and who takes what comes for it: `None` if it hung."""

    item: Item
    take: Callable[[Sections | None], None]


def prefix() -> str:
    """Return slashes and dots that lead nowhere and cannot be foreseen."""
    bits = secrets.randbits(40)
    return "/." + "".join("/." if bits >> place & 1 else "//" for place in range(40))


def looks(tree: ShellTree, front: str) -> tuple[list[Look], str]:
    """Return what to ask for all that ``tree`` wants, and what to set up; it wants nothing then."""
    variables = list(tree.variables.wanted)
    # Their values as they are before the shell sets some for its own helpers.
    kept = [f"e{number}=${{{name}+x${name}}}" for number, name in enumerate(variables)]
    made = [
        *_variables(tree, variables),
        *_entries(tree, front),
        *_listings(tree, front),
        *chain.from_iterable(_heads(tree, size, front) for size in tree.heads),
        *_packages(tree),
        *_records(tree, front),
        *_spaces(tree),
        *_digests(tree, front),
    ]
    tree.satisfied()
    return made, "; ".join([*kept, f"P={front}"])


def _look(
    line: str,
    shelf: Shelf[K, V],
    keys: Iterable[K],
    read: Callable[[Sections], Mapping[K, V | Unreadable]],
    silent: float = STALL,
) -> Look:
    def take(sections: Sections | None) -> None:
        if sections is None:
            shelf.known.update(dict.fromkeys(keys, Unreadable(LATE, passing=True)))
            return
        try:
            shelf.known.update(read(sections))
        except (ValueError, LookupError, OverflowError):
            # A program that prints something else than all others costs its own files.
            shelf.known.update(dict.fromkeys(keys, reading.CUT))

    return Look(Item(line, silent), take)


def _batches(paths: Iterable[str], size: Callable[[str], int] = lambda _: 0) -> Iterator[list[str]]:
    """Yield paths that may be asked for with one another; neighbours stay together."""
    batch: list[str] = []
    weight = 0
    for path in sorted(paths):
        if not PLAIN.fullmatch(path):
            yield [path]
            continue
        if batch and (len(batch) == BATCH or weight + size(path) > BYTES):
            yield batch
            batch, weight = [], 0
        batch.append(path)
        weight += size(path)
    if batch:
        yield batch


def _line(function: str, paths: Iterable[str]) -> str:
    # The prefix holds nothing that a shell would take apart.
    return f"{function} {' '.join(f'$P{quote(path)}' for path in paths)}"


def _variables(tree: ShellTree, names: list[str]) -> Iterator[Look]:
    for number, name in enumerate(names):
        yield _look(f"printf '%s' \"$e{number}\"", tree.variables, [name], partial(_value, name))


def _value(name: str, sections: Sections) -> Mapping[str, str | None]:
    text = sections[""].decode(errors="replace")
    return {name: text[1:] if text else None}


def _entries(tree: ShellTree, front: str) -> Iterator[Look]:
    shelf = tree.entries
    # What was listed once, and is wanted again, is written in a way that nobody understands.
    odd = {path for path in shelf.wanted if path in tree.listed or not PLAIN.fullmatch(path)}
    for path in sorted(odd):
        yield _look(_line("o", [path]), shelf, [path], partial(_alone, path))
    for batch in _batches(shelf.wanted.keys() - odd):
        tree.listed.update(batch)
        read = partial(reading.entries, batch, front=front)
        yield _look(_line("l", batch), shelf, batch, read)


def _alone(path: str, sections: Sections) -> Mapping[str, Entry | Unreadable | None]:
    return {path: reading.alone(sections)}


def _listings(tree: ShellTree, front: str) -> Iterator[Look]:
    for path in sorted(tree.listings.wanted):
        read = partial(_names, path, front=front)
        yield _look(_line("n", [path.rstrip("/")]), tree.listings, [path], read)


def _names(path: str, sections: Sections, front: str) -> Mapping[str, tuple[str, ...] | Unreadable]:
    return {path: reading.names(path, sections, front)}


def _heads(tree: ShellTree, size: int, front: str) -> Iterator[Look]:
    shelf = tree.heads[size]
    for batch in _batches(shelf.wanted, lambda path: min(size, tree.size(path) or UNKNOWN)):
        read = partial(reading.heads, batch, front=front)
        yield _look(_line(f"h {size}", batch), shelf, batch, read)


def _packages(tree: ShellTree) -> Iterator[Look]:
    for path, limit in sorted(tree.packages.wanted):
        read = partial(_package, (path, limit))
        line = _line(f"q {limit}", [path])
        yield _look(line, tree.packages, [(path, limit)], read, PATIENT)


def _records(tree: ShellTree, front: str) -> Iterator[Look]:
    for batch in _batches(tree.records.wanted):
        read = partial(reading.heads, batch, front=front)
        yield _look(_line("r", batch), tree.records, batch, read)


def _package(
    key: tuple[str, int], sections: Sections
) -> Mapping[tuple[str, int], bytes | Unreadable]:
    return {key: reading.packages(key[1], sections)}


def _spaces(tree: ShellTree) -> Iterator[Look]:
    for path in tree.spaces.wanted:
        line = _line("w df -P -k", [path])
        yield _look(line, tree.spaces, [path], partial(_free, path))


def _free(path: str, sections: Sections) -> Mapping[str, int | Unreadable]:
    return {path: reading.free(sections)}


def _digests(tree: ShellTree, front: str) -> Iterator[Look]:
    for batch in _batches(tree.digests.wanted):
        read = partial(reading.digests, batch, front=front)
        yield _look(_line("s", batch), tree.digests, batch, read, PATIENT)
