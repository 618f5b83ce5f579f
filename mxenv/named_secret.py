"""Which values are secret by the word that names them: ``token=…``, ``Authorization: …``."""

from __future__ import annotations

import re
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

from mxenv.credential import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADERS = ("authorization", "cookie")
HEADER = re.compile(
    r"[\"']?[ \t]*[:=\uff1a\uff1d][ \t]*[\"']?"
    r"(?:((?:digest|aws4-hmac-sha256)[ \t][^\n]*)|(?:[a-z]\w*[ \t]+)?([^\n\"',]+))",
    re.IGNORECASE,
)
"""What a program says to log in by HTTP; the word that says how stays."""
ALONE = (
    "pass",
    "psk",
    "pw",
    "bindpw",
    "sn",
    "serial",
    "serial number",
    "serial_number",
    "serialnumber",
    "serial no",
    "serial nr",
    "serial #",
)
"""Words that count only where they begin as such: bypass is no password, /opt/pw no secret."""
WORDS = (
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "credential",
    "username",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "account_key",
    "accountkey",
    "private_key",
    "private-key",
    "privatekey",
    "secret_key",
    "secret-key",
    "secretkey",
    "secret_key_base",
    "auth_key",
    "authkey",
    "signing_key",
    "encryption_key",
    "key-data",
    "auth",
    "signature",
    "&sig",
    "?sig",
    "&key",
    "?key",
    "app_key",
    "appkey",
    "sessionid",
    "sessid",
    "密码",
    "口令",
    "密钥",
    "令牌",
    "asset tag",
    "s/n",
    *ALONE,
)
"""What a value must not be kept of."""
LOOSE = frozenset(" \t\"'s")
"""What may be between a word and its sign."""
SIGN = re.compile(r"[:=\uff1a\uff1d]")
"""What every value stands behind: far rarer than the letters of which words are."""
VALUE = re.compile(
    r"s?\\?[\"']?[ \t]*(?::=|[:=\uff1a\uff1d](?!=))>?(?:[ \t]*|\s*(?=\"))"
    r"(?:\\\"([^\"\\\n]+)\\\"|\"((?:[^\"\\\n]|\\.)+)\"|'((?:[^'\\\n]|\\.)+)'"
    r"|\[([^\[\]\n]+)\]|(?:(?:\"{3}|'{3})\s*|[\"']{0,3})(?=([^\s\"',;}])))"
)
"""A quoted value goes to its other quote, spaces and all, and a list to its other bracket; ``==``
compares, as in pip's lists. Of one without quotes only the first letter is told."""
BARE = 5
"""Which group of it that is."""
BLOCK = re.compile(r"s?[\"']?[ \t]*:[ \t]*(?:([>|])[-+0-9]{0,2}[ \t]*)?\r?\n")
"""A value of YAML that begins on the next line; with a sign it is a text of several lines."""
ITEM = re.compile(r"[ \t]*(?:- +)?[\"']?([^\s:\"']+)[\"']?[ \t]*\r?(?:\n|\Z)")
"""A line that has one word, or one of a list."""
REST = re.compile(r"[^\s\"',;}]+")
LAST = 2
"""Letters that the shortest word has."""
ENDS = {
    end: tuple(
        (word, form)
        for words, form in ((WORDS, VALUE), (HEADERS, HEADER))
        for word in words
        if word.endswith(end)
    )
    for end in {word[-LAST:] for word in (*WORDS, *HEADERS)}
}
"""The words by their last letters, each with the form of what stands behind it."""
LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def masked(text: str) -> str:
    """Return ``text`` with the value masked after every word of `WORDS`."""
    if ":" not in text and "=" not in text and (text.isascii() or not SIGN.search(text)):
        return text
    lower = text.lower()
    if len(lower) != len(text):
        # One letter of all has a lower case of two: places would no longer agree.
        lower = text.translate(LOWER)
    pieces, end = [], 0
    for start, stop in sorted(_values(text, lower)):
        if start >= end:
            pieces += [text[end:start], MASK]
            end = stop
    return "".join([*pieces, text[end:]])


def _values(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Yield where values stand: behind a sign, before which one of the words ends."""
    run = 0  # where what has no quotes ends that was met last: many words may stand in it
    for sign in SIGN.finditer(lower):
        end = sign.start()
        for stop in _loose(lower, end) if lower[end - 1 : end] in LOOSE else (end,):
            for word, form in ENDS.get(lower[max(stop - LAST, 0) : stop], ()):
                if lower.endswith(word, 0, stop) and (block := BLOCK.match(text, stop)):
                    yield from _lines(text, stop, block)
                if lower.endswith(word, 0, stop) and (match := form.match(text, stop)):
                    start = stop - len(word)
                    if word in ALONE and start and _inside(lower[start - 1]):
                        continue
                    begin, finish = match.span(match.lastindex or 0)
                    if form is VALUE and match.lastindex == BARE:
                        if begin >= run and (rest := REST.match(text, begin)):
                            run = rest.end()
                        finish = run
                    yield begin, finish


def _lines(text: str, at: int, block: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield what stands on the lines below a word, as far as they are further to the right."""
    head = text[text.rfind("\n", 0, at) + 1 : at]
    depth = len(head) - len(head.lstrip(" \t-"))
    here = block.end()
    while here < len(text):
        end = text.find("\n", here) + 1 or len(text)
        line = text[here:end]
        right = len(line) - len(line.lstrip(" \t"))
        listed = not block[1] and line[right:].startswith("- ")
        if line.strip() and right <= depth and not listed:
            return
        if block[1]:
            if line.strip():
                yield here + right, here + len(line.rstrip())
        elif item := ITEM.fullmatch(line):
            yield here + item.start(1), here + item.end(1)
        elif line.strip():
            return
        here = end


def _inside(sign: str) -> bool:
    """Return whether what follows ``sign`` is part of another word, or the name of a file."""
    return sign.isalnum() or sign == "/"


def _loose(lower: str, end: int) -> tuple[int, int]:
    """Return where a word may end that is quoted, or has a space or the sign of a plural after."""
    while end and lower[end - 1] in " \t":
        end -= 1
    if end and lower[end - 1] in "\"'":
        end -= 1
    return end, max(end - 1, 0)
