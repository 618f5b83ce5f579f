"""The front door: finds commands by file name, and turns every way to end into a status."""

from __future__ import annotations

import codecs
import errno
import importlib
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mxenv import __version__, _plugins
from mxenv.cli import _configuration, _nagios, _status
from mxenv.cli._output import CONTEXT, quiet_stdout, tell, verbosity
from mxenv.errors import MxenvError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

ESCAPE = "mxenv.escape"
UTF_8 = "utf-8"
"""The encoding that has every name; whoever fails with it made the mistake elsewhere."""
SYSTEM_FAILED = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE}
"""The machine could not do it; everything else that a path can do wrong is the path's fault."""


CHAIN = ("probe", "record", "check", "diff", "lock", "fetch", "build", "verify", "gate")
"""The order in which the commands are used, and listed; others follow by name."""
EPILOG = "\b\nExit status:\n" + "\n".join(
    f"  {status:>3}  {meaning}" for status, meaning in _status.MEANING.items()
)


class Front(click.Group):
    """Commands found by file name and imported when used; errors as mxenv words them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the files in this folder, those of the chain first."""
        names = [name.replace("_", "-") for name in _plugins.names("cli")]
        return sorted(names, key=lambda n: CHAIN.index(n) if n in CHAIN else len(CHAIN))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command that the file ``cmd_name`` holds."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"mxenv.cli.{cmd_name.replace('-', '_')}")
        command = module.COMMAND
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that ``args`` begin with; name the nearest if there is none."""
        name = args[0]
        command = self.get_command(ctx, name)
        own = _configuration.own()
        if own.options and command is not None:
            shared = [param.name or "" for param in self.params]
            _configuration.commands(self.list_commands(ctx), shared, own)
            _configuration.validate(command, ctx, own)
        if command is None and not name.startswith("-"):
            import difflib  # noqa: PLC0415 - imported late: only for what is misspelt

            near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f"did you mean `mxenv {near[0]}`?" if near else "`mxenv --help` lists them"
            raise click.UsageError(f"there is no command {name!r}\n hint: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002, FBT001, FBT002 - click's signature
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> NoReturn:
        """Run, and exit with the status that the outcome has; no traceback reaches a user."""
        plug_in = False
        try:
            words = sys.argv[1:] if args is None else args
            plug_in = _nagios.asked(words, {})
            own = _configuration.own()
            plug_in = _nagios.asked(words, own.options)
            if own.options:
                extra.setdefault("default_map", own.options)
            status = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except BrokenPipeError:
            quiet_stdout()
            status = _status.NO_READER
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last one to catch any
            status = _failed(error, plug_in=plug_in)
        sys.exit(_delivered(status if isinstance(status, int) else 0))


@frozen
class _Failure:
    """Why a command came to nothing."""

    status: int
    message: str
    hint: str = ""


def _failed(error: BaseException, *, plug_in: bool) -> int:
    """Say why a command came to nothing, and return the status that it has."""
    failure = _failure(error)
    if plug_in:
        # It has nothing else to say, and nobody reads its stderr.
        return _nagios.unknown(failure.message)
    complain(failure.message, failure.hint)
    return failure.status


def _failure(error: BaseException) -> _Failure:
    match error:
        case MxenvError():
            return _Failure(status=error.exit_code, message=str(error), hint=error.hint)
        case click.ClickException():
            return _usage(error)
        case KeyboardInterrupt() | click.Abort():
            return _Failure(status=_status.INTERRUPTED, message="interrupted")
        case OSError():
            return _os_error(error)
        case UnicodeEncodeError() if UTF_8 != error.encoding == sys.getfilesystemencoding():
            return _no_name(error)
        case _:
            return _bug(error)


def complain(message: str, hint: str = "") -> None:
    """Say on stderr what is wrong, and what to do, each in one line that no file can steer."""
    from mxenv.reports._page import harmless  # noqa: PLC0415 - imported late: only when needed

    tell(f"error: {harmless(message)}")
    if hint:
        tell(f" hint: {harmless(hint)}")


def _usage(error: click.ClickException) -> _Failure:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        # Its message would be the whole help.
        error = click.UsageError("a command is missing", error.ctx)
    message, _, hint = error.format_message().partition("\n hint: ")
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "mxenv"
    message = message[:1].lower() + message[1:]
    said = " ".join(message.split()).removesuffix(".")
    return _Failure(status=_status.USAGE, message=said, hint=hint or f"`{path} --help` says more")


def _os_error(error: OSError) -> _Failure:
    if os.environ.get("MXENV_DEBUG"):
        raise error
    said = error.strerror or str(error) or type(error).__name__
    place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    if error.errno in SYSTEM_FAILED or not place:
        full = place and error.errno in {errno.ENOSPC, errno.EDQUOT}
        return _Failure(
            status=_status.FAILED,
            message=f"{place}the system refused: {said}",
            hint="free some space there, or name another place" if full else "",
        )
    message = f"{place}{said[:1].lower()}{said[1:]}"
    hint = "check the path and its permissions"
    return _Failure(status=_status.INVALID, message=message, hint=hint)


def _no_name(error: UnicodeEncodeError) -> _Failure:
    """Return why no file can have the name that a file gave to it."""
    return _Failure(
        status=_status.INVALID,
        message=f"{error.object}: the locale has no such name for a file ({error.encoding})",
        hint="set LC_ALL=C.UTF-8, or a locale of yours that ends in .UTF-8",
    )


def _delivered(status: int) -> int:
    """Return ``status``, or that of a failure if stdout cannot take what waits in its buffer."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        quiet_stdout()
        return _status.NO_READER
    except OSError as error:
        quiet_stdout()
        # If writing failed before, it has been said.
        return status if status == _status.FAILED else _failed(error, plug_in=False)
    return status


