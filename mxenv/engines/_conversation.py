"""What is said between mxenv and a container engine: connections, steps, and what went wrong."""

from __future__ import annotations

import os
import re
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv.errors import EngineError
from mxenv.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from docker import APIClient

SECONDS = 600.0
"""How long an engine may say nothing: a step may take long, and be silent."""

KEPT = 10
"""Lines of a failed step that are shown."""

LONGEST = 300
"""Signs of what an engine says that are shown."""

NAMED = 120
"""Signs of a step that are enough to find it in the Containerfile."""

STEP = re.compile(r"(?:\[[0-9]+/[0-9]+\] )?(?:Step|STEP) [0-9]+/[0-9]+ ?: (.*)")
"""How a step begins; podman counts its stages before it."""
OWN = re.compile(r" ?-{2,3}> |Removing intermediate container [0-9a-f]{12}$|COMMIT$")
"""How the engine's own words begin, and no program's."""
MADE = re.compile(r" ?-{2,3}> ([0-9a-f]{11,64})")
"""A step's image, as Docker's classic builder and podman name it."""
REUSED = re.compile(r" ?-{2,3}> Using cache")
ECHO = re.compile(r"""(?s)(?:The command '.*' (?=returned )|building at STEP ".*": )""")
"""The step once more, which an engine begins its complaint with."""

USUAL = "unix:///var/run/docker.sock"
"""Where an engine is, unless somebody says otherwise."""
HINT = "is a container engine running, and may you use it? DOCKER_HOST names another one"
ENDED = "does the engine still run? its own log says why it does not"
MORE = "`mxenv build -v` shows all that the steps say"


def connected(environ: Mapping[str, str] = os.environ) -> APIClient:
    """Return a client of the engine that answers: DOCKER_HOST, the context in use, the socket."""
    import docker  # noqa: PLC0415 - imported late: it brings requests, and takes a while

    given = _given(environ)
    try:
        return docker.APIClient(version="auto", timeout=SECONDS, **given)
    except (docker.errors.DockerException, OSError) as error:
        where = clean(str(given.get("base_url") or USUAL))
        raise EngineError(
            f"no container engine answers: {said(error)}", context=where, hint=HINT
        ) from None


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


def said(error: BaseException) -> str:
    """Return what the SDK or the connection complains of; nothing of any other error."""
    from docker import errors  # noqa: PLC0415 - imported late: it brings requests

    if isinstance(error, EngineError):
        return ""
    if reason := _lost(error):
        return reason
    if not isinstance(error, errors.DockerException | OSError):
        return ""
    explanation = str(getattr(error, "explanation", None) or "")
    text = explanation or str(error).rpartition("Error while fetching server API version: ")[2]
    return clean(text)[:LONGEST] or type(error).__name__


def _lost(error: BaseException) -> str:
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


@contextmanager
def heard(what: str, context: str) -> Iterator[None]:
    """Say ``what`` failed in the words of the engine, or of the connection to it."""
    try:
        yield
    except Exception as error:
        if reason := said(error):
            hint = ENDED if _lost(error) else ""
            raise EngineError(f"{what}: {reason}", context=context, hint=hint) from error
        raise


@dataclass(slots=True, kw_only=True)
class Conversation:
    """One build, as the engine tells of it."""

    api: APIClient
    told: Callable[[str], None] | None
    """Is told each step, and after a blank each line that something says in it."""
    place: str = "engine docker"
    """The step that it is at."""
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))
    _made: list[str] = field(default_factory=list)
    """Images of the steps that were run just now, and were not there before."""
    _reused: bool = False
    _begun: str = ""
    """A line whose end has not come yet: an engine hands on what is written, as it is written."""

    def image_of(self, answers: Iterable[Mapping[str, object]]) -> str:
        """Return the image's digest; raise `EngineError` with the last words of a failed step."""
        image = ""
        for answer in answers:
            if (problem := answer.get("error")) is not None:
                self._heard("\n")
                raise EngineError(self._last_words(str(problem)), context=self.place, hint=MORE)
            aux = answer.get("aux")
            image = str(aux.get("ID", image)) if isinstance(aux, dict) else image
            self._heard(str(answer.get("stream") or ""))
        if not image:
            raise EngineError("the engine names no image that it made", context=self.place)
        return str(self.api.inspect_image(image)["Id"])

    def _heard(self, text: str) -> None:
        *whole, self._begun = (self._begun + text).split("\n")
        for line in whole:
            # Of what a program writes over and over, its last state.
            self._line(clean(line.rstrip("\r").rpartition("\r")[2]))

    def _line(self, line: str) -> None:
        if match := STEP.match(line):
            step = " ".join(match[0].split())
            self.place = step if len(step) <= NAMED else f"{step[: NAMED - 1]}…"
            self._lines.clear()
            self._reused = False
            self._tell(self.place)
        elif REUSED.match(line):
            self._reused = True
        elif match := MADE.match(line):
            if not self._reused and not self.place.partition(": ")[2].startswith("FROM"):
                self._made.append(match[1])
        elif line.strip() and not OWN.match(line):
            self._lines.append(line[:LONGEST])
            self._tell(f" {line}")

    def _tell(self, text: str) -> None:
        if self.told is not None:
            self.told(text)

    def _last_words(self, problem: str) -> str:
        head = ECHO.sub("", clean(problem).strip())
        lines = [line.strip() for line in self._lines if line.strip() != head]
        # An error is one line.
        return f"{head}; its last words: {' | '.join(lines)}" if lines else head

    def undo(self) -> None:
        """Remove what the steps of this build have left, the newest first."""
        for image in reversed(self._made):
            with suppress(Exception):
                self.api.remove_image(image)
