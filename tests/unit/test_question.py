from __future__ import annotations

from mxenv.facts import Unreadable
from mxenv.question import Answers, Command, Completed, File, Found


def test_a_question_that_was_never_asked_is_unreadable() -> None:
    assert Answers()[File("/etc/os-release")] == Unreadable("not asked")
    assert Answers()[Command(("mx-smi",))] == Unreadable("not asked")


def test_of_two_answers_to_one_question_the_later_counts() -> None:
    question = File("/a")
    first, second = Answers({question: Found("1")}), Answers({question: Found("2")})
    assert (first | second)[question] == Found("2")
    assert list(first | second) == [question]


def test_a_missing_command_and_one_that_took_too_long_are_answers() -> None:
    assert Completed(127).missing
    assert not Completed(127).timed_out
    assert Completed(124).timed_out
    assert not Completed(1).missing
