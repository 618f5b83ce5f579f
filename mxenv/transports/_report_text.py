"""The lines of a pasted text as they were printed, without Markdown, terminals and quotes."""

from __future__ import annotations

import codecs
import html
import json
import quopri
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUOTED_PRINTABLE = re.compile(
    rb"^content-transfer-encoding:[ \t]*quoted-printable|^(?:export )?[A-Z][A-Z0-9_]{1,60}=3D\S",
    re.IGNORECASE | re.MULTILINE,
)
"""What a mail that was saved says of itself, or what it makes of a variable."""
LONGEST = 1 << 13
"""Characters in a line that is read; only what JSON holds may be longer."""
JSON = ('[{"name"', '"pip_packages": "', '"conda_packages": "', '"cpu_info": "', '"env_vars": "')

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TERMINAL = re.compile(
    r"\x1b\[[0-?]{0,40}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|\x1b[^\[\]\n]?"
)
_CONTROL = dict.fromkeys(
    (*range(9), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0xFEFF, *range(0x200B, 0x2010)), None
)
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0xA0: 0x20}
"""The forms of ASCII that stand between Chinese signs, and spaces that are none."""
_PLAIN = _CONTROL | _WIDE
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,6}|#[xX][0-9a-fA-F]{1,6});")
_TAG = re.compile(
    r"<(/?)(details|summary|pre|code|p|br|div|span|b|i|li|ul|table|tbody|tr|td|kbd|samp)"
    r"(?:[ \t][^<>\n]{0,200})?/?>",
    re.IGNORECASE,
)
_BREAKING = frozenset({"details", "summary", "pre", "p", "br", "div", "li", "ul", "table", "tr"})
_QUOTE = re.compile(r"(?:[ \t]{0,8}>[ \t]?){1,16}")
_FENCE = re.compile(r"[ \t]{0,12}(?:`{3,}|~{3,})")
_EDGE = re.compile(r"#{1,6}[ \t]+\S|(?:={8,}|-{3}|\*{3}|_{3})[ \t]*$")
_BULLET = re.compile(r"[ \t]*(?:[-*+•][ \t]+|\d{1,2}[.)][ \t]+)?(?:\[[ xX]\][ \t]+)?")
_PROMPT = re.compile(
    r"[ \t]*(?:\([^()\s]{1,60}\)[ \t]*)?"
    r"(?:\[?[\w.-]{1,64}@(?P<host>[\w.-]{1,64})[: ][^#$%>]{0,200}[#$%]|(?P<bare>[$%#]))"
    r"[ \t]+(?P<typed>\S.*)"
)
_EMPTY_PROMPT = re.compile(
    r"[ \t]*(?:\([^()\s]{1,60}\)[ \t]*)?\[?[\w.-]{1,64}@[\w.-]{1,64}[: ][^#$%>]{0,200}[#$%][ \t]*"
)
_WORD = re.compile(r"(?:sudo[ \t]+)?(?:\S*/)?(?P<tool>[\w.+-]+)")
_ALONE = re.compile(
    r"(?:[ \t]+(?:-{1,2}[\w=-]+|list|freeze|topo|show|metax|pip|/\S+))*[ \t]*"
    r"(?:\|[ \t]*(?:[ef]?grep|head|tail|sort|awk|sed)\b.*)?"
)
TOOLS = frozenset(
    (
        *("cat", "conda", "docker", "dpkg", "env", "export", "ht-smi", "kubectl", "ldd", "ls"),
        *("lsb_release", "lscpu", "lsmod", "lspci", "mcclras", "modinfo", "mx-smi", "mxcc"),
        *("nvidia-smi", "pip", "pip3", "printenv", "python", "python3", "rpm", "uname", "uv"),
        "vllm",
    )
)
"""What is typed to show how a node is made; other lines that begin with ``#`` are comments."""


@frozen(kw_only=False)
class Line:
    """One line of a report."""

    text: str
    edge: bool = False
    """True if whatever was shown before it ends here: a fence, a heading, a prompt."""
    typed: str = ""
    """The command on it, if it has one after a prompt, or alone."""
    host: str = ""
    """The machine that the prompt names."""
    words: str = ""
    """The text without what Markdown adds to words: bullets, stars, back quotes."""


