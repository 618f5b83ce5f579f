"""What a verdict says of limits, parameters and other things that no version tells."""

from __future__ import annotations

import pytest
from _stacks import DARK, GONE, TODAY, fact, matrix, node, only, snapshot

from mxenv.facts import Reading, Value, View
from mxenv.judgement import judge
from mxenv.verdict import Finding, Outcome

PAIR = """
[[tested]]
id = "pair"
card = "C500"
kmd = "3.8.30"
sdk = "3.5.3.20"
works = true
kernel = "5.15.0-58"
EVIDENCE
"""
LIBC = """
[[requirement]]
id = "new-libc"
text = "glibc of 2.35 or newer"
when = ["metax.smi == 2.3.1"]
requires = ["libc.version >= 2.35"]
remedy = "take a newer system"
EVIDENCE
"""
KERNELS = """
[[requirement]]
id = "kernels"
text = "a kernel of the list"
requires = ["kernel.release in (5.15.0-72-*, 5.14.0)"]
EVIDENCE
"""
RUN = node(None, fact("metax.smi", "2.3.1"))


def found(rows: str, *more: tuple[str, Value | Reading], view: View = View.HOST) -> list[Finding]:
    known = matrix(PAIR + rows)
    place = snapshot(*RUN.facts, *(fact(*one) for one in more), view=view)
    verdict = judge(place, known, today=TODAY)
    return [f for f in verdict.findings if ":requirement:" in f.row]


def test_a_requirement_that_is_met_says_so() -> None:
    (met,) = found(LIBC, ("libc.version", "2.39"))
    assert (met.code, met.outcome, met.remedy) == ("MX125", Outcome.COMPATIBLE, "")
    assert met.row == "test.toml:requirement:new-libc"
    assert met.because


@pytest.mark.parametrize(
    ("severity", "outcome"),
    [
        ("incompatible", Outcome.INCOMPATIBLE),
        ("unknown", Outcome.UNKNOWN),
        ("advice", Outcome.COMPATIBLE),
    ],
)
def test_one_that_is_not_met_means_what_its_row_says(severity: str, outcome: Outcome) -> None:
    rows = LIBC.replace("remedy", f'severity = "{severity}"\nremedy')
    (unmet,) = found(rows, ("libc.version", "2.31"))
    assert (unmet.code, unmet.outcome) == ("MX126", outcome)
    assert (unmet.subject, unmet.remedy) == ("libc.version", "take a newer system")
    assert unmet.advice == (severity == "advice")
    assert ("glibc of 2.35 or newer" in unmet.found) == (severity == "advice")


def test_one_that_is_not_met_is_a_doubt_unless_its_row_says_more() -> None:
    (unmet,) = found(LIBC, ("libc.version", "2.31"))
    assert unmet.outcome is Outcome.UNKNOWN


def test_what_cannot_be_seen_is_advice_and_casts_no_doubt() -> None:
    (advice,) = found(LIBC, ("libc.version", DARK))
    assert (advice.code, advice.outcome) == ("MX127", Outcome.COMPATIBLE)
    assert advice.advice
    assert advice.found == (
        "glibc of 2.35 or newer; libc.version: unreadable, permission denied (test, host)"
    )
    assert advice.expected == "glibc of 2.35 or newer"
    assert advice.remedy == "take a newer system"


def test_whether_it_applies_may_be_unseen_as_well() -> None:
    rows = LIBC.replace("metax.smi == 2.3.1", "env[X] present")
    (advice,) = found(rows, ("libc.version", "2.31"))
    assert advice.code == "MX127"
    (met,) = found(rows, ("libc.version", "2.39"))
    assert met.code == "MX125"


def test_what_no_fact_can_tell_is_told_to_whom_it_concerns() -> None:
    rows = LIBC.replace('requires = ["libc.version >= 2.35"]\n', "")
    (advice,) = found(rows)
    assert (advice.code, advice.subject) == ("MX127", "metax.smi")
    assert advice.found == "glibc of 2.35 or newer"
    of_a_wheel = rows.replace("metax.smi == 2.3.1", "python.package[torch] absent")
    (advice,) = found(of_a_wheel)
    assert advice.subject == "torch"


def test_what_concerns_another_place_is_not_told() -> None:
    rows = LIBC.replace("2.3.1", "2.2.9")
    assert found(rows, ("libc.version", "2.31")) == []
    assert found(rows.replace("when = ", 'applies = "HAMi" #').replace("requires", "#")) == []


def test_an_image_is_not_asked_about_the_kernel_it_will_run_on() -> None:
    here = ("kernel.release", "5.15.0-112-generic")
    assert found(KERNELS, here, view=View.IMAGE) == []
    (unmet,) = found(KERNELS, here)
    assert (unmet.code, unmet.subject) == ("MX126", "kernel.release")
    assert found(LIBC, ("libc.version", "2.31"), view=View.IMAGE)


class TestKernelsThatWereTried:
    """A list of kernels is of those that somebody tried; tested rows name more of them."""

    def test_a_kernel_of_the_list_is_met_in_any_flavour(self) -> None:
        for release in ("5.15.0-72-generic", "5.15.0-72", "5.14.0"):
            (met,) = found(KERNELS, ("kernel.release", release))
            assert met.code == "MX125", release

    def test_a_kernel_with_the_same_beginning_is_another_one(self) -> None:
        for release in ("5.15.0-721-generic", "5.15.0-7", "5.14.0-3"):
            (unmet,) = found(KERNELS, ("kernel.release", release))
            assert unmet.code == "MX126", release

    def test_one_on_which_this_driver_was_seen_working_is_as_good(self) -> None:
        (seen,) = found(KERNELS, ("kernel.release", "5.15.0-58-generic"))
        assert (seen.code, seen.outcome) == ("MX118", Outcome.COMPATIBLE)
        assert "seen working all the same: test.toml:tested:pair" in seen.found
        assert len(seen.because) == 2

    def test_another_driver_on_that_kernel_is_not(self) -> None:
        known = matrix(PAIR.replace("3.8.30", "3.4.3") + KERNELS)
        place = snapshot(*RUN.facts, fact("kernel.release", "5.15.0-58-generic"))
        assert only(judge(place, known, today=TODAY), "MX126").outcome is Outcome.UNKNOWN

    def test_a_kernel_that_is_not_there_is_no_tested_one(self) -> None:
        (unmet,) = found(KERNELS, ("kernel.release", GONE))
        assert unmet.code == "MX126"


def test_a_part_that_fails_is_a_doubt_and_no_verdict() -> None:
    rows = (
        '[[broken]]\nid = "part"\ntext = "one operator faults"\nwhen = ["metax.smi == 2.3.1"]\n'
        'severity = "unknown"\nEVIDENCE\n'
    )
    verdict = judge(RUN, matrix(PAIR + rows), today=TODAY)
    assert only(verdict, "MX114").outcome is Outcome.UNKNOWN
