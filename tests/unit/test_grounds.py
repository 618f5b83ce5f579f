"""No finding is without a reason, and a row's own evidence stays as it is."""

from __future__ import annotations

from mxenv.codes import CODES
from mxenv.grounds import grounded
from mxenv.verdict import Evidence, Finding, Outcome

ROW = Evidence(link="x", who="V", grade="vendor")
BARE = Finding(code="MX104", outcome=Outcome.UNKNOWN, subject="metax.sdk", found="absent")
OF_A_ROW = Finding(
    code="MX111", outcome=Outcome.INCOMPATIBLE, subject="torch", found="2.8", because=(ROW,)
)


def test_what_no_row_says_rests_on_what_was_looked_at() -> None:
    bare, of_a_row = grounded((BARE, OF_A_ROW))
    (said,) = bare.because
    assert (said.link, said.grade) == ("mxenv explain MX104", "observed")
    assert said.who == f"mxenv: {CODES['MX104'].how}"
    assert of_a_row == OF_A_ROW
