from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _stacks import DARK, GONE, KEYS, fact, snapshot

from mxenv.constraint import Agreement, Constraint
from mxenv.errors import UsageError
from mxenv.selector import Selector
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from mxenv.facts import Reading, Value

GOOD, BAD, DUNNO = Outcome.COMPATIBLE, Outcome.INCOMPATIBLE, Outcome.UNKNOWN


def held(text: str, value: Value | Reading, key: str = "metax.sdk") -> Outcome:
    constraint = Constraint.parse(text, keys=KEYS)
    (check,) = constraint.check(snapshot(fact(key, value)))
    return check.outcome


@pytest.mark.parametrize(
    "text",
    [
        "metax.sdk == 3.5.3.20",
        "metax.sdk == 3.5.3.*",
        "metax.sdk != 3.5.3.*",
        "metax.sdk >= 3.7, < 3.8",
        "metax.device.model in (C500, C550)",
        "python.package[torch].sdk == 3.5.3.*",
        "python.package[torch] tagged",
        "metax.node[/dev/mxcd] present",
        "env[MACA_PATH] absent",
    ],
)
def test_a_constraint_is_written_as_it_was_read(text: str) -> None:
    assert str(Constraint.parse(f"  {text} ", keys=KEYS)) == text.replace("model in", "model[*] in")


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("metax.sdk == 3.5.3.20", "3.5.3.20", GOOD),
        ("metax.sdk == 3.5.3.20", "3.5.3.21", BAD),
        ("metax.sdk == 3.5.3.*", "3.5.3.20", GOOD),
        ("metax.sdk == 3.5.3.*", "3.5.4.0", BAD),
        ("metax.sdk == 3.5.3.*", "3.5", DUNNO),
        ("metax.sdk == 3.5.3.*", "unknown", DUNNO),
        ("metax.sdk != 3.5.3.*", "3.5.3.20", BAD),
        ("metax.sdk != 3.5.3.*", "3.5.4.0", GOOD),
        ("metax.sdk != 3.5.3.*", "3.5", DUNNO),
        ("metax.sdk >= 2.23.0.1018", "2.23.0.1018", GOOD),
        ("metax.sdk >= 2.23.0.1018", "2.23.0.16", BAD),
        ("metax.sdk >= 3.7, < 3.8", "3.7.1.5", GOOD),
        ("metax.sdk >= 3.7,< 3.8", "3.8.0.7", BAD),
        ("metax.sdk > 3.7", "3.7", BAD),
        ("metax.sdk <= 3.7", "3.7", GOOD),
        ("metax.sdk < 1000", "20251011.746", BAD),
        ("metax.sdk >= 3.7", "unknown", DUNNO),
        ("metax.sdk in (3.5.3.*, 3.7.0.38)", "3.7.0.38", GOOD),
        ("metax.sdk in (3.5.3.*, 3.7.0.38)", "3.7.0.37", BAD),
        ("metax.sdk present", "3.5.3.20", GOOD),
        ("metax.sdk absent", "3.5.3.20", BAD),
        ("metax.sdk absent", GONE, GOOD),
        ("metax.sdk present", GONE, BAD),
        ("metax.sdk != 3.5.3.*", GONE, BAD),
        ("metax.sdk absent", DARK, DUNNO),
        ("metax.sdk present", DARK, DUNNO),
        ("metax.sdk == 3.5.3.*", ("3.5.3.20", "3.5.3.18"), GOOD),
        ("metax.sdk == 3.5.3.*", ("3.5.3.20", "3.7.0.38"), BAD),
        ("metax.sdk == 3.5.3.*", (), DUNNO),
    ],
)
def test_a_value_is_held_against_a_constraint(
    text: str, value: Value | Reading, expected: Outcome
) -> None:
    assert held(text, value) is expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("kernel.release == 5.15.0-58-*", "5.15.0-58-generic", GOOD),
        ("kernel.release == 5.15.0-58-*", "5.15.0-58", GOOD),
        ("kernel.release == 5.15.0-5-*", "5.15.0-58-generic", BAD),
        ("kernel.release != 5.15.0-58-*", "5.15.0-58-generic", BAD),
        ("kernel.release in (5.4.0-42-*, 5.14.0)", "5.4.0-42-generic", GOOD),
    ],
)
def test_a_kernel_is_of_a_build_whatever_its_flavour(
    text: str, value: str, expected: Outcome
) -> None:
    assert held(text, value, "kernel.release") is expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("metax.device.count >= 2", 16, GOOD),
        ("metax.device.count >= 2", 1, BAD),
        ("metax.device.count == 8", 8, GOOD),
        ("metax.device.count == 8", 8.5, BAD),
        ("metax.device.count == eight", 8, BAD),
        ("metax.device.count < 1.10", 1.5, BAD),
        ("metax.device.count > 3.7.1", 8, GOOD),
    ],
)
def test_numbers_order_as_numbers(text: str, value: Value, expected: Outcome) -> None:
    assert held(text, value, "metax.device.count") is expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("python.package[torch] tagged", "2.8.0+metax3.5.3.9", GOOD),
        ("python.package[torch] tagged", "2.8.0", BAD),
        ("python.package[torch] untagged", "2.8.0+cu124", BAD),
        ("python.package[torch] untagged", "2.10.0+cpu", GOOD),
        ("python.package[torch].vendor == metax", "2.8.0+maca3.5.3.9", GOOD),
        ("python.package[torch].vendor == metax", "2.8.0+cu124", BAD),
        ("python.package[torch].sdk == 3.5.3.*", "2.8.0+metax3.5.3.9", GOOD),
        ("python.package[torch].sdk == 3.5.3.*", "2.8.0", DUNNO),
        ("python.package[torch].public == 2.8", "2.8.0+metax3.5.3.9", GOOD),
    ],
)
def test_a_part_of_a_version_is_held_against_a_constraint(
    text: str, value: str, expected: Outcome
) -> None:
    assert held(text, value, "python.package[/opt/conda/torch]") is expected


