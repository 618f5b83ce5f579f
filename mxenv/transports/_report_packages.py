"""Which distributions a report lists, in which of the forms that pip, conda and uv print."""

from __future__ import annotations

import json
import re
from dataclasses import field
from enum import Enum, auto
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mxenv.distribution import normalised
from mxenv.frozen import slotted
from mxenv.transports._report_said import Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mxenv.transports._report_text import Line

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,99}[A-Za-z0-9])?"
_VERSION = r"(?!\S*\.\.)(?:\d{1,3}!)?v?\d[A-Za-z0-9._+!-]{0,99}(?<![._+!-])"
_PATH = r"(?:/[^/\s*?\[\]:]{1,200}){1,20}"
_TAGGED = re.compile(
    rf"\[(?:pip3?|conda)\] (?P<name>{_NAME})(?:==|[ \t]+)(?P<version>{_VERSION})(?:[ \t].*)?"
)
_COLUMNS = re.compile(
    r"Package[ \t]+Version(?:[ \t]+(?:Editable project location|Location|Installer|Build))*"
)
_ROW = re.compile(
    rf"(?P<name>{_NAME})[ \t]+(?P<version>{_VERSION})(?:[ \t]+/\S.*|[ \t]+(?:pip|conda|uv))?"
)
_CELLS = re.compile(r"\|[ \t]*([^|]{1,120}?)[ \t]*\|[ \t]*([^|]{1,120}?)[ \t]*\|(?:[^|]{0,200}\|)?")
_HEADS = frozenset({("package", "version"), ("包名", "版本"), ("软件包", "版本")})
_CONDA = re.compile(rf"# packages in environment at (?P<prefix>{_PATH}):")
_CONDA_NAMES = re.compile(r"#[ \t]+Name[ \t]+Version[ \t]+Build.*")
_CONDA_ROW = re.compile(
    rf"(?P<name>{_NAME})[ \t]+(?P<version>{_VERSION})"
    r"[ \t]+(?P<build>\w[\w.]{0,99})(?:[ \t]+\S.*)?"
)
_UV = re.compile(
    rf"Using Python (?P<version>3\.\d+\.\d+\S{{0,20}}) environment at:? (?P<prefix>{_PATH})"
)
_FROZEN = re.compile(rf"(?P<name>{_NAME})==(?P<version>{_VERSION})")
_WHEEL = re.compile(
    rf"(?P<name>{_NAME}) @ (?:file|https?)://\S{{0,2000}}/[\w.]{{1,100}}-(?P<version>[\w.%+!]{{1,120}}?)"
    r"(?:-\d\w*)?-[\w.]{1,100}-[\w.]{1,100}-[\w.]{1,200}\.whl(?:#\S{0,300})?"
)
_PINNED = re.compile(r"-e \S.*|#.*|" + rf"{_NAME} @ \S.*")
_SHOWN = r"(?!.*(?<![\d=-])>>?[ \t]*[\w./~-])"
"""What follows a command whose output is to be seen, and not in a file."""
_FREEZE = re.compile(rf"\bpip3? freeze\b{_SHOWN}|\bpip3? list\b{_SHOWN}.*\b(?:freeze|json)\b")
_LISTED = re.compile(r"(?:\S*/)?(?:uv )?(?:python3? -m )?pip3? list\b.*")
_SHOW = (
    re.compile(rf"Name: (?P<name>{_NAME})"),
    re.compile(rf"Version: (?P<version>{_VERSION})"),
    re.compile(r"Summary:.*"),
)
"""How `pip show` begins, line by line."""
_SITE = rf"(?P<site>{_PATH}/lib(?:64)?/python3\.\d+/(?:site|dist)-packages)"
_PIP = re.compile(rf"pip \S{{1,40}} from {_SITE}/pip \(python 3\.\d+\)")
_LOCATION = re.compile(rf"Location:[ \t]*{_SITE}/?")
_EXECUTABLE = re.compile(
    rf"(?:Python [Ee]xecutable|sys\.executable)[ \t]*:[ \t]*(?P<prefix>{_PATH})"
    r"/bin/python3?(?:\.\d+)?"
)
_IN_USE = re.compile(
    rf"(?:export |declare -x )?(?:CONDA_PREFIX|VIRTUAL_ENV)=[\"']?(?P<prefix>{_PATH})[\"']?"
)
SENTENCE = 200
"""Characters in a line that announces a list."""
HEADINGS = (
    *("Package", "# ", "#\t", "Using Python ", "pip ", "Location:", "Python ", "sys.executable"),
    *("CONDA_PREFIX", "VIRTUAL_ENV", "export ", "declare ", "|"),
)
"""How the lines begin that tell where a list begins, or of which environment it is."""
PYPI = "pypi"
"""What conda calls the build and the channel of what pip installed."""


