"""What is read out of a registry's words: challenges, refusals, places, how long to wait."""

from __future__ import annotations

import http.client
import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import urllib3

from mxenv.stores._digests import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import requests

_PAIR = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))')


def pairs(text: str) -> dict[str, str]:
    """Return the parameters of a challenge."""
    return {
        m[1].lower(): re.sub(r"\\(.)", r"\1", m[2]) if m[2] else m[3] or ""
        for m in _PAIR.finditer(text)
    }


def retry_after(value: str) -> float | None:
    """Return the seconds that a ``Retry-After`` asks for, whichever way it is written."""
    if value.strip().isdecimal():
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (until.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def nobody(error: Exception) -> bool:
    """Return whether there was nobody to speak to: trying again at once does not help."""
    below = getattr(error.args[0] if error.args else None, "reason", None)
    kinds = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
    return isinstance(below, kinds)


def reason(error: Exception) -> str:
    """Return the innermost reason, in one line and without addresses of objects."""
    inner: object = error
    while isinstance(inner, BaseException):
        below = getattr(inner, "reason", None) or next(
            (a for a in inner.args if isinstance(a, BaseException)), None
        )
        if below is None:
            break
        inner = below
    if isinstance(inner, OSError) and inner.strerror:
        return inner.strerror
    if isinstance(inner, http.client.IncompleteRead):
        return f"ended early, {inner.expected} bytes were still to come"
    if isinstance(inner, TimeoutError | urllib3.exceptions.ReadTimeoutError):
        return "nothing came for too long"
    # Only what the system said, not which object of which library it said it to.
    return printable(
        str(inner).rpartition("[Errno")[2].partition("] ")[2].rstrip(")") or str(inner)
    )


def last_word(response: requests.Response) -> str:
    """Return the status, and what the body says of it, in one line."""
    word = f"{response.status_code} {response.reason or ''}".strip()
    try:
        said = response.raw.read(1 << 16) if response.request.method != "HEAD" else b""
    except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError):
        said = b""
    try:
        first = json.loads(said)["errors"][0]
        text = ": ".join(str(first[name]) for name in ("code", "message") if first.get(name))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        text = ""
    return printable(f"{word}, {text}" if text else word)


def advice(status: int, host: str, certificate: str) -> str:
    """Return what to do about a refusal, if that is known.

    ``certificate`` is where one would lie, of a registry that is spoken to without any.
    """
    if status in {401, 403}:
        return f"`docker login {host}`; mxenv reads the same configuration"
    # As a server says that expects TLS; of a HEAD it says no more.
    if status == 400 and certificate:  # noqa: PLR2004 - as HTTP has it
        return f"if it wants TLS, put its CA into {certificate}"
    return ""


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port, by which two addresses are of one server."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", None, None  # no address at all, and so no origin that is known
    return parts.scheme, parts.hostname, port


def scopes(query: Mapping[str, str]) -> list[tuple[str, str]]:
    """Give each scope a parameter of its own, as token servers expect."""
    return [
        (name, one)
        for name, value in query.items()
        for one in (value.split() if name == "scope" else [value])
    ]
