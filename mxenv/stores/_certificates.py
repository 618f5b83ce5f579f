"""Whom a registry's certificate may come from, and how a user shows who they are by one."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

from mxenv.errors import InvalidFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FOLDERS = ("/etc/containers/certs.d", "/etc/docker/certs.d")
"""Where Podman and Docker look for ``HOST:PORT/*.crt``, ``*.cert`` and ``*.key``."""


def context(host: str, environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return what connections to ``host`` are made with.

    The system's authorities count (``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` name others), and those
    that lie where Docker and Podman have them for this host.
    """
    made = ssl.create_default_context()
    for folder in folders(host, environ):
        for authority in sorted(folder.glob("*.crt")):
            try:
                made.load_verify_locations(authority)
            except (OSError, ssl.SSLError) as error:
                raise _unusable(authority, error) from error
        for certificate in sorted(folder.glob("*.cert")):
            try:
                made.load_cert_chain(certificate, certificate.with_suffix(".key"))
            except (OSError, ssl.SSLError) as error:
                raise _unusable(certificate, error) from error
    return made


class Adapter(requests.adapters.HTTPAdapter):
    """Makes connections with a context of ours, through proxies as well."""

    def __init__(self, made: ssl.SSLContext) -> None:
        """Take the context before the first pool is made with it."""
        self._made = made
        super().__init__()

    def init_poolmanager(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - as the library
        """Have connections made with the context."""
        super().init_poolmanager(*given, **named, ssl_context=self._made)

    def proxy_manager_for(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as the library
        """Have connections through a proxy made with the context."""
        return super().proxy_manager_for(*given, **named, ssl_context=self._made)


def folders(host: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders that hold certificates for ``host``; the user's own come first."""
    own = environ.get("XDG_CONFIG_HOME") or (
        f"{environ['HOME']}/.config" if environ.get("HOME") else ""
    )
    places = (*((f"{own}/containers/certs.d",) if own else ()), *FOLDERS)
    for place in (environ.get("MXENV_CERTS", ""), *places):
        folder = Path(place) / host
        if place and folder.is_dir():
            yield folder


def _unusable(path: Path, error: Exception) -> InvalidFile:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InvalidFile(f"cannot be used as a certificate: {why}", context=str(path))