def test_one_bad_device_among_good_ones_is_found() -> None:
    constraint = Constraint.parse("metax.device.bios >= 1.13", keys=KEYS)
    node = snapshot(fact("metax.device.bios[a]", "1.13.5.0"), fact("metax.device.bios[b]", "1.9"))
    checks = list(constraint.check(node))
    assert [check.outcome for check in checks] == [GOOD, BAD]
    assert checks[1].found == "metax.device.bios[b]: 1.9 (test, host)"
    assert checks[1].expected == "metax.device.bios[*] >= 1.13"


@pytest.mark.parametrize(
    "text",
    [
        "metax.sdk",
        "metax.sdk ==",
        "metax.sdk 3.5.3",
        "metax.sdk like 3.5",
        "metax.sdk present 3.5",
        "metax.sdk in 3.5",
        "metax.sdk in ()",
        "metax.sdk == (3.5)",
        "metax.sdk >= 3.5.*",
        "metax.sdk >= new",
        "metax.sdk == C5.*x, ",
        "metax.sdk == x.*",
        "metax.sdk == 3.5) <",
        "!",
    ],
)
def test_what_is_no_constraint_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Constraint.parse(text, keys=KEYS)
    assert caught.value.hint.startswith("a constraint reads")


class TestAgreement:
    """Two facts agree in their first fields."""

    @staticmethod
    def relation(left: str, right: str, *, fields: int = 3, but: tuple[str, ...] = ()) -> Agreement:
        return Agreement(
            left=Selector.parse(left, keys=KEYS),
            right=Selector.parse(right, keys=KEYS),
            fields=fields,
            but=but,
        )

    def outcomes(self, relation: Agreement, *labels: tuple[str, Value | Reading]) -> list[Outcome]:
        checks = relation.check(snapshot(*(fact(label, value) for label, value in labels)))
        return [check.outcome for check in checks]

    @pytest.mark.parametrize(
        ("torch", "sdk", "expected"),
        [
            ("2.8.0+metax3.5.3.9", "3.5.3.20", [GOOD]),
            ("2.8.0+metax3.5.3.9", "3.7.0.38", [BAD]),
            ("2.8.0+metax3.5.3.9", "3.5", [DUNNO]),
            ("2.8.0+metax3.5.3.9", GONE, [BAD]),
            ("2.8.0+metax3.5.3.9", DARK, [DUNNO]),
            (DARK, "3.5.3.20", [DUNNO]),
            (DARK, GONE, [DUNNO]),
            (GONE, "3.5.3.20", []),
            ("2.8.0", "3.5.3.20", []),
            ("2.8.0+cu124", "3.5.3.20", []),
        ],
    )
    def test_a_wheel_agrees_with_the_sdk_or_not(
        self, torch: Value | Reading, sdk: Value | Reading, expected: list[Outcome]
    ) -> None:
        relation = self.relation("python.package[*].sdk", "metax.sdk")
        labels = (("python.package[/opt/conda/torch]", torch), ("metax.sdk", sdk))
        assert self.outcomes(relation, *labels) == expected

    def test_what_another_row_speaks_of_is_left_out(self) -> None:
        relation = self.relation("python.package[*].sdk", "metax.sdk", but=("mcoplib",))
        labels = (
            ("python.package[/opt/conda/mcoplib]", "0.4.6+maca3.7.1.5.torch2.8"),
            ("python.package[/opt/conda/apex]", "0.1+metax3.5.3.9"),
            ("metax.sdk", "3.5.3.20"),
        )
        assert self.outcomes(relation, *labels) == [GOOD]

    def test_a_tag_agrees_with_a_whole_version(self) -> None:
        relation = self.relation("python.package[*].torch", "python.package[torch]", fields=2)
        node = snapshot(
            fact("python.package[/e/mcoplib]", "0.4.7+maca3.8.0.23.torch2.10"),
            fact("python.package[/e/torch]", "2.8.0+metax3.8.0.7"),
        )
        (check,) = relation.check(node)
        assert check.outcome is BAD
        assert check.about == {"mcoplib", "torch"}
        assert check.expected == "the first 2 fields of python.package[torch], which are 2.8"

    def test_two_parts_without_a_version_are_not_alike(self) -> None:
        relation = self.relation("python.package[a]", "python.package[b].sdk")
        labels = (("python.package[/e/a]", "1.0.0"), ("python.package[/e/b]", "2.0"))
        assert self.outcomes(relation, *labels) == [DUNNO]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python.package[*].sdk == 3.5.3.*", GOOD),
        ("python.package[*].sdk == 3.7.0.*", BAD),
        ("python.package[*].sdk == 3.5.3.9.*", DUNNO),
        ("python.package[plain].sdk == 3.5.3.*", DUNNO),
    ],
)
def test_the_best_of_all_instances_is_told_without_what_was_found(
    text: str, expected: Outcome
) -> None:
    node = snapshot(
        fact("python.package[/e/apex]", "0.1+metax3.5.3"),
        fact("python.package[/e/plain]", "1.0"),
        fact("python.package[/e/torch]", "2.8.0+metax3.8.0.7"),
    )
    constraint = Constraint.parse(text, keys=KEYS)
    assert constraint.best(node) is expected
    assert constraint.best(node) is max(check.outcome for check in constraint.check(node))