class _In(Enum):
    NOTHING = auto()
    COLUMNS = auto()
    CELLS = auto()
    CONDA = auto()
    FREEZE = auto()


@slotted
class Lists:
    """What a report lists, by the environment that it names; ``""`` is one that it does not."""

    packages: dict[str, Values] = field(default_factory=dict)
    """By normalised name."""
    pythons: dict[str, Values] = field(default_factory=dict)
    sites: set[str] = field(default_factory=set)
    """Directories of distributions that are named."""
    prefixes: set[str] = field(default_factory=set)

    def add(self, env: str, name: str, version: str) -> None:
        """Take down that ``name`` is installed in ``env``."""
        if name.lower() != "python":  # what it says of itself below a list is no distribution
            self.packages.setdefault(env, Values()).add(normalised(name), version)

    def python(self, env: str, version: str) -> None:
        """Take down which Python ``env`` has."""
        self.pythons.setdefault(env, Values()).add("python", version)

    def unite(self, env: str, other: str) -> None:
        """Take what is listed of ``env`` for ``other``'s."""
        for lists in (self.packages, self.pythons):
            values = lists.pop(env, Values())
            for place, said in values.said.items():
                for value in said:
                    lists.setdefault(other, Values()).add(place, value)


def read(lines: Sequence[Line]) -> Lists:
    """Return every list of distributions in ``lines``."""
    reader = _Reader()
    for line in lines:
        reader.take(line)
    if not reader.lists.packages:
        _only_frozen(lines, reader.lists)
    return reader.lists


