"""Every error a user can meet, and the exit status of each.

::

    MxenvError                70  a bug in mxenv, unless a subclass says otherwise
    ├── UsageError             2  the command line asks for something that cannot be
    ├── HostUnreachable        4  a node cannot be asked at all
    ├── InvalidFile            5  a file, of the user or of mxenv, is not what it should be
    │   ├── SnapshotError
    │   ├── RecordingError
    │   ├── MatrixError
    │   ├── LockError
    │   ├── ImageError             an image description (``image.toml``)
    │   ├── InventoryError         what a model needs, as a file
    │   ├── ModelError             a model, or a file of one
    │   ├── ConfigurationError     the user's own file of defaults
    │   ├── WheelError             a wheel that escapes its prefix, or whose hash is wrong
    │   └── LayoutError            an OCI layout or an image in one
    ├── EngineError            6  a container engine, a registry or an index failed
    │   ├── RegistryError
    │   └── IndexFailed
    └── Incompatible           1  what was asked for cannot go together
"""

from __future__ import annotations


class MxenvError(Exception):
    """Something a user can be told: what is wrong, where, and what to do."""

    exit_code = 70

    def __init__(self, message: str, *, context: str = "", hint: str = "") -> None:
        """Say ``message``; ``context`` is the file and the place in it, ``hint`` what to do."""
        super().__init__(message)
        self.message = message
        self.context = context
        self.hint = hint

    def __str__(self) -> str:
        """Return one line: the place, then what is wrong there."""
        return f"{self.context}: {self.message}" if self.context else self.message


class UsageError(MxenvError):
    """The command line, or a caller, asks for something that cannot be."""

    exit_code = 2


class HostUnreachable(MxenvError):
    """A node cannot be asked at all; other nodes are not affected."""

    exit_code = 4


class InvalidFile(MxenvError):
    """A file is not what it should be; ``context`` names it and the place in it."""

    exit_code = 5


class SnapshotError(InvalidFile):
    """A snapshot is invalid."""


class RecordingError(InvalidFile):
    """A recording is invalid, or reaches outside itself."""


class MatrixError(InvalidFile):
    """A matrix is invalid: a misspelt key, an unknown row, a row without evidence."""


class LockError(InvalidFile):
    """A lockfile is invalid; ``context`` is the path to the offending value."""


class ImageError(InvalidFile):
    """An image description is invalid."""


class InventoryError(InvalidFile):
    """An inventory of a model is invalid."""


class ModelError(InvalidFile):
    """A model, or a file of one, is not what it should be, or of a kind that is not known."""


class ConfigurationError(InvalidFile):
    """The user's configuration is invalid."""


class WheelError(InvalidFile):
    """A wheel is not the one that was locked, or would write outside its prefix."""


class LayoutError(InvalidFile):
    """An OCI layout, or an image in it, is damaged."""


class EngineError(MxenvError):
    """A container engine, a registry or an index failed."""

    exit_code = 6


class RegistryError(EngineError):
    """A registry cannot be reached, or refused; the message ends with its last word."""


class IndexFailed(EngineError):
    """A package index cannot be reached, or does not have what was asked for."""


class Incompatible(MxenvError):
    """What was asked for cannot go together: both sides are named."""

    exit_code = 1
