"""An image in an OCI layout on a disk, read and never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.transports import Transport

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mxenv.probe import Host
    from mxenv.transports import Terms


def _open(rest: str, terms: Terms) -> AbstractContextManager[Host]:
    from mxenv.stores import layout  # noqa: PLC0415 - imported late: only this address needs it
    from mxenv.transports import _layers  # noqa: PLC0415 - imported late: for the same reason

    return _layers.opened(layout.open_source(rest), terms)


TRANSPORT = Transport(title="an image in an OCI layout", address="DIR[:TAG]", open=_open)
