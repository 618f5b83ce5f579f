"""What uv's last words mean."""

from __future__ import annotations

import re
from typing import NoReturn

from mxenv.errors import ConfigurationError, EngineError, Incompatible, IndexFailed, UsageError

BUILD = (
    "leave out --only-binary and it is built from source; or build a wheel (`pip wheel NAME`) and "
    "add its folder with --find-links"
)
_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_SOURCE = re.compile(r"Wheels are required for `([^`]+)`")
_UNREACHABLE = ("Failed to fetch", "error sending request", "Request failed")
_MISSING = ("was not found in the package registry", "was not found in the provided package")
_NOTHING = "there are no versions of "
_OFFLINE = ("network was disabled", "not found in the cache")
_DAMAGED = re.compile(
    r"Failed to (?:download|read metadata|parse metadata)[^`]*`(?P<named>[^`]+)`"
    r"|Failed to unzip wheel: (?P<file>[^\s:]+)|(?P<said>\S+==\S+) has invalid metadata"
)
_REFUSED = ("could not be queried", "403 Forbidden")
_NO_PAGE = ("unexpected JSON", "unexpected HTML", "Unsupported `Content-Type`")
_CONFIGURATION = "Failed to parse: "
_MEMORY = "Failed to initialize cache"
_BUILT = ("Failed to build", "The build backend returned an error", "Call to `")


def without_logins(text: str) -> str:
    """Return ``text`` without user names and passwords in its URLs."""
    return _LOGIN.sub("", text)


def warnings(said: str) -> tuple[str, ...]:
    """Return what uv warned of."""
    lines = without_logins(said).splitlines()
    return tuple(line.removeprefix("warning: ") for line in lines if line.startswith("warning: "))


def without_wheels(said: str) -> tuple[str, ...]:
    """Return what could be had if it were taken from source."""
    return tuple(_SOURCE.findall(said))


def fail(said: str) -> NoReturn:
    """Raise what uv said last."""
    lines = [line.strip() for line in without_logins(said).splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if line.startswith("error: ")), 0)
    words = [line.removeprefix("error: ").removeprefix("cause: ") for line in lines[start:]]
    hints = [word.removeprefix("hint: ") for word in words if word.startswith("hint: ")]
    words = [word for word in words if not word.startswith("hint: ")] or ["uv said nothing"]
    text = " ".join(words)
    _index_failed(words, text, hints)
    if words[0].startswith("No solution found"):
        raise Incompatible(" ".join(words[1:]) or text, hint=_hint(hints))
    if "invalid value" in text or "unexpected argument" in text:
        raise UsageError(words[0])
    if words[0].startswith(_CONFIGURATION):
        raise ConfigurationError(
            words[-1],
            context=words[0].removeprefix(_CONFIGURATION).strip("`"),
            hint="uv is configured there: correct it, or take it away",
        )
    if _MEMORY in words[0]:
        raise EngineError(f"uv failed: {': '.join(words)}", hint="name another in UV_CACHE_DIR")
    raise IndexFailed(f"uv failed: {words[0]}{f': {words[-1]}' if len(words) > 1 else ''}")


def _index_failed(words: list[str], text: str, hints: list[str]) -> None:
    """Raise what an index is to blame for."""
    host = re.search(r"https?://([^/\s`]+)", text)
    context = host[1] if host else ""
    if any(mark in text for mark in _NO_PAGE):
        raise IndexFailed(
            f"what answers is no package index: {words[0]}",
            context=context,
            hint="name the address that ends in /simple or the like, as the index documents it",
        )
    if any(mark in text for mark in _BUILT):
        raise IndexFailed(
            f"a source distribution does not say what it needs without being built, and building "
            f"failed: {words[0]}: {words[-1]}",
            hint="add a wheel of it with --find-links, or ask for another version",
        )
    if any(mark in text for mark in _UNREACHABLE):
        from mxenv import _download  # noqa: PLC0415 - imported late: it needs requests

        usual = f"{_download.NETWORK} or UV_DEFAULT_INDEX"
        raise IndexFailed(
            f"the package index cannot be used: {words[-1]}",
            context=context,
            hint=_download.advice(words[-1], usual),
        )
    if (damaged := _DAMAGED.search(text)) is not None:
        raise IndexFailed(
            f"{damaged[damaged.lastgroup or 0]} cannot be read: {words[-1]}",
            context=context,
            hint="ask for another version of it, or tell whoever published it",
        )
    if any(mark in text for mark in (*_OFFLINE, *_MISSING, _NOTHING)):
        refused = [hint for hint in hints if any(mark in hint for mark in _REFUSED)]
        hint = "check the name, or name an index or a folder that has it: --index, --find-links"
        raise IndexFailed(" ".join(words[1:]) or text, hint=" ".join((*refused, hint)))


def _hint(hints: list[str]) -> str:
    """Return what to do about requirements that cannot be met together."""
    if any(_SOURCE.match(hint) for hint in hints):
        return BUILD
    # uv goes on to advise what lets anybody in who publishes a name elsewhere.
    found = " ".join(hint.partition(" A compatible version may be available")[0] for hint in hints)
    if found != " ".join(hints):
        return f"{found} Only the first place that has a package is asked: put another one first."
    return found
