"""How a file gets into a folder: by name and SHA-256, whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

import requests
import urllib3

from mxenv._files import unwritable
from mxenv._hashing import sha256_of
from mxenv.errors import IndexFailed, WheelError
from mxenv.frozen import frozen
from mxenv.stores._words import retry_after

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping
    from io import BufferedRandom

ATTEMPTS = 4
"""In a row that bring nothing new; one that brought something is no failure."""
PATIENCE = 120.0
"""Seconds that a server may ask us to wait; who asks for more is taken at the word."""
PASSING = frozenset({408, 429, 500, 502, 503, 504})
"""HTTP statuses that the next attempt may well not meet."""
AGAIN = "run `mxenv fetch` again: it goes on where this ended; or name a mirror with --index"
NETWORK = "check the network, or name another index with --index"
CERTIFICATE = (
    "if you trust whoever vouches for that server, as a proxy of your site, name the file of its "
    "certificate in SSL_CERT_FILE"
)
OK, PARTIAL, NOT_SATISFIABLE = 200, 206, 416
_CHUNK = 1 << 16
_SECONDS = (10.0, 60.0)
"""How long to wait for a connection, and for the next bytes."""

Credentials = dict[str, tuple[str, str]]
"""User name and password by host (and port); they go to no other host."""


@frozen
class Wanted:
    """A file, where it is, and what it has to be."""

    name: str
    sha256: str
    location: str
    """A URL, or an absolute path."""
    size: int = 0
    """Bytes; 0 if nobody knows."""


@frozen
class Line:
    """What downloads share."""

    session: requests.Session
    logins: Credentials
    stop: threading.Event
    """Set when nothing is wanted any more."""
    progress: Callable[[int], None]
    """Told how many bytes came."""
    answers: set[requests.Response] = field(default_factory=set)
    """Those that are being read."""
    attempts: int = ATTEMPTS
    """How often a page is asked for before its place counts as one that does not answer."""
    pause: float = 0.5
    """Seconds before the second attempt; each one after it waits twice as long."""


def put(wanted: Wanted, folder: Path, line: Line) -> None:
    """Make ``folder`` hold ``wanted``, replacing what else has its name."""
    # Named by the hash: who was killed goes on from here, and two who want the same file at once
    # do not write it twice.
    part = folder / f".{wanted.sha256[:32]}.part"
    try:
        with _locked(part) as file:
            _put(wanted, folder / wanted.name, part, file, line)
    except requests.RequestException:
        raise
    except OSError as error:
        hint = "name a folder that you may write to: --wheelhouse"
        raise unwritable(folder / wanted.name, error, hint=hint) from error


@contextmanager
def _locked(part: Path) -> Iterator[BufferedRandom]:
    while True:
        with part.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever had the lock before may have moved the file away meanwhile.
            if _is_at(part, file):
                yield file
                return


def _is_at(path: Path, file: BufferedRandom) -> bool:
    try:
        return path.stat().st_ino == os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False


def _put(wanted: Wanted, target: Path, part: Path, file: BufferedRandom, line: Line) -> None:
    keep = False
    try:
        if not (target.is_file() and sha256_of(target) == wanted.sha256):
            if urlsplit(wanted.location).scheme in {"http", "https"}:
                if failure := _download(wanted, file, line):
                    # What came is what the next run does not have to load again.
                    keep = file.seek(0, os.SEEK_END) > 0
                    raise IndexFailed(
                        f"{wanted.name}: {failure}",
                        context=host_of(wanted.location),
                        hint=advice(failure, AGAIN),
                    )
            else:
                _copy(wanted, file, line)
            file.flush()
            os.fsync(file.fileno())
            part.replace(target)
    finally:
        # After any other error nothing is left behind, nor is it by whoever came second.
        if not keep:
            with suppress(OSError):
                part.unlink()


def _copy(wanted: Wanted, file: BufferedRandom, line: Line) -> None:
    file.truncate(0)
    try:
        content = Path(wanted.location).open("rb")  # noqa: SIM115 - closed just below
    except OSError as error:
        reason = error.strerror or str(error)
        raise IndexFailed(f"cannot be read: {reason}", context=wanted.location) from None
    with content:
        while chunk := content.read(_CHUNK):
            file.write(chunk)
            line.progress(len(chunk))
    _check(wanted, file)


def _download(wanted: Wanted, file: BufferedRandom, line: Line) -> str:
    """Fetch a file over as many connections as it takes; return why it is not all there."""
    have = file.seek(0, os.SEEK_END)
    attempt, failure, asked, anew = 0, "", None, False
    while attempt < ATTEMPTS:
        if attempt and (line.stop.is_set() or line.stop.wait(pause(line, attempt, asked))):
            return "stopped"
        left_over = have
        try:
            failure, asked = _transfer(wanted, file, line)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            failure, asked = reason(error), None
        if not failure and left_over and not anew and not _is(wanted, file):
            # What was there already was no beginning of this file, or no end of it came. Once: a
            # server that always breaks off and goes on elsewhere would never be done with.
            file.truncate(0)
            failure, anew = "what was left over did not fit", True
        elif not failure:
            _check(wanted, file)
            return ""
        if line.stop.is_set() or (asked or 0) > PATIENCE:
            break
        came, have = file.seek(0, os.SEEK_END) - have, file.seek(0, os.SEEK_END)
        attempt = 1 if came >= _CHUNK else attempt + 1
    return failure


def pause(line: Line, attempt: int, asked: float | None) -> float:
    """Return how many seconds to wait before the next attempt; ``asked`` is the server's wish."""
    return line.pause * 2 ** (attempt - 1) if asked is None else min(asked, PATIENCE)


