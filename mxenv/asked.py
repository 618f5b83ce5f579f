"""What the files of a project ask for, each statement with the line that says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from mxenv.verdict import Place


@frozen
class Asked:
    """One distribution that is asked for, or limited."""

    name: str
    """Normalised (PEP 503); empty if what is asked for does not tell."""
    specifier: str = ""
    """PEP 440's; empty: any version."""
    marker: str = ""
    """PEP 508's, with what an extra or a group adds."""
    url: str = ""
    """Where it is taken from, if that is said."""
    text: str
    """As it is written."""
    place: Place
    base: str = ""
    """The image that it is installed into, as a Containerfile names it; empty: not said."""
    limits: bool = False
    """True for a constraint: it asks for nothing by itself."""
    overrides: bool = False
    """True if it is meant to count whatever others say."""
    forced: bool = False
    """True if what is there is replaced although it would do: ``pip install --upgrade``."""
    unclear: str = ""
    """Why it cannot be told which version is meant, or which distribution."""
    alternative: str = ""
    """The extra or the group that it belongs to: two of them need not be installed together."""
    stages: tuple[int, ...] = ()
    """The stages of a Containerfile that it takes effect after, and last the one it stands in."""


@frozen
class Included:
    """Another file that is to be read as well."""

    files: tuple[str, ...]
    """Where it may be, the likeliest first, relative to the folder of the file that names it."""
    text: str
    place: Place
    base: str = ""
    limits: bool = False
    forced: bool = False
    stages: tuple[int, ...] = ()


@frozen
class Index:
    """Where distributions are taken from."""

    url: str
    place: Place
    base: str = ""


@frozen
class Based:
    """An image that others are built upon."""

    reference: str
    """With the variables replaced that the file gives a value to."""
    place: Place
    unclear: str = ""


@frozen
class Unread:
    """What stands there and is not understood."""

    text: str
    reason: str
    place: Place
    base: str = ""


@frozen
class Elsewhere:
    """A file that is meant and not read."""

    text: str
    reason: str
    place: Place
    absent: bool = False
    """True if it is known that there is none."""


Statement = Asked | Included | Index | Based | Unread | Elsewhere


@frozen
class Source:
    """A file, and everything that it asks for."""

    file: str
    """As reports name it."""
    kind: str
    """``requirements``, ``pyproject`` or ``Containerfile``."""
    statements: tuple[Statement, ...]
