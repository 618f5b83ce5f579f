"""How versions order: PEP 440, dotted, kernel releases and vendor build tags, in one order."""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache

from mxenv.frozen import frozen

_LONGEST = 256
"""Characters; what is longer is no version, and is kept as opaque text."""

# Never `*+` or `++` after a group: before 3.11.5, Python then remembers the group's end wrongly.
_RELEASE = r"v?(?:(?P<epoch>[0-9]++)!)?(?P<release>[0-9]++(?:\.[0-9]++)*)"
_PRE = r"[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>[0-9]*+)"
_POST = r"(?:-(?P<post_i>[0-9]++)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n>[0-9]*+))"
_DEV = r"[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>[0-9]*+)"
_END = r"(?![a-z0-9])"

_PEP440 = (
    rf"{_RELEASE}(?:{_PRE})?(?:{_POST})?(?:{_DEV})?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?"
)
_PREFIX = rf"{_RELEASE}(?:{_PRE}{_END})?(?:{_POST}{_END})?(?:{_DEV}{_END})?"
"""The part of any other version that can be understood as PEP 440.

A suffix such as ``-c600u`` (a product) or ``-amd64`` begins like a pre-release and is none: each
part must end where a word ends.
"""
_SEGMENT = re.compile(r"[0-9]+|[a-z]+|[^0-9a-z.\-_+~, ]+")
_PRE_NAMES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_FIELDS = re.compile(r"\s*[vV]?([0-9]+(?:\.[0-9]+)*)")

_METAX_TAG = re.compile(
    r"(?:^|[.\-_])(?:metax|maca|mc)(?P<sdk>[0-9]+(?:\.[0-9]+)*)?(?:\.?torch(?P<torch>[0-9]+(?:\.[0-9]+)*))?"
    r"(?![a-z0-9])"
)
_CUDA_TAG = re.compile(r"(?:^|[.\-_])cu[0-9]{2,3}(?![a-z0-9])")
_SDK_FIELDS = 3
"""What fewer fields stand for is no SDK: ``flagtree 0.6.1+metax3.6`` names a triton line."""

Segment = tuple[int, int, str]
Key = tuple[
    int,
    tuple[int, ...],
    tuple[int, str, int],
    int,
    tuple[int, int],
    tuple[Segment, ...],
    tuple[Segment, ...],
]


@frozen(order=True)
class Version:
    """A version that can be compared with every other one."""

    key: Key
    text: str = field(compare=False)
    """As it was read; versions that differ in spelling only (``2.5.014``, ``2.5.14``) are equal."""

    @property
    def fields(self) -> tuple[int, ...]:
        """Return the leading numbers, as many as were written; empty if it is no version."""
        return fields(self.text)


@frozen
class Tag:
    """What a vendor's build tag (PEP 440's local part) says about a wheel."""

    vendor: str
    """``metax`` for all of ``+metax``, ``+maca`` and ``+mc``; ``cu`` for a CUDA build."""
    sdk: str = ""
    """The MetaX SDK it was built with; empty if the tag names none."""
    torch: str = ""
    """The torch line whose ABI it was built for, ``2.8``."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Version:
    """Return ``text`` as something that orders; no text is refused."""
    lowered = text.strip().lower()
    if len(lowered) > _LONGEST:
        return Version(key=(0, (), (1, "", 0), -1, (1, 0), (), ((0, 0, lowered),)), text=text)
    if match := re.fullmatch(_PEP440, lowered):
        return Version(key=_key(match, match["local"] or "", ""), text=text)
    if match := re.match(_PREFIX, lowered):
        return Version(key=_key(match, "", lowered[match.end() :]), text=text)
    return Version(key=(0, (), (1, "", 0), -1, (1, 0), (), _segments(lowered)), text=text)


def _key(match: re.Match[str], local: str, rest: str) -> Key:
    """Return PEP 440's order, then the local part, then what only other schemes have."""
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and not release[-1]:
        release.pop()
    post = -1
    if match["post"] or match["post_i"]:
        post = int(match["post_i"] or match["post_n"] or 0)
    dev = (0, int(match["dev_n"] or 0)) if match["dev"] else (1, 0)
    if match["pre"]:
        pre = (0, _PRE_NAMES.get(match["pre"], match["pre"]), int(match["pre_n"] or 0))
    elif match["dev"] and post < 0:
        pre = (-1, "", 0)  # PEP 440: 1.0.dev1 is older than 1.0a1
    else:
        pre = (1, "", 0)
    epoch = int(match["epoch"] or 0)
    return epoch, tuple(release), pre, post, dev, _segments(local), _segments(rest)


def _segments(text: str) -> tuple[Segment, ...]:
    """Split into numbers and words; as in PEP 440, a word is older than a number."""
    return tuple(
        (1, int(part), "") if part.isdecimal() and part.isascii() else (0, 0, part)
        for part in _SEGMENT.findall(text)
    )


def fields(text: str) -> tuple[int, ...]:
    """Return the leading dotted numbers of ``text``, as many as were written."""
    match = _FIELDS.match(text[:_LONGEST])
    return tuple(int(part) for part in match[1].split(".")) if match else ()


@lru_cache(maxsize=4096)
def family(text: str, count: int) -> str:
    """Return the first ``count`` fields, fewer if there are fewer: ``3.5.3`` of ``3.5.3.20``."""
    return ".".join(str(number) for number in fields(text)[:count])


def public(text: str) -> str:
    """Return the version without its local part: ``2.8.0`` of ``2.8.0+metax3.5.3.9``."""
    return text.partition("+")[0]


@lru_cache(maxsize=4096)
def tag(text: str) -> Tag | None:
    """Return the vendor's build tag of a version, if it has one."""
    local = text.partition("+")[2].lower()
    if match := _METAX_TAG.search(local):
        sdk = match["sdk"] or ""
        named = sdk if sdk.count(".") + 1 >= _SDK_FIELDS else ""
        return Tag(vendor="metax", sdk=named, torch=match["torch"] or "")
    if _CUDA_TAG.search(local):
        return Tag(vendor="cu")
    return None
