"""What follows for a model from what becomes of its operators, and how much of it that is."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from mxenv.inventory import Phase
from mxenv.operator_coverage import RUNTIMES
from mxenv.operator_decision import OWN, Class
from mxenv.shares import Share, Shares
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.operator_coverage import Coverage, Covered

FEW = 3
"""How many operators are named where people read."""
CODES = {
    Class.SUPPORTED: "MX610",
    Class.INDIRECT: "MX610",
    Class.UNSUPPORTED: "MX612",
    Class.FALLBACK: "MX613",
    Class.CUSTOM: "MX614",
    Class.UNKNOWN: "MX615",
}
WORST_FIRST = (
    *(Class.UNSUPPORTED, Class.UNKNOWN, Class.CUSTOM, Class.FALLBACK),
    *(Class.INDIRECT, Class.SUPPORTED),
)
REMEDIES = {
    Class.UNSUPPORTED: "Call something else there, or take a build of torch that has it.",
    Class.FALLBACK: "Keep it off the path that counts, or answer for it: it is right, and slow.",
    Class.CUSTOM: "Build what brings it for the platform, or take the vendor's; `mxenv ops TREE` "
    "names what has to be changed in its source code.",
    Class.UNKNOWN: "Run it there: `mxenv ops MODEL --run`.",
}
"""What is to be done where no row says more."""
ASK = (
    "Ask the platform's own torch: `mxenv probe --operators --on ADDRESS --out node.json`, and "
    "name that file as --platform, or as operators in image.toml."
)
ELSEWHERE = "Ask for what the runtime has that runs it there, or read the model as torch runs it."
"""What is to be done about operators that no torch runs."""


def findings(coverage: Coverage, *, each: bool = False) -> Iterator[Finding]:
    """Yield what becomes of operators; with ``each``, every one by itself.

    What is known to run is told as one otherwise, and what is unknown for one reason. A subject is
    the same either way, since waivers name it: the operator's name where that alone is decided.
    """
    groups: dict[tuple[Class, str, str], list[Covered]] = defaultdict(list)
    for one in coverage.operators:
        said = one.decision.said if one.decision.found is Class.UNKNOWN else ""
        own = one.operator if each else said
        groups[one.decision.found, _subject(one, coverage), own].append(one)
    for (_, subject, _), ones in groups.items():
        yield _finding(subject, ones, coverage)


def shares(coverage: Coverage) -> Shares | None:
    """Return how much of a model is in each class; nothing of one whose operators nobody knows."""
    if not coverage.operators and not coverage.kernels:
        return None
    classes = (
        Share(name=name, operators=coverage.counts[name], calls=coverage.calls[name])
        for name in WORST_FIRST
    )
    return Shares(classes=tuple(classes), gaps=len(coverage.inventory.gaps))


def _subject(one: Covered, coverage: Coverage) -> str:
    """Return what a finding is about: an operator of which something is known, or its class."""
    decision = one.decision
    fine = decision.outcome is Outcome.COMPATIBLE
    if fine or (decision.found is Class.UNKNOWN and not (decision.row or coverage.platform.asked)):
        return f"{decision.found} operators"
    return one.operator


def _finding(subject: str, ones: Sequence[Covered], coverage: Coverage) -> Finding:
    first = ones[0]
    decision = first.decision
    fine = decision.outcome is Outcome.COMPATIBLE
    several = len(ones) > 1
    told = _several(ones, coverage) if several else _one(first, subject, coverage)
    return Finding(
        code=CODES[decision.found],
        outcome=decision.outcome,
        subject=subject,
        found=told,
        expected="" if fine else f"an operator that {coverage.platform.name} is known to have",
        because=() if several else decision.because,
        remedy="" if fine else _remedy(first, coverage),
        row="" if several else decision.row,
    )


def _one(one: Covered, subject: str, coverage: Coverage) -> str:
    """Return what becomes of one operator, how often it is called, and where first."""
    decision = one.decision
    name = "" if subject == one.operator else f"{one.operator}: "
    grade = f" ({decision.grade})" if decision.grade else ""
    calls = f"{one.calls} of {coverage.inventory.calls} calls"
    return f"{name}{decision.said}{grade}; {calls}{_where(one)}"


def _where(one: Covered) -> str:
    """Return in which phases it is called, as they follow one another, and where first."""
    order = list(Phase)
    uses = sorted(one.uses, key=lambda use: order.index(use.phase))
    use = next((use for use in uses if use.site or use.module), None)
    phases = dict.fromkeys(use.phase for use in uses)
    if use is None:
        # Of a lock, which keeps neither, all is forward.
        return f", in {', '.join(phases)}" if [*phases] != [Phase.FORWARD] else ""
    parts = [f"at {use.site}" * bool(use.site), f"in {use.module}" * bool(use.module)]
    return f", in {', '.join(phases)}, first {' '.join(filter(None, parts))}"


def _several(ones: Sequence[Covered], coverage: Coverage) -> str:
    names = [one.operator for one in ones]
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    calls = sum(one.calls for one in ones)
    count = f"{len(ones)} of {len(coverage.operators)} operators"
    told = f"{count}, {calls} of {coverage.inventory.calls} calls: {', '.join(names[:FEW])}{more}"
    grades = Counter(one.decision.grade for one in ones if one.decision.grade)
    if grades:
        return f"{told}; {', '.join(f'{number} {grade}' for grade, number in grades.items())}"
    return f"{ones[0].decision.said}; {told}"


def _remedy(one: Covered, coverage: Coverage) -> str:
    decision, table = one.decision, coverage.platform.asked
    if decision.remedy:
        return decision.remedy
    if table is None and decision.found is not Class.UNSUPPORTED:
        return ELSEWHERE if coverage.inventory.reader in RUNTIMES else ASK
    own = one.operator.partition("::")[0] in OWN
    unheard = table is not None and one.operator not in table.entries
    if decision.found is Class.UNSUPPORTED and own and unheard:
        met = dict(coverage.inventory.tools).get("torch", "")
        with_what = f" (it was read with torch {met})" if met else ""
        return f"Read the model with the platform's torch{with_what}, or take a torch that has it."
    return REMEDIES[decision.found]