_MEMBERS = {
    "os": "OS : ",
    "libc_version": "Libc version : ",
    "maca_sdk_version": "MACA SDK version : ",
    "nvidia_driver_version": "Maca driver version : ",
    "python_platform": "Python platform : ",
    "python_version": "Python version : ",
    "torch_version": "PyTorch version : ",
    "cpu_info": "",
    "conda_packages": "[conda] ",
    "env_vars": "",
    "nvidia_gpu_models": "",
    "pip_packages": "[pip3] ",
}
"""The members of what ``vllm_metax.collect_env --json`` prints, and how they begin without it."""
_MEMBER = re.compile(
    rf'[ \t]{{0,12}}"({"|".join(_MEMBERS)})":[ \t]*("[^"\\]*(?:\\.[^"\\]*)*"),?[ \t]*'
)


def decoded(content: bytes) -> str:
    """Return the text of a file, in the encoding that its first bytes name, or a mail's head."""
    if b"=3D" in content and _QUOTED_PRINTABLE.search(content):
        content = quopri.decodestring(content)
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    return content.decode(encoding, errors="replace")


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a report; what follows the last line's end may be half of a line."""
    whole = text.replace("\r\n", "\n").replace("\r", "\n")
    for raw in whole.split("\n")[:-1]:
        for line in _undressed(raw):
            member = _MEMBER.fullmatch(line) if '": "' in line else None
            if member:
                yield from _told(member)
            else:
                yield _line(line)


def _told(member: re.Match[str]) -> Iterator[Line]:
    """Yield the lines of a text inside JSON; nothing else is one with it."""
    yield Line("", edge=True)
    with suppress(ValueError):
        for line in json.loads(member[2], strict=False).splitlines():
            yield _line(f"{_MEMBERS[member[1]]}{line}".translate(_PLAIN))
    yield Line("", edge=True)


def _undressed(raw: str) -> list[str]:
    if len(raw) > LONGEST and not any(start in _entities(raw[:256]) for start in JSON):
        return [""]
    if "\x1b" in raw:
        raw = _TERMINAL.sub("", raw)
    if not raw.isascii() or not raw.isprintable():
        raw = raw.translate(_PLAIN)
    if "<" in raw:
        raw = _TAG.sub(_without_tag, raw)
    if "&" in raw:
        raw = _entities(raw)
    found = raw.split("\n") if "\n" in raw else [raw]
    return [line[_match_end(_QUOTE, line) :] for line in found]


def _entities(text: str) -> str:
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text).replace("\xa0", " ")


def _without_tag(tag: re.Match[str]) -> str:
    name = tag[2].lower()
    # Fences, to whoever reads on: what is inside one of these ends with it.
    if name in {"details", "summary", "pre"}:
        return "\n```\n"
    return "\n" if name in _BREAKING else ""


def _match_end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def _words(text: str) -> str:
    return text[_match_end(_BULLET, text) :].replace("**", "").replace("`", "").strip()


def _line(text: str) -> Line:
    if _FENCE.match(text) or ("@" in text and _EMPTY_PROMPT.fullmatch(text)):
        return Line("", edge=True)
    words = _words(text)
    if not words:
        return Line("")
    prompt = _PROMPT.match(text)
    if prompt and (not prompt["bare"] or prompt["bare"] == "$" or _tool(prompt["typed"])):
        return Line("", edge=True, typed=prompt["typed"].strip(), host=prompt["host"] or "")
    if _EDGE.match(text) and not text.startswith("# packages in environment"):
        return Line(text, edge=not text.startswith("# Name "), words=words)
    alone = _WORD.match(text)
    typed = alone and alone["tool"] in TOOLS and _ALONE.fullmatch(text, alone.end())
    return Line(text, edge=bool(typed), typed=text.strip() if typed else "", words=words)


def _tool(typed: str) -> bool:
    return tool(typed) in TOOLS


def tool(typed: str) -> str:
    """Return the name of the program that ``typed`` runs."""
    word = _WORD.match(typed)
    return word["tool"] if word else ""