def _bug(error: BaseException) -> _Failure:
    if os.environ.get("MXENV_DEBUG"):
        raise error
    said = " ".join(str(error).split())
    return _Failure(
        status=_status.BUG,
        message=f"a bug in mxenv: {type(error).__name__}: {said}",
        hint="run it again with MXENV_DEBUG=1 for the traceback, and report it with that",
    )


def _stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - signal's signature
    # Leaves through every `finally`, so that nothing half written stays behind.
    sys.exit(128 + number)


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Spell out what the locale has no character for, in a way that JSON knows as well."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    units = (text[i : i + 2].hex() for i in range(0, len(text), 2))
    return "".join(f"\\u{unit}" for unit in units), error.end


def _open_closed() -> None:
    """Let a stream that the caller closed lead nowhere: files would get its number else."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def run() -> NoReturn:
    """Run `mxenv` as a process of its own: its streams and signals are set up first."""
    codecs.register_error(ESCAPE, _escape)
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors=ESCAPE)  # type: ignore[union-attr] # real streams
    for number in (signal.SIGTERM, signal.SIGHUP):
        # nohup(1) has it ignored, and means it.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        FRONT.main(prog_name="mxenv")
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        _leave(end.code)


def _leave(status: int) -> NoReturn:
    """End at once: to take apart all that was made is a tenth of a probe, and helps nobody.

    Whatever has to be put away was, by those who made it; nothing waits for the end to do so.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


@click.group(
    "mxenv", cls=Front, context_settings=CONTEXT, invoke_without_command=True, epilog=EPILOG
)
@click.version_option(__version__, prog_name="mxenv", message="%(prog)s %(version)s")
@verbosity
def FRONT(ctx: click.Context) -> None:  # noqa: N802 - a constant that a decorator makes
    """Say which versions work together on this machine, lock them, build and verify them.

    An ADDRESS is SCHEME:REST, as local:, ssh:HOST, docker:NAME, report:FILE, recording:DIR,
    root:DIR, oci:DIR, docker-archive:FILE, image:REFERENCE.
    Every option can be given as a variable: MXENV_CHECK_ENV=/opt/conda is `check --env`.
    """
    if ctx.invoked_subcommand is None:
        raise click.UsageError("a command is missing\n hint: `mxenv --help` lists them", ctx)
