"""A container of Docker or podman, running or not."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from mxenv import _container_engine
from mxenv._container_engine import HINT, reason
from mxenv.errors import HostUnreachable, UsageError
from mxenv.facts import Absent, Unreadable, View
from mxenv.frozen import frozen
from mxenv.question import Command, Env, Found, Space
from mxenv.transports import Transport
from mxenv.transports._silent import of_an_image
from mxenv.transports._tree import answer
from mxenv.transports._watched import Watch, until
from mxenv.transports.local import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from docker import APIClient

    from mxenv.probe import Host
    from mxenv.question import Answers, Given, Question
    from mxenv.transports import Terms
    from mxenv.transports._container_pipe import ContainerPipe
    from mxenv.transports._container_tree import ContainerTree

SHELL = ("/bin/sh",)
NO_SHELL = re.compile(r"no such file or directory|not found|permission denied", re.IGNORECASE)
"""What runtimes say of a program that is not in a container, among many other words."""
STATES = (
    ("Paused", True, "it is paused"),
    ("Restarting", True, "it is started again and again"),
    ("Running", False, "it does not run"),
)
"""What an engine says of a container in which nothing can be run, and what that means."""


@frozen
class _Container:
    """What the engine says of a container."""

    api: APIClient
    address: str
    id: str
    name: str
    why: str
    """Why nothing can be run in it; empty if that is to be tried."""
    variables: Mapping[str, str]


@frozen
class ArchiveHost:
    """A container without a shell: its files are handed out by the engine."""

    name: str
    tree: ContainerTree
    variables: Mapping[str, str]
    why: str
    """Why nothing can be run in it."""
    view: View = View.CONTAINER

    @property
    def deadline(self) -> float:
        """When all has to be over."""
        return self.tree.watch.end

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer from the files; nothing is run."""
        return answer(self.tree, questions, self._beside)

    def _beside(self, question: Question) -> Given | None:
        match question:
            case Env(name):
                value = self.variables.get(name)
                return Absent() if value is None else Found(value)
            case Command():
                return Unreadable(f"{self.why}: no command can be run")
            case Space():
                return Unreadable(f"{self.why}: nothing says how much is free")
            case _ if isinstance(of_an_image(question), Unreadable):
                return Unreadable(f"{self.why}: the engine hands out no files of the kernel")
            case _:
                return None


@contextmanager
def _open(rest: str, terms: Terms) -> Iterator[Host]:
    if not rest:
        raise UsageError("'docker:' names no container", hint="say docker:NAME")
    seconds = SECONDS if terms.seconds is None else terms.seconds
    watch = until(time.monotonic() + seconds, terms.stop)
    api = _engine(rest, seconds)
    with closing(api), ExitStack() as stack:
        container = _inspected(api, rest)
        host = None if container.why else _shell_in(container, terms, watch, stack)
        yield host or _files_of(container, watch)


def _engine(rest: str, seconds: float) -> APIClient:
    from docker import errors  # noqa: PLC0415 - imported late: it brings requests

    try:
        return _container_engine.client(seconds)
    except (errors.DockerException, OSError) as error:
        raise HostUnreachable(
            f"no container engine answers at {_container_engine.place()}: {reason(error)}",
            context=f"docker:{rest}",
            hint=HINT,
        ) from None


def _inspected(api: APIClient, rest: str) -> _Container:
    from docker import errors  # noqa: PLC0415 - imported late: the SDK is there by now

    try:
        state = api.inspect_container(rest)
    except errors.NotFound:
        raise HostUnreachable(
            "the engine has no such container",
            context=f"docker:{rest}",
            hint="`docker ps -a` lists what it has; an image is asked when it is saved: "
            "`docker save IMAGE --output FILE.tar`, then docker-archive:FILE.tar",
        ) from None
    except (errors.DockerException, OSError) as error:
        raise HostUnreachable(reason(error), context=f"docker:{rest}", hint=HINT) from None
    entries = (state.get("Config") or {}).get("Env") or ()
    signs = state.get("State") or {}
    return _Container(
        api=api,
        address=rest,
        id=state["Id"],
        name=str(state.get("Name") or rest).lstrip("/"),
        why=next((why for sign, set_, why in STATES if bool(signs.get(sign)) is set_), ""),
        variables={name: value for name, _, value in (str(e).partition("=") for e in entries)},
    )


def _shell_in(container: _Container, terms: Terms, watch: Watch, stack: ExitStack) -> Host | None:
    """Return a shell in the container that has answered; `None` if there is none in it."""
    from docker import errors  # noqa: PLC0415 - imported late: the SDK is there by now

    from mxenv.transports import _shell  # noqa: PLC0415 - imported late: many nodes need none
    from mxenv.transports._container_pipe import ContainerPipe  # noqa: PLC0415 - the same
    from mxenv.transports._shell_talk import Lost  # noqa: PLC0415 - the same

    pipe = None
    try:
        pipe = ContainerPipe(container.api, container.id, SHELL)
        talk = _shell.opened(
            pipe,
            terms,
            deadline=watch.end,
            name=container.name,
            view=View.CONTAINER,
            variables=container.variables,
        )
        return stack.enter_context(talk)
    except (errors.DockerException, Lost, OSError) as error:
        if _refused(pipe) if pipe else NO_SHELL.search(reason(error)):
            return None
        context = f"docker:{container.address}"
        raise HostUnreachable(reason(error), context=context, hint=HINT) from None


def _refused(pipe: ContainerPipe) -> bool:
    from docker import errors  # noqa: PLC0415 - imported late: the SDK is there by now

    try:
        return pipe.refused()
    except (errors.DockerException, OSError):
        return False  # the container is gone meanwhile, or the engine is


def _files_of(container: _Container, watch: Watch) -> ArchiveHost:
    from mxenv.transports._container_tree import ContainerTree  # noqa: PLC0415 - imported late: most have a shell

    return ArchiveHost(
        name=container.name,
        tree=ContainerTree(container.api, container.id, watch),
        variables=container.variables,
        why=container.why or "it has no shell",
    )


TRANSPORT = Transport(title="a container of Docker or podman", address="NAME", open=_open)