class _Reader:
    """Goes through the lines, and knows in which kind of list it is."""

    def __init__(self) -> None:
        self.lists = Lists()
        self._at = _In.NOTHING
        self._env = ""
        self._asked = False
        """Whether a list as ``pip freeze`` prints it was announced."""
        self._show: tuple[str, ...] = ()
        """The first lines of what may be of ``pip show``."""

    def take(self, line: Line) -> None:
        words = line.words
        self._shown(words)
        if line.edge:
            self._edge(words, line.typed)
            return
        if not words:
            self._blank()
            return
        if self._heading(words) or self._tagged(words) or self._json(words):
            return
        match self._at:
            case _In.COLUMNS:
                self._row(_ROW, words)
            case _In.CELLS:
                self._cells(words)
            case _In.CONDA:
                self._conda(words)
            case _In.FREEZE:
                self._frozen(words)
            case _In.NOTHING:
                if "pip" in words and len(words) < SENTENCE and _FREEZE.search(words):
                    self._at, self._asked = _In.FREEZE, False

    def _edge(self, words: str, typed: str) -> None:
        # The fence between "output of pip freeze" and the list ends nothing yet.
        if typed or self._at is not _In.FREEZE or self._asked:
            self._at = _In.NOTHING
        if typed:
            self._env = ""
        if _FREEZE.search(typed or words):
            self._at, self._asked = _In.FREEZE, False
        elif _LISTED.fullmatch(typed):
            # What `grep` left of it has no heading.
            self._at = _In.COLUMNS

    def _blank(self) -> None:
        if self._at is not _In.FREEZE or self._asked:
            self._at, self._env = _In.NOTHING, ""

    def _heading(self, words: str) -> bool:
        if not words.startswith(HEADINGS):
            return False
        if _COLUMNS.fullmatch(words):
            self._at = _In.COLUMNS
        elif found := _CONDA.fullmatch(words):
            self._at, self._env = _In.CONDA, found["prefix"]
            self.lists.prefixes.add(self._env)
        elif _CONDA_NAMES.fullmatch(words):
            self._at = _In.CONDA
        elif found := _UV.fullmatch(words):
            self._env = found["prefix"]
            self.lists.prefixes.add(self._env)
            self.lists.python(self._env, found["version"])
        elif found := _PIP.fullmatch(words) or _LOCATION.fullmatch(words):
            self.lists.sites.add(found["site"])
        elif found := _EXECUTABLE.fullmatch(words) or _IN_USE.fullmatch(words):
            self.lists.prefixes.add(found["prefix"])
        elif (cells := _CELLS.fullmatch(words)) and (cells[1].lower(), cells[2].lower()) in _HEADS:
            self._at = _In.CELLS
        else:
            return False
        return True

    def _shown(self, words: str) -> None:
        """Take down what ``pip show`` says: its first lines come one upon the other."""
        found = _SHOW[len(self._show)].fullmatch(words)
        if found is None:
            self._show = (words,) if _SHOW[0].fullmatch(words) else ()
        elif len(self._show) + 1 < len(_SHOW):
            self._show += (words,)
        else:
            name, version = (line.partition(": ")[2] for line in self._show)
            self.lists.add(self._env, name, version)
            self._show = ()

    def _tagged(self, words: str) -> bool:
        if words[0] != "[":
            return False
        found = _TAGGED.fullmatch(words)
        if found and (words.startswith("[pip") or f" {PYPI}" in words):
            self.lists.add("", found["name"], found["version"])
        return found is not None

    def _row(self, pattern: re.Pattern[str], words: str) -> None:
        if found := pattern.fullmatch(words):
            self.lists.add(self._env, found["name"], found["version"])

    def _cells(self, words: str) -> None:
        cells = _CELLS.fullmatch(words)
        if cells:
            self._row(_ROW, f"{cells[1]} {cells[2]}")

    def _conda(self, words: str) -> None:
        found = _CONDA_ROW.fullmatch(words)
        if found is None:
            return
        if found["build"].startswith(PYPI):
            # Only these go by the name of their distribution.
            self.lists.add(self._env, found["name"], found["version"])
        elif found["name"] == "python":
            self.lists.python(self._env, found["version"])

    def _frozen(self, words: str) -> None:
        # `pip list` may print the same as `pip freeze`, if it is told to elsewhere.
        self._asked = True
        if found := _WHEEL.fullmatch(words):
            self.lists.add(self._env, found["name"], unquote(found["version"]))
        else:
            self._row(_FROZEN, words)

    def _json(self, words: str) -> bool:
        if not words.startswith('[{"name"'):
            return False
        try:
            listed, _ = json.JSONDecoder().raw_decode(words)
        except (ValueError, RecursionError):
            return True
        for item in listed:
            name, version = (item.get(key) for key in ("name", "version"))
            if isinstance(name, str) and isinstance(version, str):
                self._row(_ROW, f"{name} {version}")
        return True


def _only_frozen(lines: Iterable[Line], lists: Lists) -> None:
    """Take a report of nothing but pins for what ``pip freeze`` wrote into it."""
    texts = [line.words for line in lines if line.words]
    frozen = [_FROZEN.fullmatch(text) or _WHEEL.fullmatch(text) for text in texts]
    if all(found or _PINNED.fullmatch(text) for found, text in zip(frozen, texts, strict=True)):
        for found in filter(None, frozen):
            lists.add("", found["name"], unquote(found["version"]))
