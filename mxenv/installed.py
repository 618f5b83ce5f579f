"""Which few words leave a node of the files that say how a Python distribution was installed.

Whoever reads such a file takes the excerpt at once; everything after that sees nothing else. The
excerpt of an excerpt is the excerpt, and it has the form of the file itself.
"""

from __future__ import annotations

import hashlib
import json
import re

MASK = "***"
"""Stands for a URL, or a revision, that has not the form of one."""

_BLANK = re.compile(r"^[ \t\r]*\n", re.MULTILINE)
_FIELD = re.compile(r"^(Name|Version):.*\n", re.MULTILINE)
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:[^/@\s]*@)?"
    r"(?P<host>(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])?(?::[0-9]+)?)"
    r"(?P<path>/[A-Za-z0-9/._~!$&'(+*),;=:%-]*)?(?:[?#].*)?"
)
_REVISION = re.compile(r"[0-9A-Fa-f]{6,64}|[0-9]{1,12}")
_TOPS = re.compile(r"^(?:([^/\n]*/)[^\n]*(?:\n\1[^\n]*){0,999}|([^/\n]*)$)", re.MULTILINE)
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
    blank = _BLANK.search(text)
    found: dict[str, str] = {}
    for match in _FIELD.finditer(text, 0, blank.start() if blank else len(text)):
        found.setdefault(match[1], match[0])
    return "".join(found.values())


def names(text: str) -> str:
    """Return of ``RECORD`` what it installs at the top: ``six.py``, ``torch/``, one a line.

    A folder with an ``__init__.py`` of its own is followed by that: it is no namespace.
    """
    marked = f"\n{text}"
    lines: set[str] = set()
    for folder, line in set(_TOPS.findall(text)):
        top, slash = (folder[:-1], True) if folder else (line, False)
        quoted = top[:1] == '"'
        name, comma, _ = top[quoted:].partition(",")
        name = name.rstrip("\r")
        if not name or (comma and quoted):
            continue  # a comma is in no name that can be imported
        if not slash or comma:
            lines.add(name)
            continue
        lines.add(f"{name}/")
        init = f"\n{name}/__init__.py"
        if not name.endswith("-info") and (f"{init}," in marked or f"{init}\n" in marked):
            lines.add(init[1:])
    return "".join(f"{line}\n" for line in sorted(lines))


def record(content: bytes) -> str:
    """Return of ``RECORD`` its SHA-256, and then its `names`."""
    return f"{hashlib.sha256(content).hexdigest()}\n{names(content.decode(errors='replace'))}"


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
