"""Which texts name a person, or one piece of hardware, by their own form.

What stands in their place has the same form, so that whoever parses the text still can.
"""

from __future__ import annotations

import re

from mxenv.credential import MASK

USER = "user"
NO_UUID = "00000000-0000-0000-0000-000000000000"

_NAME = r"[^/\\\s:;,\"'*?\[\]()<>|]+"
HOMES = {
    "/home": re.compile(rf"(/homes?[0-9]?/){_NAME}"),
    "/Users/": re.compile(rf"(/Users/){_NAME}"),
    "/users/": re.compile(rf"(/users/){_NAME}"),
    "\\Users\\": re.compile(rf"(\\Users\\+){_NAME}"),
    "~": re.compile(r"(~)(?<![\w/.~-]~)(?!root\b)[A-Za-z_][\w.-]*(?=/)"),
}
"""Where people live, by what is in every such path; root is nobody in particular."""
MAIL_HOST = re.compile(r"@(?![0-9]+\.)(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}\b")
MAIL_NAME = re.compile(r"(?<![\w./+-])[\w.+-]{1,64}\Z", re.ASCII)
CARD = re.compile(
    r"(?<![0-9A-Fa-f:-])(?:(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}"
    r"|(?:(?:[0-9A-Fa-f]{4}:){4})?(?:[0-9A-Fa-f]{4}:){3}[0-9A-Fa-f]{4})(?![0-9A-Fa-f:-])"
)
"""The address of a network card, and the number that InfiniBand gives one."""
COLONS = re.compile(r":[0-9A-Fa-f]{2}(?:[0-9A-Fa-f]{2})?:[0-9A-Fa-f]{2}")
HYPHENS = re.compile(r"-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-")
"""What is in the middle of each: a sign that is there in full is fast to look for."""
UUID_END = re.compile(r"-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\b")
UUID = re.compile(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b")
ELEMENT = re.compile(r"(<(?:\w+_)?serial(?:_number)?>)(?!N/A<)[^<\n]+")
"""The number of one card, as XML has it."""
DIGIT = re.compile(r"[0-9A-Fa-f]")


def masked(text: str) -> str:
    """Return ``text`` without names of people, and without what hardware is known by."""
    for sign, form in HOMES.items():
        if sign in text:
            text = form.sub(rf"\1{USER}", text)
    if "@" in text:
        text = _without_mail(text)
    if (":" in text and COLONS.search(text)) or ("-" in text and HYPHENS.search(text)):
        text = CARD.sub(lambda match: DIGIT.sub("0", match[0]), text)
    if "-" in text and UUID_END.search(text):
        text = UUID.sub(NO_UUID, text)
    if "serial" in text and "</" in text:
        text = ELEMENT.sub(rf"\1{MASK}", text)
    return text


def _without_mail(text: str) -> str:
    """Return ``text`` without what stands before ``@`` and a host."""
    pieces, end = [], 0
    for host in MAIL_HOST.finditer(text):
        at = host.start()
        if name := MAIL_NAME.search(text[max(end, at - 65) : at]):
            pieces += [text[end : at - len(name[0])], MASK]
            end = at
    return "".join([*pieces, text[end:]])
