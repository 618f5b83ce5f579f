"""A node that the OpenSSH client reaches, by one connection and with nothing installed there."""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from mxenv.errors import HostUnreachable, UsageError
from mxenv.frozen import frozen
from mxenv.redaction import clean
from mxenv.transports import Transport
from mxenv.transports.local import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.probe import Host
    from mxenv.transports import Terms

CONFIG = "MXENV_SSH_CONFIG"
"""A variable that names another file than ``~/.ssh/config``; nothing else is read from it."""
ADDRESS = re.compile(
    r"(?:(?P<user>[\w.+@\\-]+)@)?(?P<host>\[[\w.:%-]+\]|[\w.%-]+)(?::(?P<port>[0-9]{1,5}))?"
)
"""No sign that a shell would take for its own: ssh may put a name into a ``ProxyCommand``."""
SHELL = "exec /bin/sh"
"""Understood by every login shell, csh and fish as well; the rest goes to a POSIX shell."""
SIGNS = (
    ("host key verification failed", "connect once with ssh to see its key and to accept it"),
    ("identification has changed", "its key is another one than in known_hosts: find out why"),
    ("permission denied", "ssh must get in without asking: add a key to the agent, or to the node"),
    ("too many authentication failures", "name the key with IdentityFile and IdentitiesOnly"),
    ("could not resolve hostname", "is the name right? ssh looks for it in its configuration too"),
    ("bad configuration option", "mend the configuration of ssh"),
    ("connection refused", "is an ssh server running there, at this port?"),
    ("no answer within", "is it overloaded, or does its login wait for somebody? see --timeout"),
    ("timed out", "is it switched on, and does a firewall let ssh through? or raise --timeout"),
    ("no route to host", "is it switched on, and in this network?"),
)
LONGEST = 300
"""Signs of what somebody says that are shown."""
OTHERWISE = "try it with ssh: mxenv uses its configuration, keys and agent, and never asks"


@frozen(kw_only=False)
class Address:
    """Where ``[user@]host[:port]`` leads; an IPv6 address stands in brackets before a port."""

    host: str
    user: str = ""
    port: str = ""


def parse(rest: str) -> Address:
    """Return what ``rest`` names; what ssh could take for an option is refused."""
    match = ADDRESS.fullmatch(rest.removeprefix("//").rstrip("/"))
    if match is None:
        colons = rest.count(":") > 1 and "[" not in rest
        hint = "an IPv6 address stands in brackets: ssh:[::1]" if colons else "say ssh:user@host"
        raise UsageError("not a node that ssh can reach", context=f"ssh:{rest}", hint=hint)
    address = Address(match["host"].strip("[]"), match["user"] or "", match["port"] or "")
    for part in (address.host, address.user):
        if part.startswith("-"):
            raise UsageError(f"{part!r} would be an option of ssh", context=f"ssh:{rest}")
    return address


def command(address: Address, seconds: float, environment: Mapping[str, str]) -> list[str]:
    """Return the argv of ssh: it takes the user's configuration, and never asks anybody."""
    config = environment.get(CONFIG, "")
    return [
        "ssh",
        *(("-F", config) if config else ()),
        "-T",  # no terminal
        "-x",  # and nothing forwarded
        "-a",
        *("-o", "BatchMode=yes"),
        *("-o", f"ConnectTimeout={max(1, int(seconds) - 1)}"),
        *("-o", "ClearAllForwardings=yes"),
        *("-o", "RemoteCommand=none"),
        *("-o", "PermitLocalCommand=no"),
        *(("-p", address.port) if address.port else ()),
        *(("-l", address.user) if address.user else ()),
        "--",
        address.host,
        SHELL,
    ]


@contextmanager
def _open(rest: str, terms: Terms) -> Iterator[Host]:
    # Imported late: most nodes are not asked this way.
    from mxenv.transports._shell_pipe import ProcessPipe  # noqa: PLC0415 - see above

    began = time.monotonic()
    address = parse(rest)
    seconds = SECONDS if terms.seconds is None else terms.seconds
    try:
        pipe = ProcessPipe(command(address, seconds, os.environ))
    except OSError as error:
        raise HostUnreachable(
            f"the program ssh cannot be started: {(error.strerror or str(error)).lower()}",
            context=f"ssh:{rest}",
            hint="install the OpenSSH client (Debian: openssh-client)",
        ) from None
    # Only now, since ssh takes its time.
    from mxenv.transports import _shell  # noqa: PLC0415 - see above
    from mxenv.transports._shell_talk import Lost  # noqa: PLC0415 - see above

    try:
        with _shell.opened(pipe, terms, deadline=began + seconds, name="") as host:
            yield host
    except Lost as error:
        _unreachable(rest, clean(str(error))[:LONGEST])


def _unreachable(rest: str, said: str) -> NoReturn:
    low = said.lower()
    hint = next((hint for sign, hint in SIGNS if sign in low), OTHERWISE)
    raise HostUnreachable(said, context=f"ssh:{rest}", hint=hint) from None


TRANSPORT = Transport(title="a node that ssh reaches", address="[USER@]HOST[:PORT]", open=_open)
