"""Where the container engine of a user is, and in which words it is told that it fails."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from mxenv.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from docker import APIClient

LONGEST = 300
"""Signs of what an engine says that are shown."""
USUAL = "unix:///var/run/docker.sock"
"""Where an engine is, unless somebody says otherwise."""
HINT = "is a container engine running, and may you use it? DOCKER_HOST names another one"


def place(environ: Mapping[str, str] = os.environ) -> str:
    """Return where the engine is said to be."""
    from docker import errors  # noqa: PLC0415 - imported late: it brings requests

    said = environ.get("DOCKER_HOST")
    # Certificates that are not there are no reason not to say where.
    with suppress(errors.DockerException, OSError):
        said = str(_given(environ).get("base_url") or "")
    return clean(said or USUAL)


def client(seconds: float, environ: Mapping[str, str] = os.environ) -> APIClient:
    """Return a client of the engine that answers: DOCKER_HOST, the context in use, the socket.

    Where none does, the SDK's error or an `OSError` is raised: `reason` says why.
    """
    import docker  # noqa: PLC0415 - imported late: it brings requests, and takes a while

    given = _given(environ)
    _knock(str(given.get("base_url") or USUAL), seconds)
    return docker.APIClient(version="auto", timeout=seconds, **given)


def _given(environ: Mapping[str, str]) -> Mapping[str, object]:
    """Return where the engine is: what the environment says counts, then the user's context."""
    import docker  # noqa: PLC0415 - imported late: it brings requests, and takes a while

    given: dict[str, object] = docker.utils.kwargs_from_env(environment=environ)
    if not given.get("base_url") and not environ.get("DOCKER_HOST"):
        with suppress(docker.errors.DockerException, OSError, KeyError, AttributeError):
            chosen = docker.ContextAPI.get_current_context()
            if chosen is not None and chosen.Host:
                given |= {"base_url": chosen.Host, "tls": chosen.TLSConfig}
    return given


def _knock(url: str, seconds: float) -> None:
    """Raise `OSError` if nobody listens at a local socket.

    The SDK would say so in many words, and leave a socket of its own open.
    """
    scheme, _, path = url.removeprefix("http+").partition(":")
    if scheme != "unix":
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(seconds)
        knocking.connect(f"/{path.lstrip('/')}")


def reason(error: BaseException) -> str:
    """Return what the SDK or the connection complains of; nothing of any other error."""
    from docker import errors  # noqa: PLC0415 - imported late: it brings requests

    if why := lost(error):
        return why
    if not isinstance(error, errors.DockerException | OSError):
        return ""
    explanation = str(getattr(error, "explanation", None) or "")
    system = str(getattr(error, "strerror", None) or "")
    said = str(error).rpartition("Error while fetching server API version: ")[2]
    return clean(explanation or system or said)[:LONGEST] or type(error).__name__


def lost(error: BaseException) -> str:
    """Return why there is no connection, if that is why: what the system says, no library's words.

    The libraries that the SDK stands on let their own errors through where an answer breaks off.
    """
    from http.client import HTTPException  # noqa: PLC0415 - imported late: with the SDK

    import requests  # noqa: PLC0415 - the same
    import urllib3  # noqa: PLC0415 - the same

    inside = tuple(_inside(error))
    if any(isinstance(one, requests.Timeout | TimeoutError) for one in inside):
        return "it said nothing for too long"
    broken = requests.ConnectionError | requests.exceptions.ChunkedEncodingError | ConnectionError
    broken |= urllib3.exceptions.HTTPError | HTTPException
    if not any(isinstance(one, broken) for one in inside):
        return ""
    reasons = [one.strerror for one in inside if isinstance(one, OSError) and one.strerror]
    return reasons[-1] if reasons else "the connection broke off"


def _inside(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it was made of, the innermost last."""
    left, seen = [error], set()
    while left:
        one = left.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        parts = (one.__cause__, one.__context__, getattr(one, "reason", None), *one.args)
        left.extend(part for part in parts if isinstance(part, BaseException))
