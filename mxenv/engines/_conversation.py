"""What is said between mxenv and a container engine: connections, steps, and what went wrong."""

from __future__ import annotations

import os
import re
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv import _container_engine
from mxenv._container_engine import LONGEST
from mxenv.errors import EngineError
from mxenv.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from docker import APIClient

SECONDS = 600.0
"""How long an engine may say nothing: a step may take long, and be silent."""

KEPT = 10
"""Lines of a failed step that are shown."""

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

ENDED = "does the engine still run? its own log says why it does not"
MORE = "`mxenv build -v` shows all that the steps say"


def connected(environ: Mapping[str, str] = os.environ) -> APIClient:
    """Return a client of the engine that answers."""
    from docker import errors  # noqa: PLC0415 - imported late: it brings requests

    try:
        return _container_engine.client(SECONDS, environ)
    except (errors.DockerException, OSError) as error:
        raise EngineError(
            f"no container engine answers: {_container_engine.reason(error)}",
            context=_container_engine.place(environ),
            hint=_container_engine.HINT,
        ) from None


@contextmanager
def heard(what: str, context: str) -> Iterator[None]:
    """Say ``what`` failed in the words of the engine, or of the connection to it."""
    try:
        yield
    except Exception as error:
        reason = "" if isinstance(error, EngineError) else _container_engine.reason(error)
        if not reason:
            raise
        hint = ENDED if _container_engine.lost(error) else ""
        raise EngineError(f"{what}: {reason}", context=context, hint=hint) from error


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
