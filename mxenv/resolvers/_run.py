"""How uv is run, and where it looks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from mxenv.errors import EngineError, IndexFailed, UsageError
from mxenv.resolvers import Places, _folders, _said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mxenv.resolvers import Indexes

OUTPUT = "pylock.resolved.toml"
WHEELS_ONLY = ("--only-binary", ":all:")
_SCHEMES = frozenset({"http", "https", "file"})
WIDE = "10000"
"""Columns of a terminal in which no line is broken."""


def compile_pylock(
    folder: Path,
    arguments: Sequence[str],
    indexes: Indexes,
    *,
    sources: Iterable[str] | None = None,
    python: str = sys.executable,
) -> tuple[str, tuple[str, ...]]:
    """Run ``uv pip compile`` on ``requirements.in``; return the result and uv's warnings.

    ``sources`` are taken from source; so is what has no wheel that fits, unless it is `None`.
    """
    taken = list(sources or ())
    command = [
        *("pip", "compile", str(folder / "requirements.in")),
        *("--format", "pylock.toml", "--output-file", str(folder / OUTPUT), "--no-header"),
        *("--generate-hashes", *WHEELS_ONLY),
        # For a target, any interpreter will do: what it runs says what a source needs, no more.
        *("--python", python),
        *arguments,
        *where(indexes, folder / "places"),
    ]
    while True:
        exceptions = [word for name in taken for word in ("--no-binary", name)]
        done = run([*command, *exceptions], indexes)
        if not done.returncode:
            text = (folder / OUTPUT).read_text()
            return text, _said.warnings(done.stderr)
        more = [name for name in _said.without_wheels(done.stderr) if name not in taken]
        if sources and not more:
            # It was taken from source before, and there may be no more than its wheel now.
            taken, sources = [], ()
            continue
        if sources is None or not more:
            _said.fail(done.stderr)
        # One at a time: with the source of one, no other may be needed.
        taken.append(more[0])


def run(arguments: Sequence[str], indexes: Indexes) -> subprocess.CompletedProcess[str]:
    """Run uv in the project's root, where it finds its configuration; wait for its end."""
    quiet = ("--no-progress", "--color", "never", "--no-python-downloads")
    try:
        # An argv list; the program is uv's own, and no part of it is a shell's.
        return subprocess.run(  # noqa: S603 - see above
            [program(), *arguments, *quiet],
            cwd=indexes.directory,
            # In a narrow terminal it would break its words into lines, which are told apart.
            env={**os.environ, "COLUMNS": WIDE},
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


def program() -> str:
    """Return the path of uv."""
    try:
        import uv  # noqa: PLC0415 - imported late: only a resolution needs it

        return os.fsdecode(uv.find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        # The image for nodes leaves it out: nobody resolves requirements there.
        raise EngineError("uv's program is not there", hint="install mxenv again") from error


def where(indexes: Indexes, folder: Path) -> Iterator[str]:
    """Yield the arguments that name places; ``folder`` takes what uv is to find in folders."""
    alone = indexes.no_index or indexes.offline
    pages = [place for place in find_links(indexes) if alone and "://" in place]
    files = _folders.merged(place for place in find_links(indexes) if place not in pages)
    if indexes.no_index and files:
        yield from ("--find-links", _folders.as_folder(files, folder))
    elif files:
        yield from ("--index", _folders.as_index(files, folder))
    for place in pages:
        yield from ("--find-links", place)
    # Whatever uv's configuration says: who publishes a name elsewhere does not get in.
    yield from ("--index-strategy", "first-index")
    yield from _index(indexes)


def _index(indexes: Indexes) -> Iterator[str]:
    for place in indexes.index:
        yield from ("--index", _place(place, "--index"))
    if indexes.no_index:
        yield "--no-index"
    if indexes.offline:
        # Nor what uv remembers: elsewhere it remembers something else, or nothing.
        yield from ("--offline", "--no-cache")


def find_links(indexes: Indexes) -> Iterator[str]:
    """Yield absolute paths of folders, and URLs of pages, the first one first."""
    # An option takes the place of the variable, so that the variable has to be repeated.
    configured = filter(None, os.environ.get("UV_FIND_LINKS", "").split(","))
    for place in (*indexes.find_links, *configured):
        checked = _place(place, "--find-links")
        parts = urlsplit(checked)
        yield unquote(parts.path) if parts.scheme == "file" else checked


def places(indexes: Indexes, folder: Path) -> Places:
    """Return every place that uv would look into, its own configuration included."""
    empty = folder / "requirements.in"
    empty.write_text("")
    said = ("--emit-index-url", "--emit-find-links", "--no-header", "--no-annotate")
    # Its own, which is there for sure: one on the search path need not be.
    own = ("--python", sys.executable)
    done = run(["pip", "compile", str(empty), *own, *said, *_index(indexes)], indexes)
    if done.returncode:
        _said.fail(done.stderr)
    words = [line.split(maxsplit=1) for line in done.stdout.splitlines() if line.startswith("--")]
    named = {option: [w[1] for w in words if w[0] == option and w[1:]] for option, *_ in words}
    extra, default = named.get("--extra-index-url", []), named.get("--index-url", [])
    pages = [*find_links(indexes), *named.get("--find-links", [])]
    logins = _with_login(indexes)
    absolute = (p if "://" in p else str(indexes.directory.absolute() / p) for p in pages)
    return Places(
        find_links=tuple(dict.fromkeys(absolute)),
        # uv's default index comes last, whatever it is.
        index=() if indexes.no_index else tuple(map(logins, dict.fromkeys((*extra, *default)))),
    )


def _with_login(indexes: Indexes) -> Callable[[str], str]:
    """Return what adds the logins that uv's variables give to indexes by name."""
    known = {}
    for text in (*indexes.index, *os.environ.get("UV_INDEX", "").split()):
        name, named, url = text.partition("=")
        word = f"UV_INDEX_{re.sub(r'[^A-Za-z0-9]', '_', name).upper()}"
        user, password = os.environ.get(f"{word}_USERNAME"), os.environ.get(f"{word}_PASSWORD", "")
        if named and user and "@" not in urlsplit(url).netloc:
            parts = urlsplit(url)
            login = f"{quote(user, safe='')}:{quote(password, safe='')}@"
            known[url] = parts._replace(netloc=login + parts.netloc).geturl()
    return lambda url: known.get(url, url)


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
            f"{_said.without_logins(text)!r} is {what}",
            context=option,
            hint="name a folder that is there, or a URL that begins with https:// or http://",
        )
    return str(folder)
