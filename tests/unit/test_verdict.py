from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from mxenv.verdict import Finding, Outcome, Verdict, Waiver

WAIVER = Waiver(code="MX101", reason="known", owner="ops", expires=date(2027, 1, 1))


def finding(outcome: Outcome, waiver: Waiver | None = None) -> Finding:
    return Finding(code="MX101", outcome=outcome, subject="s", found="f", waiver=waiver)


def test_having_checked_nothing_is_not_compatibility() -> None:
    assert Verdict(subject="n", findings=()).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("worst", list(Outcome))
def test_a_verdict_is_as_good_as_its_worst_finding(worst: Outcome) -> None:
    findings = (finding(Outcome.COMPATIBLE), finding(worst))
    assert Verdict(subject="n", findings=findings).outcome is worst


def test_a_waived_finding_stands_but_does_not_count() -> None:
    findings = (finding(Outcome.COMPATIBLE), finding(Outcome.INCOMPATIBLE, WAIVER))
    assert Verdict(subject="n", findings=findings).outcome is Outcome.COMPATIBLE


def test_only_waived_findings_are_not_compatibility() -> None:
    findings = (finding(Outcome.INCOMPATIBLE, WAIVER),)
    assert Verdict(subject="n", findings=findings).outcome is Outcome.UNKNOWN


def test_advice_counts_neither_for_nor_against_anything() -> None:
    advice = replace(finding(Outcome.COMPATIBLE), advice=True)
    assert Verdict(subject="n", findings=(advice,)).outcome is Outcome.UNKNOWN
    for outcome in Outcome:
        assert Verdict(subject="n", findings=(finding(outcome), advice)).outcome is outcome


def test_a_finding_is_told_in_a_word() -> None:
    told = [finding(Outcome.UNKNOWN), finding(Outcome.UNKNOWN, WAIVER)]
    told.append(replace(told[0], outcome=Outcome.COMPATIBLE, advice=True))
    assert [one.word for one in told] == ["unknown", "waived", "advice"]


def test_files_and_reports_have_outcomes_in_lower_case() -> None:
    assert [outcome.word for outcome in Outcome] == ["incompatible", "unknown", "compatible"]


def test_a_waiver_holds_on_its_last_day_and_not_after_it() -> None:
    assert WAIVER.holds(date(2027, 1, 1))
    assert not WAIVER.holds(date(2027, 1, 2))