def test_a_name_that_nobody_asked_for_is_unknown_and_not_unset() -> None:
    asked = snapshot(fact("env[MACA_PATH]", GONE), fact("env[CUDA_PATH]", "/opt"))
    for text in ("env[VLLM_X] absent", "env[VLLM_X] present"):
        (check,) = Constraint.parse(text, keys=KEYS).check(asked)
        assert check.outcome is DUNNO
        assert "not asked" in check.found
    (check,) = Constraint.parse("env[MACA_PATH] absent", keys=KEYS).check(asked)
    assert check.outcome is GOOD


def test_what_is_not_in_a_list_that_was_read_is_absent() -> None:
    listed = snapshot(fact("python.package[/e/torch]", "2.8.0"), fact("python.package[/e/a]", GONE))
    (check,) = Constraint.parse("python.package[vllm] absent", keys=KEYS).check(listed)
    assert check.outcome is GOOD


def test_what_holds_of_all_that_were_read_may_not_hold_of_the_rest() -> None:
    cut = snapshot(fact("metax.device.model[a]", "C500"), fact("metax.device.model", DARK))
    constraint = Constraint.parse("metax.device.model == C500", keys=KEYS)
    assert [check.outcome for check in constraint.check(cut)] == [GOOD, DUNNO]
    assert constraint.best(cut) is GOOD
    constraint = Constraint.parse("metax.device.model == C550", keys=KEYS)
    assert constraint.best(cut) is DUNNO
