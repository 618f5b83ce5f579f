from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mxenv.verdict import Finding, Outcome, Verdict

findings = st.builds(
    Finding,
    code=st.just("MX101"),
    outcome=st.sampled_from(Outcome),
    subject=st.just("s"),
    found=st.just("f"),
)


class TestOutcomeIsAConjunction:
    """A verdict is as good as its worst finding, and no finding can raise it."""

    @given(st.lists(findings, min_size=1), findings)
    def test_one_more_finding_never_improves_a_verdict(
        self, before: list[Finding], extra: Finding
    ) -> None:
        outcome = Verdict(subject="n", findings=tuple(before)).outcome
        assert Verdict(subject="n", findings=(*before, extra)).outcome <= outcome

    @given(st.permutations([Outcome.COMPATIBLE, Outcome.UNKNOWN, Outcome.INCOMPATIBLE]))
    def test_the_order_of_findings_does_not_matter(self, outcomes: list[Outcome]) -> None:
        made = tuple(
            Finding(code="MX101", outcome=outcome, subject="s", found="f") for outcome in outcomes
        )
        assert Verdict(subject="n", findings=made).outcome is Outcome.INCOMPATIBLE
