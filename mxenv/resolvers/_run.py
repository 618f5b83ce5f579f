"""How uv is run, and what its failures mean."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from mxenv.errors import EngineError, Incompatible, IndexFailed, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.resolvers import Indexes

OUTPUT = "pylock.resolved.toml"
BUILD = (
    "an image is made from wheels only: build one (`pip wheel NAME`) and add its folder with "
    "--find-links"
)
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
_SCHEMES = frozenset({"http", "https", "file"})
_UNREACHABLE = ("Failed to fetch", "error sending request", "Request failed", "Failed to download")
_MISSING = ("was not found in the package registry", "was not found in the provided package")
_OFFLINE = ("network was disabled", "not found in the cache")


def compile_pylock(
    folder: Path, arguments: Iterable[str], indexes: Indexes
) -> tuple[str, tuple[str, ...]]:
    """Run ``uv pip compile`` on ``requirements.in``; return the result and uv's warnings."""
    command = [
        *(_program(), "pip", "compile", str(folder / "requirements.in")),
        *("--format", "pylock.toml", "--output-file", str(folder / OUTPUT), "--no-header"),
        *("--only-binary", ":all:", "--generate-hashes", "--no-progress", "--color", "never"),
        # Only wheels are looked at, so that any interpreter will do: never look for another one.
        *("--python", sys.executable, "--no-python-downloads"),
        *arguments,
        *_where(indexes),
    ]
    try:
        # An argv list; the program is uv's own, and no part of it is a shell's.
        done = subprocess.run(  # noqa: S603 - see above
            command,
            cwd=indexes.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=indexes.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise IndexFailed(
            f"uv did not come to an end in {indexes.seconds:.0f} seconds",
            hint="see whether the package index answers",
        ) from None
    except OSError as error:
        raise EngineError(f"uv cannot be run: {error}") from error
    said = _CREDENTIALS.sub("", done.stderr)
    if done.returncode:
        _fail(said)
    warnings = tuple(line for line in said.splitlines() if line.startswith("warning: "))
    return (folder / OUTPUT).read_text(), tuple(w.removeprefix("warning: ") for w in warnings)


def _program() -> str:
    import uv  # noqa: PLC0415 - imported late: only a resolution needs it

    try:
        return os.fsdecode(uv.find_uv_bin())
    except FileNotFoundError as error:
        raise EngineError("uv's program is not there", hint="install mxenv again") from error


def _where(indexes: Indexes) -> Iterator[str]:
    # An option takes the place of the variable, so that the variable has to be repeated.
    configured = filter(None, os.environ.get("UV_FIND_LINKS", "").split(","))
    for place in (*indexes.find_links, *configured):
        yield from ("--find-links", _place(place, "--find-links"))
    for place in indexes.index:
        yield from ("--index", _place(place, "--index"))
    if indexes.no_index:
        yield "--no-index"
    if indexes.offline:
        yield "--offline"


def _place(text: str, option: str) -> str:
    """Return a URL, or a folder; uv goes on without an index that is neither."""
    # An index may have a name before its URL.
    named = "=" in text.partition(":")[0]
    scheme, found, _ = (text.partition("=")[2] if named else text).partition("://")
    if found and scheme.lower() in _SCHEMES:
        return text
    # uv runs in the project's root, and a folder was named from where the user is.
    folder = Path(text).absolute()
    if found or not text or not folder.is_dir():
        what = "no URL that uv can ask" if found else "no folder"
        raise UsageError(
            f"{_CREDENTIALS.sub('', text)!r} is {what}",
            context=option,
            hint="name a folder that is there, or a URL that begins with https:// or http://",
        )
    return str(folder)


def _fail(said: str) -> NoReturn:
    """Raise what uv's last words mean."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if line.startswith("error: ")), 0)
    words = [line.removeprefix("error: ").removeprefix("cause: ") for line in lines[start:]]
    hints = [word.removeprefix("hint: ") for word in words if word.startswith("hint: ")]
    words = [word for word in words if not word.startswith("hint: ")] or ["uv said nothing"]
    text = " ".join(words)
    if any(mark in text for mark in _UNREACHABLE):
        host = re.search(r"https?://([^/\s`]+)", text)
        raise IndexFailed(
            f"the package index cannot be used: {words[-1]}",
            context=host[1] if host else "",
            hint="check the network, or name another index with --index or UV_DEFAULT_INDEX",
        )
    if any(mark in text for mark in (*_OFFLINE, *_MISSING)):
        raise IndexFailed(
            " ".join(words[1:]) or text,
            hint="check the name, or name an index or a folder that has it: --index, --find-links",
        )
    if words[0].startswith("No solution found"):
        wheels = any(hint.startswith("Wheels are required") for hint in hints)
        raise Incompatible(" ".join(words[1:]) or text, hint=BUILD if wheels else " ".join(hints))
    if "invalid value" in text or "unexpected argument" in text:
        raise UsageError(words[0])
    raise IndexFailed(f"uv failed: {words[0]}{f': {words[-1]}' if len(words) > 1 else ''}")
