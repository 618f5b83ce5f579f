"""On what a finding rests where no row of a matrix does: on what mxenv itself looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv.codes import CODES
from mxenv.verdict import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.verdict import Finding

GRADE = "observed"


def grounded(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield every finding with a reason; one that a row speaks for has its evidence already."""
    for finding in findings:
        if finding.because:
            yield finding
        else:
            how = CODES[finding.code].how
            said = Evidence(link=f"mxenv explain {finding.code}", who=f"mxenv: {how}", grade=GRADE)
            yield replace(finding, because=(said,))
