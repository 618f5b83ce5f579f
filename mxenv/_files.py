"""How mxenv writes a file: whole, or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from mxenv.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write ``data`` to ``path`` through a temporary file beside it; text becomes UTF-8.

    The folder is made if it is missing. A path that cannot be written raises `UsageError`.
    """
    content = data.encode() if isinstance(data, str) else data
    try:
        # A link is written through, or a file elsewhere would quietly stop being updated.
        target = path.resolve() if path.is_symlink() else path
        temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write(temporary, content)
            temporary.replace(target)
        except BaseException:
            # Ctrl-C as well: nothing half written is left behind.
            with suppress(OSError):
                temporary.unlink()
            raise
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot be written: {getattr(error, 'strerror', '') or error}",
            context=str(path),
            hint="name a file in a folder that you may write to",
        ) from error


def _write(path: Path, content: bytes) -> None:
    # Not `tempfile`: its files are 0600 whatever the umask says.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
