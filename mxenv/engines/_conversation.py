"""What is said between mxenv and a container engine: connections, steps, and what went wrong."""

from __future__ import annotations

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

STEP = re.compile(r"(?:Step|STEP) [0-9]+/[0-9]+ ?: (.*)")
ARROW = " --->"
"""How the engine's own words begin, and no program's."""
MADE = re.compile(r" ---> ([0-9a-f]{12,64})")
"""A step's image, as Docker's classic builder names it."""
REUSED = re.compile(r" ---> Using cache")
HINT = "is a container engine running, and may you use it? DOCKER_HOST names another one"


def connected() -> APIClient:
    """Return a client of the engine that answers: DOCKER_HOST, the context in use, the socket."""
    import docker  # noqa: PLC0415 - imported late: it brings requests, and takes a while

    try:
        return docker.APIClient(version="auto", timeout=SECONDS, **_given())
    except (docker.errors.DockerException, OSError) as error:
        raise EngineError(
            f"no container engine answers: {said(error)}", context="engine docker", hint=HINT
        ) from None


def _given() -> Mapping[str, object]:
    """Return where the engine is: what the environment says counts, then the user's context."""
    import os  # noqa: PLC0415 - imported late: with the SDK

    import docker  # noqa: PLC0415 - imported late: it brings requests, and takes a while

    given: dict[str, object] = docker.utils.kwargs_from_env()
    if not given.get("base_url") and not os.environ.get("DOCKER_HOST"):
        with suppress(docker.errors.DockerException, OSError, KeyError, AttributeError):
            chosen = docker.ContextAPI.get_current_context()
            if chosen is not None and chosen.Host:
                given |= {"base_url": chosen.Host, "tls": chosen.TLSConfig}
    return given


def said(error: BaseException) -> str:
    """Return what the SDK or the connection complains of; nothing of any other error."""
    import requests  # noqa: PLC0415 - imported late: the SDK brings it
    from docker import errors  # noqa: PLC0415 - the same

    if isinstance(error, EngineError) or not isinstance(
        error, errors.DockerException | requests.RequestException | OSError
    ):
        return ""
    explanation = str(getattr(error, "explanation", None) or "")
    text = explanation or str(error).rpartition("Error while fetching server API version: ")[2]
    return clean(text)[:LONGEST] or type(error).__name__


@contextmanager
def heard(what: str, context: str) -> Iterator[None]:
    """Say ``what`` failed in the words of the engine, or of the connection to it."""
    try:
        yield
    except Exception as error:
        if reason := said(error):
            raise EngineError(f"{what}: {reason}", context=context) from error
        raise


@dataclass(slots=True, kw_only=True)
class Conversation:
    """One build, as the engine tells of it."""

    api: APIClient
    told: Callable[[str], None] | None
    place: str = "engine docker"
    """The step that it is at."""
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))
    _made: list[str] = field(default_factory=list)
    """Images of the steps that were run just now, and were not there before."""
    _reused: bool = False

    def image_of(self, answers: Iterable[Mapping[str, object]]) -> str:
        """Return the image's digest; raise `EngineError` with the last words of a failed step."""
        image = ""
        for answer in answers:
            if (problem := answer.get("error")) is not None:
                raise EngineError(self._last_words(str(problem)), context=self.place)
            aux = answer.get("aux")
            image = str(aux.get("ID", image)) if isinstance(aux, dict) else image
            text = answer.get("stream") or answer.get("status") or ""
            for line in clean(str(text)).splitlines():
                self._line(line)
        if not image:
            raise EngineError("the engine names no image that it made", context=self.place)
        return str(self.api.inspect_image(image)["Id"])

    def _line(self, line: str) -> None:
        if match := STEP.match(line):
            self.place = match[0][:LONGEST]
            self._lines.clear()
            self._reused = False
            if self.told is not None:
                self.told(self.place)
        elif REUSED.match(line):
            self._reused = True
        elif match := MADE.match(line):
            if not self._reused and not self.place.partition(": ")[2].startswith("FROM"):
                self._made.append(match[1])
        elif line.strip() and not line.startswith(ARROW):
            self._lines.append(line)

    def _last_words(self, problem: str) -> str:
        lines = [line.strip() for line in self._lines if line.strip() not in problem]
        head = clean(problem).strip()
        # An error is one line.
        return f"{head}; its last words: {' | '.join(lines)}" if lines else head

    def undo(self) -> None:
        """Remove what the steps of this build have left, the newest first."""
        for image in reversed(self._made):
            with suppress(Exception):
                self.api.remove_image(image)
