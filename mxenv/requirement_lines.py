"""What the lines of a requirements file ask for, as pip reads them."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)

from mxenv import marker, pip_options
from mxenv.asked import Asked, Included, Index, Unread
from mxenv.distribution import normalised
from mxenv.verdict import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.asked import Statement

_VALUED = frozenset(
    (
        *("--hash", "--no-binary", "--only-binary", "--trusted-host", "--use-feature"),
        *("--config-settings", "--config-setting", "-C", "--global-option"),
    )
)
_FLAGS = frozenset(
    (*("--no-index", "--pre", "--prefer-binary", "--require-hashes", "--always-unzip", "-Z"),)
)
_COMMENT = re.compile(r"(?<!\S)#.*$")
_VARIABLE = re.compile(r"\$\{[A-Z0-9_]+\}")
"""What pip replaces by the environment's; every other dollar sign is one."""
_URL = re.compile(r"(?i)(?:(?:git|hg|svn|bzr)\+[a-z]+|https?|ftp|file):")
_PATH = re.compile(r"\.{0,2}/|~/|\.{1,2}(?:$|\[)|[^\s@;]*/")
_ARCHIVES = (".whl", ".tar.gz", ".zip", ".tar.bz2", ".tgz")
_NUMBER = re.compile(r"[0-9]{1000}")
"""Python turns no text into a number that has more than 4300 digits."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_EGG = re.compile(r"(?:^|&)egg=([^&\[]+)")
BOM = "\ufeff"


def parse(text: str, *, file: str, base: str = "") -> Iterator[Statement]:
    """Yield what each logical line of the requirements file ``text`` says."""
    for number, line in logical(text.removeprefix(BOM)):
        yield from _line(line, Place(file=file, line=number), base)


def logical(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, continued ones joined, with the number of the first."""
    begin, parts = 0, list[str]()
    number, broken = 1, False
    for ended in text.splitlines(keepends=True):
        # pip takes a form feed for the end of a line as well, and an editor does not count it.
        number += broken
        raw = ended.splitlines()[0]
        broken = ended[len(raw) :] in {"\n", "\r", "\r\n"}
        comment = raw.lstrip().startswith("#")
        # As pip has it: a comment ends a line that was continued.
        line = f" {raw}" if comment else raw
        if line.endswith("\\") and not comment:
            begin = begin or number
            parts.append(line.strip("\\"))
            continue
        parts.append(line)
        if whole := _COMMENT.sub("", "".join(parts)).strip():
            yield begin or number, whole
        begin, parts = 0, []
    if whole := _COMMENT.sub("", "".join(parts)).strip():
        yield begin, whole


def _line(line: str, place: Place, base: str) -> Iterator[Statement]:
    head, options = _split(line)
    try:
        words = shlex.split(options)
    except ValueError as fault:
        yield Unread(text=line, reason=str(fault).lower(), place=place, base=base)
        return
    told = tuple(_options(words, line, place, base))
    if head and any(not isinstance(one, Unread) for one in told):
        reason = "an option of the whole file stands behind a requirement"
        yield Unread(text=line, reason=reason, place=place, base=base)
        return
    if head:
        yield requirement(head, place, base=base)
    yield from told


def _split(line: str) -> tuple[str, str]:
    """Return what stands before the first option, and the options."""
    words = line.split(" ")
    first = next((n for n, word in enumerate(words) if word.startswith("-")), len(words))
    return " ".join(words[:first]).strip(), " ".join(words[first:])


def _options(words: list[str], line: str, place: Place, base: str) -> Iterator[Statement]:
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=") if word.startswith("--") else _short(word)
        if name in _FLAGS and not value:
            continue
        valued = name in _VALUED or statement_for(name, "", line, place, base=base) is not None
        value = value or (next(rest, "") if valued else "")
        if not valued or not value:
            reason = f"{name!r} has no value" if valued else f"{word!r} is no option of such a file"
            yield Unread(text=line, reason=reason, place=place, base=base)
            return
        if found := statement_for(name, value, line, place, base=base):
            yield found