def _transfer(wanted: Wanted, file: BufferedRandom, line: Line) -> tuple[str, float | None]:
    """Fetch what is missing of a file; return why it is not all there, and how long to wait."""
    have = file.seek(0, os.SEEK_END)
    headers = {"Range": f"bytes={have}-"} if have else {}
    with asked(wanted.location, line, headers) as answer:
        if answer.status_code == NOT_SATISFIABLE or (have and answer.status_code == OK):
            file.truncate(0)
        if answer.status_code == NOT_SATISFIABLE:
            return status(answer), None
        if answer.status_code in PASSING:
            return status(answer), retry_after(answer.headers.get("Retry-After", ""))
        if answer.status_code not in {OK, PARTIAL}:
            said = f"{wanted.name}: {status(answer)}"
            raise IndexFailed(said, context=host_of(wanted.location))
        size = file.seek(0, os.SEEK_END)
        for chunk in answer.iter_content(_CHUNK):
            if line.stop.is_set():
                return "stopped", None
            file.write(chunk)
            line.progress(len(chunk))
            size += len(chunk)
            if wanted.size and size > wanted.size:
                # It cannot be the file; nobody knows whether it would ever end.
                break
    return "", None


@contextmanager
def asked(url: str, line: Line, headers: Mapping[str, str]) -> Iterator[requests.Response]:
    """Ask for ``url``, with the login of its host; give the answer, to be read as a stream."""
    plain, login = _without_login(url, line.logins)
    with line.session.get(
        plain,
        headers={"Accept-Encoding": "identity", **headers},
        auth=login,
        stream=True,
        timeout=_SECONDS,
    ) as answer:
        line.answers.add(answer)
        try:
            if line.stop.is_set():
                # Its head came while the others were told to stop.
                _stop(answer)
            yield answer
        finally:
            line.answers.discard(answer)


def halt(line: Line) -> None:
    """Let all downloads end soon, also those that wait for a server that says nothing."""
    line.stop.set()
    for answer in tuple(line.answers):
        _stop(answer)


def _stop(answer: requests.Response) -> None:
    """Let whoever reads ``answer`` come to its end."""
    # With older libraries it ends when its time is over.
    with suppress(AttributeError, OSError, ValueError, RuntimeError):
        answer.raw.shutdown()


def status(answer: requests.Response) -> str:
    """Return the status of an answer in words, and how long the server asks to wait."""
    wish = answer.headers.get("Retry-After", "")
    more = f" (Retry-After: {wish[:40]})" if answer.status_code in PASSING and wish else ""
    return f"HTTP {answer.status_code} {answer.reason}{more}"


def advice(failure: str, usual: str = NETWORK) -> str:
    """Return what to do about ``failure``; who does not trust a server may ask it for ever."""
    return CERTIFICATE if "certificate" in failure else usual


def _digest(file: BufferedRandom) -> str:
    file.flush()
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def _is(wanted: Wanted, file: BufferedRandom) -> bool:
    return _digest(file) == wanted.sha256


def _check(wanted: Wanted, file: BufferedRandom) -> None:
    if (found := _digest(file)) != wanted.sha256:
        raise WheelError(
            f"what came has the sha256 {found}, not {wanted.sha256}",
            context=wanted.name,
            hint="find out who changed the file; `mxenv lock` takes the one that is there now",
        )


def _without_login(
    url: str, logins: Mapping[str, tuple[str, str]]
) -> tuple[str, tuple[str, str] | None]:
    """Take the login out of ``url``; one that the index was given goes to the same host only."""
    parts = urlsplit(url)
    place = host_of(url)
    if parts.username:
        login = (unquote(parts.username), unquote(parts.password or ""))
        return urlunsplit(parts._replace(netloc=place)), login
    return url, logins.get(place)


def host_of(url: str) -> str:
    """Return the host of ``url``, and its port: no login."""
    return urlsplit(url).netloc.rpartition("@")[-1]


def reason(error: BaseException) -> str:
    """Return the innermost reason of a failed request; its outer ones repeat the URL."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return str(error) or type(error).__name__
