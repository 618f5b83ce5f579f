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
    r"[\"']?[ \t]*[:=][ \t]*[\"']?"
    r"(?:((?:digest|aws4-hmac-sha256)[ \t][^\n]*)|(?:[a-z]\w*[ \t]+)?([^\n\"',]+))",
    re.IGNORECASE,
)
"""What a program says to log in by HTTP; the word that says how stays."""
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
    "asset tag",
    "s/n",
    "serial",
    "serial number",
    "serial_number",
    "serialnumber",
    "serial no",
)
"""What a value must not be kept of; `SERIAL` as a word of its own only."""
SERIAL = "serial"
LOOSE = frozenset(" \t\"'s")
"""What may be between a word and its sign."""
SIGN = re.compile(r"[:=]")
"""What every value stands behind: far rarer than the letters of which words are."""
VALUE = re.compile(
    r"s?[\"']?[ \t]*[:=](?!=)[ \t]*"
    r"(?:\"((?:[^\"\\\n]|\\.)+)\"|'((?:[^'\\\n]|\\.)+)'|[\"']?([^\s\"',;}]+))"
)
"""A quoted value goes to its other quote, spaces and all; ``==`` compares, as in pip's lists."""
ENDS = {
    end: tuple(
        (word, form)
        for words, form in ((WORDS, VALUE), (HEADERS, HEADER))
        for word in words
        if word.endswith(end)
    )
    for end in {word[-3:] for word in (*WORDS, *HEADERS)}
}
"""The words by their last three letters, each with the form of what stands behind it."""
LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def masked(text: str) -> str:
    """Return ``text`` with the value masked after every word of `WORDS`."""
    if ":" not in text and "=" not in text:
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
    for sign in SIGN.finditer(lower):
        end = sign.start()
        for stop in _loose(lower, end) if lower[end - 1 : end] in LOOSE else (end,):
            for word, form in ENDS.get(lower[max(stop - 3, 0) : stop], ()):
                if lower.endswith(word, 0, stop) and (match := form.match(text, stop)):
                    start = stop - len(word)
                    if not (word.startswith(SERIAL) and start and lower[start - 1].isalnum()):
                        yield match.span(match.lastindex or 0)


def _loose(lower: str, end: int) -> tuple[int, int]:
    """Return where a word may end that is quoted, or has a space or the sign of a plural after."""
    while end and lower[end - 1] in " \t":
        end -= 1
    if end and lower[end - 1] in "\"'":
        end -= 1
    return end, max(end - 1, 0)
