"""An image in a registry, read and never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.transports import Transport

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mxenv.probe import Host
    from mxenv.transports import Terms


def _open(rest: str, terms: Terms) -> AbstractContextManager[Host]:
    from mxenv.stores import registry  # noqa: PLC0415 - imported late: it brings requests
    from mxenv.transports import _layers  # noqa: PLC0415 - imported late: for the same reason

    return _layers.opened(registry.open_source(rest), terms)


TRANSPORT = Transport(
    title="an image in a registry", address="HOST/REPOSITORY[:TAG][@DIGEST]", open=_open
)
