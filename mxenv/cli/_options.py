"""Arguments and options that several commands have."""

from __future__ import annotations

import functools
import os
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, TypeVar

import click

from mxenv.errors import UsageError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mxenv.api.matrices import Sources
    from mxenv.matrix import Matrix

F = TypeVar("F", bound="Callable[..., object]")


class _Path(click.Path):
    """A path that is named; what is empty would be the folder that one is in."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        if not os.fspath(value):
            self.fail("no path is named", param, ctx)
        from pathlib import Path  # noqa: PLC0415 - imported late: most commands are told none

        return Path(os.fsdecode(super().convert(value, param, ctx)))


class _Size(click.ParamType):  # type: ignore[type-arg] # no such argument in all versions of click
    """A number of bytes, with a unit or without."""

    name = "size"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        from mxenv.api import caching  # noqa: PLC0415 - imported late: --help needs none of it

        try:
            return caching.size_of(str(value))
        except UsageError as error:
            self.fail(f"{error.message}; {error.hint}", param, ctx)


# Who reads a file says why it cannot be read, and ends with that status: it is no wrong option.
PATH = _Path(readable=False)
SIZE = _Size()

env = click.option(
    "--env", metavar="PREFIX", help="The Python environment to judge, as /opt/conda."
)


def keys(says: str) -> Callable[[F], F]:
    """Return the option that names public keys; ``says`` what they are for."""
    return click.option("--key", "keys", metavar="PUB", type=PATH, multiple=True, help=says)


waivers = click.option(
    "--waivers",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Findings that somebody answers for: image.toml, a lock, or a file of [[waivers]].",
)
index = click.option(
    "--index", metavar="URL", multiple=True, help="An index to ask, before those configured for uv."
)
find_links = click.option(
    "--find-links",
    metavar="DIR|URL",
    multiple=True,
    help="Where wheels lie; it comes before the indexes.",
)
offline = click.option(
    "--offline", is_flag=True, help="Ask no index; take wheels from --find-links only."
)
only_binary = click.option(
    "--only-binary", is_flag=True, help="Refuse what has no wheel, rather than build it."
)
cache_size = click.option(
    "--cache-size",
    metavar="SIZE",
    type=SIZE,
    envvar="MXENV_CACHE_SIZE",
    help="Keep no more layers than this for later, as 20G.",
)
wheelhouse = click.option(
    "--wheelhouse",
    metavar="DIR",
    type=PATH,
    help="Where the wheels lie; beside the lock unless given.",
)


MATRIX_PATH = "MXENV_MATRIX_PATH"
"""Names more files, with colons between them."""


@frozen
class Matrices:
    """Which files are laid over what is shipped, and whose they must be."""

    site: tuple[Path, ...] = ()
    keys: tuple[Path, ...] = ()

    @property
    def sources(self) -> Sources:
        """Return the same for those who read them."""
        from mxenv.api.matrices import Sources  # noqa: PLC0415 - imported late: --help needs none

        return Sources(site=self.site, keys=self.keys)

    def load(self) -> Matrix:
        """Return the matrix that they make."""
        from mxenv.api import matrices  # noqa: PLC0415 - imported late: --help needs none of it

        return matrices.load(self.sources)


signed = click.option(
    "--require-signed",
    "--matrix-key",
    "require_signed",
    metavar="KEY",
    type=PATH,
    multiple=True,
    help="Refuse a FILE that was not signed with this key: FILE.sig beside it.",
)


def matrices(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what is known to work, as `Matrices`.

    The user's own file comes first, then the variable, then what the command line names.
    """
    return _matrices(function, trusting=True)


def matrices_named(function: Callable[..., None]) -> Callable[..., None]:
    """Do the same for a gate, which takes no word from the user's own file."""
    return _matrices(function, trusting=False)


def _matrices(function: Callable[..., None], *, trusting: bool) -> Callable[..., None]:
    @click.option(
        "--matrix",
        metavar="FILE",
        type=PATH,
        multiple=True,
        help="More rows, for this site, or a whole matrix; may be given several times.",
    )
    @signed
    @functools.wraps(function)
    def call(
        *rest: object,
        matrix: tuple[Path, ...],
        require_signed: tuple[Path, ...],
        **others: object,
    ) -> None:
        from pathlib import Path  # noqa: PLC0415 - imported late: --help needs none

        from mxenv.cli import _configuration  # noqa: PLC0415 - the same

        own = _configuration.own() if trusting else _configuration.Configuration()
        path = os.environ.get(MATRIX_PATH, "").split(os.pathsep)
        named = (*(Path(part) for part in path if part), *matrix)
        both = Matrices(site=(*own.matrices, *named), keys=(*own.keys, *require_signed))
        function(*rest, matrix=both, **others)

    return call


def lock_argument(function: F) -> F:
    """Give a command its argument LOCK."""
    return click.argument("lock", metavar="LOCK", type=PATH)(function)


def now() -> datetime:
    """Return the time; the one place that asks the clock."""
    return datetime.now(UTC).replace(microsecond=0)


def today() -> date:
    """Return the day that waivers are held against."""
    return now().date()
