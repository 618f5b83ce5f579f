"""What tells findings of one verdict apart, from one run to the next.

Programs take what has one name for one thing: of two test cases, or alerts, they would show one.
What is found is in a name only where several findings are about one subject, and how often
something is called never is; a number stands where nothing else differs.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.verdict import Finding, Verdict


def names(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a name for each finding, for people and programs; no two are the same."""
    plain = [f"{finding.code} {finding.subject}" for finding in findings]
    often = Counter(plain)
    pairs = zip(plain, findings, strict=True)
    return _numbered([f"{name}{_more(one)}" if often[name] > 1 else name for name, one in pairs])


def identities(verdict: Verdict) -> Iterator[str]:
    """Yield what each finding is known by, wherever its line has moved; no two are the same."""
    plain = [f"{verdict.subject}:{one.code}:{one.subject}:{one.row}" for one in verdict.findings]
    often = Counter(plain)
    pairs = zip(plain, verdict.findings, strict=True)
    return _numbered([_known_by(name, one, alone=often[name] == 1) for name, one in pairs])


def _known_by(name: str, finding: Finding, *, alone: bool) -> str:
    if finding.place is not None:
        # Two lines of a file can say the same of one package, each in its own words.
        return f"{name}:{finding.found}"
    return name if alone else f"{name}{_more(finding)}"


def _more(finding: Finding) -> str:
    if finding.place is not None:
        return f" at {finding.place}"
    # What is found begins with what it is about, as `aten::mm.default: a kernel for CUDA; …`.
    return f": {finding.found.partition('; ')[0].partition(': ')[0]}"


def _numbered(texts: Sequence[str]) -> Iterator[str]:
    taken = set(texts)
    seen: Counter[str] = Counter()
    for text in texts:
        seen[text] += 1
        told = text
        while seen[text] > 1 and (told := f"{text} ({seen[text]})") in taken:
            seen[text] += 1
        taken.add(told)
        yield told
