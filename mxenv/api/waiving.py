"""What somebody answers for: as an image description, a lock or a file of its own says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv import _files, table
from mxenv import image_reader as images
from mxenv import lock as locks
from mxenv.errors import ImageError, InvalidFile, LockError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mxenv.verdict import Waiver

LARGEST = 1 << 24


def read(paths: Iterable[Path]) -> tuple[Waiver, ...]:
    """Return the waivers of all files, each once; a file without any is an error."""
    found = dict.fromkeys(waiver for path in paths for waiver in _of(path))
    return tuple(found)


def _of(path: Path) -> tuple[Waiver, ...]:
    text = _text(path)
    if path.name.startswith("pylock."):
        waivers = locks.parse(text, context=str(path)).waivers
    else:
        root = table.document(text, context=str(path), error=ImageError)
        if "base" in root.values:
            waivers = images.parse(text, context=str(path)).waivers
        else:
            root.only("waivers")
            waivers = tuple(images.waiver(entry) for entry in root.tables("waivers"))
    if not waivers:
        hint = "a [[waivers]] table has code, reason, owner and expires"
        raise InvalidFile("holds no waivers", context=str(path), hint=hint)
    return waivers


def _text(path: Path) -> str:
    error = LockError if path.name.startswith("pylock.") else ImageError
    try:
        return _files.read(path, limit=LARGEST).decode()
    except UnicodeDecodeError as fault:
        raise error(f"not UTF-8 at byte {fault.start}", context=str(path)) from None
    except (OSError, ValueError) as fault:
        raise error(f"cannot be read: {_files.why(fault)}", context=str(path)) from None
