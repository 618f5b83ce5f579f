"""Secrets with neither a form of their own nor a sign before them, by what is around them."""

from __future__ import annotations

import re

from mxenv.credential import MASK

_NAMES = "password|passwd|passphrase|token|secret|credential|(?:api|access|secret|private)[_ -]?key"
_NAMED = rf"[\w.-]*(?:{_NAMES})s?"
"""A word of several that ends so: ``tokenizers`` are none."""
_WORD = r"[^\s\"'|,;]+"
_FAR = r"[^\n]{0,300}?"
_OPTIONS = {
    "mysql": r"-p",
    "mariadb": r"-p",
    "7z": r"-p",
    "redis-cli": r"-a[ \t]+",
    "ldap": r"-w[ \t]+",
    "mongo": r"-p[ \t]+",
    "zip": r"-P[ \t]+",
    "sqlcmd": r"-P[ \t]+",
    "ipmitool": r"-P[ \t]+",
    "snmp": r"-[AX][ \t]+",
    "smbclient": r"-U[ \t]*[^\s%]+%",
    "rpcclient": r"-U[ \t]*[^\s%]+%",
    "curl": r"-u[ \t]*[^\s:\"']+:",
    "htpasswd": r"-\w*b\w*[ \t]+\S+[ \t]+\S+[ \t]+",
}
"""Behind which option a program takes its password, by what is in the program's name."""
_CELL = (
    rf"(?im)((?:^|[|│┃])[ \t]*[`*]*{_NAMED}[`*]*[ \t]*[|│┃][ \t]*)"
    r"(?![-: \t]+[|│┃]|[0-9]+(?:\.[0-9]+)+)[^\s|│┃][^|│┃\n]*"
)
"""A cell of a table beside one that names it."""
_VARIABLE = rf"(?i)\b((?:ENV|setx|set[ \t]+-\w+)[ \t]+{_NAMED}[ \t]+)(?!=){_WORD}"
_PAIR = (
    rf"(name[\"']?[ \t]*:[ \t]*[\"']?(?i:{_NAMED})[\"']?\s*,?\s*"
    rf"[\"']?value[\"']?[ \t]*:[ \t]*[\"']?)[^\s\"',}}]+"
)
"""``{"name": "DB_PASSWORD", "value": "x"}``, and the same in YAML."""
_ELEMENT = rf"(<name>(?i:{_NAMED})</name>\s*<value>)[^<]+"
_ENCODED = rf"(?i)((?:{_NAMES})%3D)[^\s&\"'%]+"
_PROSE = (
    r"([Pp]ass(?:word|phrase)|PASSWORD|密码|口令)((?:[ \t]+is)?[ \t]+)"
    rf"(?=\S*[0-9])(?=\S*[A-Za-z])(?!\S*[=:]){_WORD}"
)
"""What is told in a sentence or in columns: only what a word of a language does not look like."""


def masked(text: str) -> str:
    """Return ``text`` with every such secret masked.

    Nearly no text has what makes one likely: patterns are compiled for one that has.
    """
    if " " not in text and "|" not in text and "<" not in text and "{" not in text:
        return re.sub(_ENCODED, rf"\1{MASK}", text) if "%3" in text else text
    if " -" in text:
        for program in _OPTIONS:
            if program in text:
                text = re.sub(_option(program), rf"\1{MASK}", text)
    if "ENV " in text or "setx " in text or "set -" in text:
        text = re.sub(_VARIABLE, rf"\1{MASK}", text)
    if "%3" in text:
        text = re.sub(_ENCODED, rf"\1{MASK}", text)
    if "value" in text and "name" in text:
        text = re.sub(_PAIR, rf"\1{MASK}", text)
        text = re.sub(_ELEMENT, rf"\1{MASK}", text)
    if not text.isascii() or "assword" in text or "ASSWORD" in text or "assphrase" in text:
        text = re.sub(_PROSE, rf"\1\2{MASK}", text)
    if ("|" in text or "│" in text or "┃" in text) and re.search(_NAMES, text.lower()):
        text = re.sub(_CELL, rf"\1{MASK} ", text)
    return text


def _option(program: str) -> str:
    return rf"({program}[\w-]*\b{_FAR} {_OPTIONS[program]})(?![*]){_WORD}"