def _short(word: str) -> tuple[str, str, str]:
    return word[:2], "", word[2:].removeprefix("=")


def statement_for(
    name: str, value: str, text: str, place: Place, *, base: str = ""
) -> Statement | None:
    """Return what the option ``name`` of pip says, if it is one that names something."""
    if name in pip_options.INDEX_OPTIONS:
        return Index(url=value, place=place, base=base)
    if name in pip_options.INCLUDE_OPTIONS | pip_options.LIMIT_OPTIONS:
        limits = name in pip_options.LIMIT_OPTIONS
        return Included(files=(value,), text=text, place=place, base=base, limits=limits)
    if name in pip_options.EDITABLE_OPTIONS:
        return requirement(value, place, base=base)
    return None


def requirement(
    text: str, place: Place, *, base: str = "", forced: bool = False, alternative: str = ""
) -> Asked | Unread:
    """Return what one requirement asks for: PEP 508's form, or a path or an address, as pip's."""
    unclear = ""
    if variable := _VARIABLE.search(text):
        unclear = f"{variable[0]} is not known here"
    if _NUMBER.search(text):
        reason = "a number that nobody wrote"
        return Unread(text=text, reason=reason, place=place, base=base)
    try:
        found = Requirement(_no_archive(text))
    except InvalidRequirement as fault:
        if unclear or _located(text):
            return _taken(text, place, base=base, forced=forced, unclear=unclear)
        reason = str(fault).splitlines()[0]
        return Unread(text=text, reason=reason[:1].lower() + reason[1:], place=place, base=base)
    return Asked(
        name=normalised(found.name),
        specifier=str(found.specifier) or _version_in(found.url or ""),
        marker=str(found.marker or ""),
        url=found.url or "",
        text=text,
        place=place,
        base=base,
        forced=forced,
        unclear=unclear,
        alternative=alternative,
    )


def _no_archive(text: str) -> str:
    """Refuse the name of a file, which could be that of a distribution too."""
    if "@" not in text and text.partition(" ;")[0].strip().lower().endswith(_ARCHIVES):
        raise InvalidRequirement("a file")
    return text


def _located(text: str) -> bool:
    """Tell whether ``text`` is a path or an address rather than a name."""
    bare = text.partition(" ;")[0].strip().lower()
    return bool(_URL.match(text) or _PATH.match(text)) or bare.endswith(_ARCHIVES)


def _taken(text: str, place: Place, *, base: str, forced: bool, unclear: str) -> Asked:
    """Return what a path or an address stands for; a folder tells no name."""
    where, _, condition = text.partition(" ;")
    name, version = _of_file(where.strip())
    if not name and unclear and (match := _NAME.match(text)) and not _located(text):
        name = normalised(match[0])  # ``torch==${TORCH}``
    elif not name and _URL.match(text):
        unclear = unclear or "the address tells no name"
    return Asked(
        name=name,
        specifier=f"=={version}" if version else "",
        marker=condition.strip() if marker.sound(condition) else "",
        url=where.strip() if not unclear or _located(text) else "",
        text=text,
        place=place,
        base=base,
        forced=forced,
        unclear=unclear,
    )


def _version_in(url: str) -> str:
    _, version = _of_file(url)
    return f"=={version}" if version else ""


def _of_file(where: str) -> tuple[str, str]:
    """Return the name and version that a file's name tells; nothing where it tells none."""
    try:
        parts = urlsplit(where)
    except ValueError:
        return "", ""
    if egg := _EGG.search(parts.fragment):
        return normalised(egg[1]), ""
    file = unquote(parts.path).rpartition("/")[2].partition("[")[0]
    try:
        if file.endswith(".whl"):
            name, version, *_ = parse_wheel_filename(file)
        else:
            name, version = parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return "", ""
    return str(name), str(version)
