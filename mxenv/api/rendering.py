"""What a container engine would be given for a lock: the Containerfile, and its whole context."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mxenv import lock as locks
from mxenv import rendering as containerfiles
from mxenv._files import whole, write_atomically
from mxenv.api import caching, project
from mxenv.api.building import known_of
from mxenv.engines import Order, _context, docker
from mxenv.lock import WHEELHOUSE

if TYPE_CHECKING:
    from pathlib import Path

ARCHIVE = ".tar"
"""How a file is called that is to hold the whole context."""


def render(lock_path: Path) -> str:
    """Return the Containerfile of a lock; the base is asked for its configuration, by digest."""
    order = _order(lock_path, None)
    return containerfiles.render(order.lock, docker.configuration(order))


def write(lock_path: Path, out: Path, *, wheelhouse: Path | None = None) -> None:
    """Write the Containerfile, or to a file that ends in ``.tar`` the context with all of it."""
    if out.suffix != ARCHIVE:
        write_atomically(out, render(lock_path))
        return
    order = _order(lock_path, wheelhouse)
    with (
        _context.opened_context(order, docker.configuration(order)) as context,
        whole(out) as file,
    ):
        for piece in context:
            file.write(piece)


def _order(lock_path: Path, wheelhouse: Path | None) -> Order:
    lock = project.resolved_lock(lock_path)
    return Order(
        lock=lock,
        lock_text=locks.render(locks.without_image(lock)),
        base=project.base_of(lock, lock_path),
        wheelhouse=wheelhouse or lock_path.parent / WHEELHOUSE,
        files=project.files_of(lock, lock_path),
        cache=caching.cache_root(os.environ),
        known=known_of(lock, lock_path),
    )
