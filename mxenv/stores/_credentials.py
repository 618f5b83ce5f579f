"""Who the user is to a registry, as ``docker login`` wrote it down."""

from __future__ import annotations

import base64
import binascii
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv.errors import InvalidFile, RegistryError
from mxenv.frozen import frozen
from mxenv.stores._reference import DOCKER_HUB

if TYPE_CHECKING:
    from collections.abc import Mapping

_HUB_KEY = "https://index.docker.io/v1/"
"""What Docker's configuration calls its own registry."""
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TOKEN_USER = "<token>"  # noqa: S105 - no password: the name that stands before an identity token
_SECONDS = 30.0
_NOT_THERE = "credentials not found"
"""What a helper says, and exits with 1, when it knows nobody of a registry."""


@frozen
class Credentials:
    """A name and a password, or an identity token."""

    user: str = ""
    password: str = ""
    identity: str = ""

    def __repr__(self) -> str:
        """Show the name only; the rest may stand in no log."""
        return f"Credentials(user={self.user!r})"

    @property
    def basic(self) -> str:
        """Return the header for Basic authentication."""
        pair = f"{self.user}:{self.password}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"


def credentials(host: str, environ: Mapping[str, str]) -> Credentials | None:
    """Return what the Docker configuration, or the helper it names, holds for ``host``."""
    path = _configuration(environ)
    if path is None:
        return None
    document = _object(path)
    helpers = document.get("credHelpers")
    helper = helpers.get(host) if isinstance(helpers, dict) else None
    names = _keys(host)
    if isinstance(helper, str) and helper:
        return _ask(helper, names[0], path, environ)
    auths = document.get("auths")
    for name in names:
        entry = auths.get(name) if isinstance(auths, dict) else None
        if isinstance(entry, dict) and (found := _entry(entry, f"{path}: auths.{name}")):
            return found
    store = document.get("credsStore")
    return _ask(store, names[0], path, environ) if isinstance(store, str) and store else None


def _configuration(environ: Mapping[str, str]) -> Path | None:
    folder = environ.get("DOCKER_CONFIG", "")
    if not folder and not environ.get("HOME"):
        return None
    path = Path(folder) if folder else Path(environ["HOME"]) / ".docker"
    path /= "config.json"
    return path if path.is_file() else None


def _object(path: Path) -> dict[str, object]:
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"is not JSON ({error})", context=str(path)) from error
    except OSError as error:
        raise InvalidFile(f"cannot be read: {error.strerror}", context=str(path)) from error
    if not isinstance(document, dict):
        raise InvalidFile("is not a JSON object", context=str(path))
    return document


def _keys(host: str) -> tuple[str, ...]:
    if host == DOCKER_HUB:
        return (_HUB_KEY, "index.docker.io", host)
    return (host, f"https://{host}", f"http://{host}", f"https://{host}/v1/", f"https://{host}/v2/")


def _entry(entry: Mapping[str, object], context: str) -> Credentials | None:
    identity = entry.get("identitytoken")
    if isinstance(identity, str) and identity:
        return Credentials(identity=identity)
    user, password, auth = (entry.get(name) for name in ("username", "password", "auth"))
    if isinstance(auth, str) and auth:
        try:
            name, colon, secret = base64.b64decode(auth, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            name = colon = secret = ""
        if not colon:
            raise InvalidFile("auth is not base64 of user:password", context=context)
        # Some versions of Docker end it with a zero byte.
        user, password = name, secret.strip("\0")
    if isinstance(user, str) and user and isinstance(password, str):
        return Credentials(user=user, password=password)
    return None


def _ask(helper: str, key: str, path: Path, environ: Mapping[str, str]) -> Credentials | None:
    """Run ``docker-credential-<helper> get``, as Docker does."""
    program = f"docker-credential-{helper}"
    if not _HELPER.fullmatch(helper):
        raise InvalidFile(f"{helper!r} is no name of a credential helper", context=str(path))
    try:
        # An argv list, no shell; the user's own configuration names the program.
        done = subprocess.run(  # noqa: S603 - the name is checked above
            [program, "get"],
            input=key.encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env=dict(environ),
        )
    except FileNotFoundError:
        raise RegistryError(
            f"{program} is not there", context=str(path), hint="install it, or `docker login` anew"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RegistryError(f"{program} failed: {error}", context=str(path)) from error
    said = done.stdout.decode(errors="replace").strip()
    if done.returncode:
        if _NOT_THERE in said.lower():
            return None
        last = (said or done.stderr.decode(errors="replace").strip()).splitlines()
        word = last[-1][:200] if last else f"exit status {done.returncode}"
        raise RegistryError(f"{program} failed: {word}", context=str(path))
    return _told(said, f"{path}: {program}")


def _told(said: str, context: str) -> Credentials:
    try:
        answer = json.loads(said)
        user, secret = answer["Username"], answer["Secret"]
    except (ValueError, KeyError, TypeError):
        raise RegistryError("answered with no credentials", context=context) from None
    if user == _TOKEN_USER:
        return Credentials(identity=str(secret))
    return Credentials(user=str(user), password=str(secret))
