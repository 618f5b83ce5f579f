"""What the user's own file says: a site's matrices, whose they are, and defaults of options.

::

    matrices = ["site.toml"]         # beside this file, or with a whole path
    keys = ["site.pub.pem"]          # each of them must be signed with one of these

    [options]
    format = "json"                  # of every command that has it
    [options.check]
    env = "/opt/conda"
"""

from __future__ import annotations

import os
from dataclasses import field
from typing import TYPE_CHECKING

import click

from mxenv.errors import ConfigurationError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mxenv.table import Table

VARIABLE = "MXENV_CONFIG"
"""Names another file than the usual one; empty, none at all."""
LARGEST = 1 << 20
GATE = "gate"
"""The command that trusts nothing but its own command line."""


@frozen
class Configuration:
    """What a user wants without saying it each time."""

    file: str = ""
    """Empty if there is none."""
    matrices: tuple[Path, ...] = ()
    keys: tuple[Path, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    """Defaults by the names of commands and options, as click has them."""


def place(environ: Mapping[str, str]) -> str:
    """Return where the file lies, whether or not it is there; empty if it can lie nowhere."""
    if VARIABLE in environ:
        return environ[VARIABLE]
    root = environ.get("XDG_CONFIG_HOME", "")
    if not root.startswith("/"):
        # The specification says so: a relative one means nothing.
        home = environ.get("HOME", "")
        if not home.startswith("/"):
            return ""
        root = f"{home}/.config"
    return f"{root}/mxenv/config.toml"


def own() -> Configuration:
    """Return the configuration of whoever runs this process."""
    return read(dict(os.environ))


def read(environ: Mapping[str, str]) -> Configuration:
    """Return the configuration that ``environ`` leads to; none is fine unless it was named."""
    where = place(environ)
    if not where or (VARIABLE not in environ and not _there(where)):
        return Configuration()
    from pathlib import Path  # noqa: PLC0415 - imported late: most users have no such file

    from mxenv import _files  # noqa: PLC0415 - the same

    file = Path(where)
    try:
        content = _files.read(file, limit=LARGEST).decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"not UTF-8 (byte {error.start})", context=str(file)) from None
    except (OSError, ValueError) as error:
        hint = f"{VARIABLE} names it" if VARIABLE in environ else ""
        said = f"cannot be read: {_files.why(error)}"
        raise ConfigurationError(said, context=str(file), hint=hint) from None
    return parse(content, file)


def _there(file: str) -> bool:
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # what it says will be why it cannot be read
    return True


def parse(text: str, file: Path) -> Configuration:
    """Return what the file says, or say what in it is wrong."""
    from mxenv import table  # noqa: PLC0415 - imported late: see above

    root = table.document(text, context=str(file), error=ConfigurationError)
    root.only("matrices", "keys", "options")
    options = root.table("options")
    if GATE in options.values:
        hint = "give them on its command line, where whoever runs it sees them"
        options.fail(GATE, "a gate takes none of its options from here", hint=hint)
    return Configuration(
        file=str(file),
        matrices=_paths(root, "matrices", file),
        keys=_paths(root, "keys", file),
        options=_named(options),
    )


def _paths(root: Table, name: str, file: Path) -> tuple[Path, ...]:
    from pathlib import Path  # noqa: PLC0415 - imported late: see above

    return tuple(file.parent / Path(text).expanduser() for text in root.texts(name))


def _named(options: Table) -> Mapping[str, object]:
    """Return the options as click names them; the names of commands stay as they are."""
    named: dict[str, object] = {}
    for name, value in options.values.items():
        if isinstance(value, dict):
            named[name] = _named(options.table(name))
        else:
            named[name.replace("-", "_")] = value
    return named


def validate(command: click.Command, ctx: click.Context, own: Configuration) -> None:
    """Refuse what the file says of ``command`` and cannot be, before anything is done."""
    section = own.options.get(command.name or "", {})
    place = f"{own.file}: options.{command.name}"
    if not isinstance(section, dict):
        raise ConfigurationError("no table", context=place)
    _validate(command, ctx, section, place)


def commands(known: Iterable[str], options: Iterable[str], own: Configuration) -> None:
    """Refuse sections for what is no command, and options that no command shares."""
    for name, value in own.options.items():
        allowed = list(known) if isinstance(value, dict) else list(options)
        if name not in allowed:
            what = "command" if isinstance(value, dict) else "option of all commands"
            _unknown(name, what, allowed, f"{own.file}: options.{name}")


def _validate(
    command: click.Command, ctx: click.Context, section: Mapping[str, object], place: str
) -> None:
    params = {p.name: p for p in command.params if isinstance(p, click.Option) and p.name}
    groups = command.list_commands(ctx) if isinstance(command, click.Group) else []
    for name, value in section.items():
        where = f"{place}.{name}"
        inner = command.get_command(ctx, name) if isinstance(command, click.Group) else None
        if isinstance(value, dict) and inner is not None:
            _validate(inner, ctx, value, where)
        elif name not in params:
            _unknown(name, "option", [*params, *groups], where)
        else:
            _check(params[name], ctx, value, where)


def _check(param: click.Option, ctx: click.Context, value: object, where: str) -> None:
    if isinstance(value, dict):
        raise ConfigurationError("a table, and this is an option", context=where)
    if param.multiple and not isinstance(value, list):
        raise ConfigurationError("no array, and this may be given several times", context=where)
    if param.is_flag and not isinstance(value, bool):
        raise ConfigurationError("neither true nor false", context=where)
    try:
        param.type_cast_value(ctx, value)
    except (click.BadParameter, TypeError, ValueError) as error:
        said = error.format_message() if isinstance(error, click.BadParameter) else str(error)
        said = said.partition(": ")[2] or said
        raise ConfigurationError(said.rstrip("."), context=where) from None


def _unknown(name: str, what: str, known: Iterable[str], where: str) -> None:
    words = [word.replace("_", "-") if what != "command" else word for word in known]
    import difflib  # noqa: PLC0415 - imported late: only for what is misspelt

    near = difflib.get_close_matches(name.replace("_", "-"), words, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(words))}"
    raise ConfigurationError(f"no {what}", context=where, hint=hint)
