"""Which lines of a report ``mx-smi`` or ``nvidia-smi`` printed, and with which options."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.facts import Unreadable
from mxenv.frozen import slotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mxenv.question import Completed
    from mxenv.transports._report_said import Said
    from mxenv.transports._report_text import Line

MX, HT, NVIDIA = "mx-smi", "ht-smi", "nvidia-smi"
"""The tools, of which the second is the first under another brand."""
OF_THE_NODE = ((), ("-j",), ("--show-version",))
"""The forms that tell the version of the driver."""
NO_DEVICE = "No available devices were discovered"
END = "End of Log"
FOREIGN = 8
"""Lines of something else in a row (prose, a wrapped line) after which an output has ended."""
LARGEST = 1 << 20
"""Characters in an output; of a hundred cards it has a tenth of it."""

_BANNER = re.compile(r"[ \t]*(?:mx|ht)-smi[ \t]+version:[ \t]*\d")
_TITLE = re.compile(r"[ \t]*=+ .{0,40}System Management Interface Log =+")
_HEAD = re.compile(r"[ \t]*\|[ \t]*(?:MX|HT|NVIDIA)-SMI\b")
_BOX = re.compile(r"[ \t]*[|+]")
_CARD = re.compile(r"[ \t]*GPU#\d+[ \t]")
_SLICE = re.compile(r"[ \t]*SGPU#\d+[ \t]")
_NVIDIA_CARD = re.compile(r"[ \t]*GPU \d+: NVIDIA ")
_LOG = re.compile(r"[ \t]*(?:Timestamp|Attached GPUs)[ \t]*:")
_MATRIX = re.compile(r"[ \t]*Device link type matrix")
_LINKS = re.compile(
    r"[ \t]*(?:(?:GPU|NIC)\d+[ \t].*|(?:NIC )?Legend:[ \t]*|[A-Z]{1,4}[ \t]+= .*|NIC\d+: .*)"
)
_UNIT = re.compile(r"[ \t]*(?:Version|[A-Z][A-Z0-9]{1,7}[ \t]*:[ \t]*\S+)[ \t]*")
_DATE = re.compile(
    r"[ \t]*\"?[Tt]imestamp\"?[ \t]*:[ \t]*\"?"
    r"([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\b"
)
_SLICED = re.compile(r"\*sGPU|Enabled", re.IGNORECASE)
_KMD = re.compile(
    r"Kernel Mode Driver Version:[ \t]*(\d[\w.-]*)|^[ \t]*KMD[ \t]*:[ \t]*(\d[\w.-]*)", re.MULTILINE
)
_NVIDIA_KMD = re.compile(r"\bDriver Version:[ \t]*(\d[\d.]*)")
_ALWAYS = re.compile(
    "|".join(
        pattern.pattern
        for pattern in (_BANNER, _TITLE, _LOG, _BOX, _CARD, _SLICE, _NVIDIA_CARD, _MATRIX)
    )
)
_FIRST = re.compile("|".join(pattern.pattern for pattern in (_BANNER, _TITLE, _HEAD, _LOG)))
_STABLE = re.compile(
    r"\d+(?:\.\d+){2,}[\w.+-]*|[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]|/[ \t]*\d+[ \t]?MiB"
    r"|Attached GPUs[ \t]*:[ \t]*\d+|\*sGPU|Enabled|Disabled|Native|Not Available[^\n|]{0,80}"
    r"|^[ \t]*(?:GPU|NIC)\d+[ \t].*$",
    re.MULTILINE,
)
"""What an output says again when it is asked again: no heat, load or time."""


@slotted
class _Open:
    """An output that has begun, and not ended."""

    lines: list[str] = field(default_factory=list)
    foreign: int = 0
    size: int = 0

    def take(self, text: str) -> None:
        self.foreign = 0
        self.size += len(text) + 1
        if self.size <= LARGEST:
            self.lines.append(text)

    def has(self, pattern: re.Pattern[str]) -> bool:
        return any(pattern.match(line) for line in self.lines)


def read(lines: Iterable[Line], said: Said) -> None:
    """Take down every output of ``mx-smi`` and ``nvidia-smi``."""
    current = _Open()
    for line in lines:
        text = line.text
        if "imestamp" in text and (found := _DATE.match(text)):
            said.dates.append(found[1])
        if line.edge or _begins(text, current):
            _close(current, said)
            current = _Open()
        if line.edge:
            continue
        if NO_DEVICE in text:
            said.printed((MX,), f"{NO_DEVICE}\n", returncode=2)
        elif END in text and text.strip() == END:
            current.take(text)
            _close(current, said)
            current = _Open()
        elif _fits(text, current):
            current.take(text)
        elif current.lines:
            current.foreign += 1
            if current.foreign > FOREIGN:
                _close(current, said)
                current = _Open()
    _close(current, said)


def _begins(text: str, current: _Open) -> bool:
    """Tell whether another output begins with this line."""
    if not _FIRST.match(text):
        return False
    if _BANNER.match(text):
        return True
    if _TITLE.match(text):
        return not (current.lines and all(not t.strip() or _BANNER.match(t) for t in current.lines))
    if _HEAD.match(text):
        return current.has(_HEAD)
    return bool(_LOG.match(text)) and current.has(_HEAD)


def _fits(text: str, current: _Open) -> bool:
    if _ALWAYS.match(text):
        return True
    if not current.lines:
        return False
    if current.has(_MATRIX) and _LINKS.fullmatch(text):
        return True
    # A unit of firmware, and nothing else that has a colon: a list of cards may be followed by
    # anything.
    return not text.strip() or (bool(_UNIT.fullmatch(text)) and current.has(_CARD))


def _close(current: _Open, said: Said) -> None:
    while current.lines and not current.lines[-1].strip():
        current.lines.pop()
    if not current.lines or current.size > LARGEST:
        return
    text = _at_the_edge(current.lines)
    tool = HT if re.search(r"\bht-smi\b", text, re.IGNORECASE) else MX
    if current.has(_HEAD):
        if "NVIDIA-SMI" in text:
            said.printed((NVIDIA,), text)
        else:
            said.printed((tool,), _whole_or_marked(text))
    elif current.has(_MATRIX):
        said.printed((tool, "topo", "-n" if re.search(r"\bNIC\d", text) else "-m"), text)
    elif current.has(_CARD):
        versions = any(_UNIT.fullmatch(line) for line in current.lines)
        said.printed((tool, "--show-version" if versions else "-L"), text)
    elif current.has(_NVIDIA_CARD):
        said.printed((NVIDIA, "-L"), text)


def _at_the_edge(lines: Sequence[str]) -> str:
    """Return the lines where they were printed, whether or not all were moved to the right.

    Only in a matrix it matters how far, since its first line begins with nothing.
    """
    matrix = next((n for n, line in enumerate(lines) if _MATRIX.match(line)), len(lines))
    moved = textwrap.dedent("".join(f"{line}\n" for line in lines[matrix:]))
    return "".join(f"{line.strip()}\n" for line in lines[:matrix]) + moved


def _whole_or_marked(text: str) -> str:
    """Return a table that claims to be whole only if nothing of it is known to be missing.

    The number of cards is what it claims to be whole by. A list of slices stands below the table
    of cards, and may have been cut without a trace.
    """
    sliced = bool(_SLICED.search(text))
    whole = ("Process:" in text or END in text) and (not sliced or "Sliced GPU" in text)
    if whole:
        return text
    kept = (line for line in text.splitlines(keepends=True) if not _LOG.match(line))
    return "".join(kept)


def read_json(lines: Sequence[Line], said: Said) -> None:
    """Take down every JSON object that ``mx-smi -j`` printed and that is there to its end."""
    decoder = json.JSONDecoder()
    tried = 0
    for number, line in enumerate(lines):
        if line.text.strip() != "{" or tried >= LARGEST:
            continue
        text = "\n".join(_until_edge(lines, number)).lstrip()
        tried += len(text)
        try:
            document, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict) and {"smi_version", "driver_version"} & document.keys():
            said.printed((MX, "-j"), f"{text[:end].strip()}\n")
            if isinstance(document.get("driver_version"), str):
                said.words.add("kmd", document["driver_version"].strip())


def _until_edge(lines: Sequence[Line], start: int) -> Iterable[str]:
    size = 0
    for line in lines[start : start + (1 << 15)]:
        size += len(line.text)
        if line.edge or size > LARGEST:
            return
        yield line.text


def settled(outputs: Sequence[Completed]) -> Completed | Unreadable:
    """Return what a command printed; several times are one if they say the same.

    One that was cut short says the beginning of the same.
    """
    best, tokens = outputs[0], _tokens(outputs[0])
    for other in outputs[1:]:
        more = _tokens(other)
        if tokens[: len(more)] == more:
            continue
        if more[: len(tokens)] != tokens:
            differ = sorted(set(tokens) ^ set(more)) or [*tokens, *more]
            return Unreadable(
                f"the report has two outputs that differ in {' and '.join(differ[:2])}"
            )
        best, tokens = other, more
    return best


def _tokens(output: Completed) -> tuple[str, ...]:
    return (str(output.returncode), *(" ".join(t.split()) for t in _STABLE.findall(output.stdout)))


def drivers(text: str) -> list[str]:
    """Return every version that an output of ``mx-smi`` says the driver to have."""
    return [first or second for first, second in _KMD.findall(text)]


def nvidia_drivers(text: str) -> list[str]:
    """Return every version that a table of ``nvidia-smi`` says the driver to have."""
    return _NVIDIA_KMD.findall(text)
