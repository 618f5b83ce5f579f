"""The place where a wheel is built: an environment of its own that knows nothing of this one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mxenv.errors import EngineError
from mxenv.redaction import clean
from mxenv.resolvers import _run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build import ProjectBuilder

    from mxenv.resolvers import Indexes, Order

T = TypeVar("T")
KEPT = ("PATH", "CC", "CXX", "LD_LIBRARY_PATH")
"""Of the environment: where the tools are."""
UMASK = 0o022
HINT = "build the wheel where its tools are (`pip wheel NAME`), and add its folder: --find-links"
_LAST = 3
"""Lines of a failed build that are repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """An environment that build requirements are installed into."""

    python: Path
    room: Path
    """A folder that is thrown away afterwards."""
    label: str
    """What is built, for people."""
    epoch: int
    indexes: Indexes

    def run(
        self, command: Sequence[str], cwd: str | None = None, more: Mapping[str, str] | None = None
    ) -> str:
        """Run a build backend; return what it printed, or raise its last words."""
        # An argv list; a new session, so that compilers end with the backend.
        with subprocess.Popen(  # noqa: S603 - see above
            list(command),
            cwd=cwd,
            env={**self._environment(cwd), **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            umask=UMASK,
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(timeout=self.indexes.seconds)
            except BaseException as error:
                # Ctrl-C as well: it does not reach another session.
                os.killpg(process.pid, signal.SIGKILL)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                limit = f"did not come to an end in {self.indexes.seconds:.0f} seconds"
                raise EngineError(f"building {self.label} {limit}", hint=HINT) from None
        if process.returncode:
            lines = [line.strip() for line in clean(said).splitlines() if line.strip()]
            last = "; ".join(lines[-_LAST:]) or f"exit status {process.returncode}"
            raise EngineError(f"{self.label} cannot be built here: {last}", hint=HINT)
        return said

    def required(self, source: Path) -> set[str]:
        """Return what ``source`` says that building it takes."""
        return self._asked(source, lambda project: set(project.build_system_requires))

    def required_more(self, source: Path) -> set[str]:
        """Return what its backend, now that it is there, wants as well."""
        return self._asked(source, lambda project: set(project.get_requires_for_build("wheel")))

    def build(self, source: Path, out: Path) -> Path:
        """Return the wheel of ``source``."""
        return Path(self._asked(source, lambda project: str(project.build("wheel", str(out)))))

    def version(self) -> str:
        """Return the whole version of the Python that builds."""
        code = "import platform; print(platform.python_version())"
        return self.run([str(self.python), "-I", "-c", code]).strip()

    def _asked(self, source: Path, ask: Callable[[ProjectBuilder], T]) -> T:
        import build  # noqa: PLC0415 - imported late: few packages have no wheel

        try:
            # What a backend deprecates is for those who publish the source to read.
            with warnings.catch_warnings(action="ignore"):
                return ask(build.ProjectBuilder(source, str(self.python), self._quietly))
        except build.BuildException as error:
            said = str(error)
        except build.BuildBackendException as error:
            if isinstance(error.exception, EngineError):
                raise error.exception from None
            said = str(error)
        raise EngineError(f"{self.label} cannot be built here: {clean(said)}", hint=HINT) from None

    def _quietly(
        self,
        cmd: Sequence[str],
        cwd: str | None = None,
        extra_environ: Mapping[str, str] | None = None,
    ) -> None:
        self.run(cmd, cwd, extra_environ)

    def _environment(self, source: str | None) -> dict[str, str]:
        """Return all that a build knows: no login of this machine, and nothing that changes."""
        # Debugging information names the folder of the source, which is another one every time.
        flags = f"-ffile-prefix-map={source}=." if source else ""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return kept | {
            "HOME": str(self.room),
            "TMPDIR": str(self.room),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SOURCE_DATE_EPOCH": str(self.epoch),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "CFLAGS": flags,
            "CXXFLAGS": flags,
        }


def made(room: Path, order: Order) -> Tools:
    """Return an empty environment, with a Python of the series that is wanted if there is one."""
    label, indexes = f"{order.name} {order.version}", order.indexes
    found = _run.run(["python", "find", "--system", order.python], indexes)
    chosen = found.stdout.strip() if not found.returncode else sys.executable
    environment = room / "environment"
    done = _run.run(["venv", "--python", chosen, "--no-project", str(environment)], indexes)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["uv said nothing"])[-1]
        raise EngineError(f"no environment to build {label} in can be made: {last}")
    python = environment / "bin" / "python"
    return Tools(python=python, room=room, label=label, epoch=order.epoch, indexes=indexes)


def builder() -> str:
    """Return the name and version of what calls the build backends."""
    return f"build {version('build')}"
