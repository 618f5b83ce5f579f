"""An image in a file that ``docker save`` wrote, read and never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.transports import Transport

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mxenv.probe import Host
    from mxenv.transports import Terms


def _open(rest: str, terms: Terms) -> AbstractContextManager[Host]:
    from mxenv.stores import docker_archive  # noqa: PLC0415 - imported late: only this address
    from mxenv.transports import _layers  # noqa: PLC0415 - imported late: for the same reason

    return _layers.opened(docker_archive.open_source(rest), terms)


TRANSPORT = Transport(
    title="an image that `docker save` wrote", address="FILE[:REPOSITORY:TAG]", open=_open
)
