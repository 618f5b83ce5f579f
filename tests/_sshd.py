"""A real sshd on loopback, with keys and a configuration of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "/usr/sbin/sshd"
PATIENCE = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sshd:
    """A server that runs, and the client's side of it."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def config(self) -> Path:
        """The client's configuration; it knows the host ``node``."""
        return self.folder / "ssh_config"

    def environment(self, config: Path | None = None) -> dict[str, str]:
        """Return the variables with which mxenv uses that configuration and no other."""
        return {**os.environ, "MXENV_SSH_CONFIG": str(config or self.config)}

    def variant(self, name: str, **changes: str) -> Path:
        """Return another configuration of the client, with some settings changed."""
        path = self.folder / name
        lines = [
            line for line in self.config.read_text().splitlines() if line.split()[0] not in changes
        ]
        path.write_text("\n".join([*lines, *(f"  {k} {v}" for k, v in changes.items())]) + "\n")
        return path


def missing() -> str:
    """Return why no server can run here, or nothing."""
    for program in (PROGRAM, "ssh", "ssh-keygen"):
        if not shutil.which(program):
            return f"no program {program}"
    return ""


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def serve(folder: Path, *extra: str) -> Iterator[Sshd]:
    """Run a server that knows one key, with ``extra`` lines in its configuration."""
    folder.chmod(0o700)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    for name in ("host", "user"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(keygen, check=True)
    port = free_port()
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    (folder / "authorized_keys").chmod(0o600)
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\n"
        f"PidFile {folder}/pid\nAuthorizedKeysFile {folder}/authorized_keys\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nPrintMotd no\nMaxStartups 50\n" + "\n".join(extra) + "\n"
    )
    key = (folder / "host.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {key}")
    (folder / "ssh_config").write_text(
        f"Host node\n  HostName 127.0.0.1\n  Port {port}\n"
        f"  User {pwd.getpwuid(os.geteuid()).pw_name}\n"
        f"  IdentityFile {folder}/user\n  IdentitiesOnly yes\n  IdentityAgent none\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile none\n"
        "  StrictHostKeyChecking yes\n"
    )
    log = folder / "log"
    argv = [PROGRAM, "-D", "-f", str(folder / "sshd_config"), "-E", str(log)]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    try:
        _wait(port, process, log)
        yield Sshd(folder=folder, port=port, process=process)
    finally:
        process.terminate()
        process.wait()


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    msg = f"sshd does not answer: {log.read_text() if log.exists() else ''}"
    raise RuntimeError(msg)
