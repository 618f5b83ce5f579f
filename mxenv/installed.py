"""Which few words leave a node of the files that say how a Python distribution was installed.

Whoever reads such a file takes the excerpt at once; everything after that sees nothing else. The
excerpt of an excerpt is the excerpt, and it has the form of the file itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

from mxenv.credential import MASK

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLANK = re.compile(r"\n[ \t\r]*\n")
_FIELD = re.compile(r"\n((Name|Version):[^\n]*)(?=\n)")
"""Both begin with the end of the line before, which is faster to find than a beginning."""
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:[^/@\s]*@)?"
    r"(?P<host>(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])?(?::[0-9]+)?)"
    r"(?P<path>/[A-Za-z0-9/._~!$&'(+*),;=:%-]*)?(?:[?#].*)?"
)
_REVISION = re.compile(r"[0-9A-Fa-f]{6,64}|[0-9]{1,12}")
_TOPS = re.compile(rb"^(?:([^/\n]*/)[^\n]*(?:\n\1[^\n]*){0,999}|([^/\n]*)$)", re.MULTILINE)
"""What lines begin with, up to a slash, once for all lines in a row that begin with the same.

A RECORD has tens of thousands, most below one folder; what looks them over holds each meanwhile.
"""
_METADATA = (".dist-info/METADATA", ".egg-info/PKG-INFO", ".egg-info")
_INTERPRETER = re.compile(r"(?:/[^/\0\s]+)+/bin/python3?(?:\.[0-9]+)?")


def metadata(text: str) -> str:
    """Return of ``METADATA`` or ``PKG-INFO`` the name and the version, as whole lines.

    The description follows after an empty line, and may say anything. A line without its end is
    dropped: nobody knows what is missing of it.
    """
    lines = f"\n{text}"
    blank = _BLANK.search(lines)
    found: dict[str, str] = {}
    for match in _FIELD.finditer(lines, 0, blank.start() + 1 if blank else len(lines)):
        found.setdefault(match[2], f"{match[1]}\n")
    return "".join(found.values())


def names(text: str) -> str:
    """Return of ``RECORD`` what it installs at the top: ``six.py``, ``torch/``, one a line.

    A folder with an ``__init__.py`` of its own is followed by that: it is no namespace.
    """
    return _written(_names(text.encode(errors="replace")))


def _written(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in sorted(lines))


def _names(content: bytes) -> set[str]:
    lines: set[str] = set()
    for folder, line in set(_TOPS.findall(content)):
        quoted = (folder or line)[:1] == b'"'
        name, comma, _ = (folder[:-1] or line)[quoted:].partition(b",")
        name = name.rstrip(b"\r")
        if not name or (comma and quoted):
            continue  # a comma is in no name that can be imported
        top = name.decode(errors="replace")
        if not folder or comma:
            lines.add(top)
            continue
        lines.add(f"{top}/")
        if not name.endswith(b"-info") and _lists(content, b"%b/__init__.py" % name):
            lines.add(f"{top}/__init__.py")
    return lines


def _lists(content: bytes, path: bytes) -> bool:
    """Return whether ``path`` stands in a line by itself, or before a comma."""
    at = content.find(path)
    while at >= 0:
        end = at + len(path)
        if content[end : end + 1] in {b",", b"\n"} and (not at or content[at - 1 : at] == b"\n"):
            return True
        at = content.find(path, end)
    return False


def record(pieces: Iterable[bytes]) -> str:
    """Return of ``RECORD`` its SHA-256, and then its `names`."""
    digest, lines = hashlib.sha256(), set[str]()
    begun: list[bytes] = []
    for piece in pieces:
        digest.update(piece)
        end = piece.rfind(b"\n") + 1
        if end:
            lines |= _names(b"".join((*begun, piece[:end])))
            begun = []
        begun.append(piece[end:])
    lines |= _names(b"".join(begun))
    return f"{digest.hexdigest()}\n{_written(lines)}"


def origin(text: str) -> str:
    """Return of ``direct_url.json`` (PEP 610) what tells no secret; of what is none, nothing.

    No user, password, query or fragment of a URL is kept, and nothing that is not understood. Of
    what conda keeps of a package, whose URL may hold a token, the metadata that it installed.
    """
    try:
        given = json.loads(text)
        if isinstance(given, dict) and isinstance(files := given.get("files"), list):
            return f"{json.dumps({'files': [f for f in files if _is_metadata(f)]})}\n"
        url = given["url"]
        kinds = [kind for kind in ("archive_info", "dir_info", "vcs_info") if kind in given]
        info = given[kinds[0]]
        if len(kinds) != 1 or not isinstance(url, str) or not isinstance(info, dict):
            return ""
    except (ValueError, RecursionError, KeyError, IndexError, TypeError):
        return ""
    kept: dict[str, object] = {}
    if kinds[0] == "dir_info" and info.get("editable") is True:
        kept["editable"] = True
    if kinds[0] == "vcs_info":
        kept = {"vcs": _word(info.get("vcs")), "commit_id": _revision(info.get("commit_id"))}
    return f"{json.dumps({kinds[0]: kept, 'url': _bare(url)}, sort_keys=True)}\n"


def _is_metadata(path: object) -> bool:
    return isinstance(path, str) and path.endswith(_METADATA)


def _bare(url: str) -> str:
    match = _URL.fullmatch(url)
    return f"{match['scheme']}://{match['host']}{match['path'] or ''}" if match else MASK


def _word(value: object) -> str:
    return value if isinstance(value, str) and value in {"git", "hg", "svn", "bzr"} else MASK


def _revision(value: object) -> str:
    return value if isinstance(value, str) and _REVISION.fullmatch(value) else MASK


def program(text: str) -> str:
    """Return of a process's command line its Python, if it runs one; arguments may be secret."""
    first = text.partition("\0")[0]
    return first if _INTERPRETER.fullmatch(first) else ""
