from __future__ import annotations

from dataclasses import replace
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest
from _stacks import DARK, ENV, GONE, TODAY, codes, fact, matrix, node, only, snapshot

from mxenv.codes import CODES, explain
from mxenv.environment import within
from mxenv.facts import Reading, Snapshot, Value, View
from mxenv.judgement import judge, waive
from mxenv.verdict import Outcome, Verdict, Waiver

if TYPE_CHECKING:
    from mxenv.matrix import Matrix

RELEASES = """
[[release]]
id = "set-a"
sdk = "3.5.3.*"
EVIDENCE
[release.components]
torch = "2.8.0+metax3.5.3.9"
apex = "0.1+metax3.5.3.9"
mcoplib = "0.4.2+maca3.5.3.20.torch2.8"
plugin = "0.17.0"

[[release]]
id = "set-b"
sdk = "3.5.3.*"
EVIDENCE
[release.components]
torch = "2.8.0+metax3.5.3.9"
apex = "0.1+metax3.5.3.9"
mcoplib = "0.4.3+maca3.5.3.20.torch2.8"
plugin = "0.18.0"

[[release]]
id = "set-c"
sdk = "3.7.0.*"
EVIDENCE
[release.components]
torch = "2.8.0+metax3.7.0.7"
apex = "0.1+metax3.7.0.7"
mcoplib = "0.4.5+maca3.7.0.37.torch2.8"
"""
PAIRS = """
[[tested]]
id = "pair"
card = "C500"
kmd = "3.8.30"
sdk = "3.5.3.20"
works = true
EVIDENCE

[[tested]]
id = "old"
card = "C500"
kmd = "3.4.3"
sdk = "3.7.0.38"
works = true
EVIDENCE

[[series]]
id = "c500"
cards = ["C500", "C550"]
EVIDENCE
"""
RULES = """
[[rule]]
id = "same-sdk"
text = "a wheel agrees with the SDK"
agree = [{ left = "python.package[*].sdk", right = "metax.sdk", fields = 3, but = ["mcoplib"] }]
remedy = "reinstall it"
EVIDENCE

[[rule]]
id = "mcoplib"
text = "mcoplib agrees in two fields"
agree = [{ left = "python.package[mcoplib].sdk", right = "metax.sdk", fields = 2 }]
EVIDENCE
"""
WHOLE = matrix(RELEASES + PAIRS + RULES)
SET_A = {
    "torch": "2.8.0+metax3.5.3.9",
    "apex": "0.1+metax3.5.3.9",
    "mcoplib": "0.4.2+maca3.5.3.20.torch2.8",
    "plugin": "0.17.0",
    "numpy": "1.26.4",
}


def judged(found: Snapshot, known: Matrix = WHOLE, *, waivers: tuple[Waiver, ...] = ()) -> Verdict:
    return judge(found, known, waivers=waivers, today=TODAY)


def test_a_covered_node_is_compatible_and_says_by_what() -> None:
    verdict = judged(node(SET_A))
    assert verdict.outcome is Outcome.COMPATIBLE
    assert verdict.subject == "node-1"
    assert verdict.matrix == WHOLE.digest
    covered = {f.subject: f.row for f in verdict.findings if f.code == "MX109"}
    assert covered == {
        "metax.sdk": "test.toml:release:set-a",
        "apex": "test.toml:release:set-a",
        "mcoplib": "test.toml:release:set-a",
        "plugin": "test.toml:release:set-a",
        "torch": "test.toml:release:set-a",
    }
    assert only(verdict, "MX106").row == "test.toml:tested:pair"
    assert all(f.because for f in verdict.findings)


def test_a_driver_and_an_sdk_alone_are_judged_as_well() -> None:
    assert judged(node()).outcome is Outcome.COMPATIBLE


def test_shared_objects_that_cannot_be_loaded_count_and_those_that_nobody_read_do_not() -> None:
    site = f"{ENV}/lib/python3.10/site-packages"
    around = fact(f"python.site[{ENV}]", (site,))
    path = f"elf.undefined[{site}/mcoplib/_C.so]"
    assert judged(node(SET_A, around, fact(path, DARK))).outcome is Outcome.COMPATIBLE
    verdict = judged(node(SET_A, around, fact(path, ("_ZN3c104cudaE",))))
    assert verdict.outcome is Outcome.INCOMPATIBLE
    assert codes(verdict) == ["MX123"]


def test_every_code_is_explained() -> None:
    assert explain(" mx101 ") is CODES["MX101"]
    assert explain("MX000") is None
    for code in CODES.values():
        assert code.title
        assert code.meaning.endswith(".")
        assert code.remedy.endswith((".", "`"))


class TestCoverage:
    """What no row covers is unknown, and the nearest row is named."""

    def test_a_newer_driver_is_unknown_and_the_nearest_pair_is_named(self) -> None:
        found = only(judged(node(SET_A, kmd="3.9.1")), "MX105")
        assert found.outcome is Outcome.UNKNOWN
        assert "test.toml:tested:pair (driver 3.8.30, here 3.9.1, newer than any tested)" in (
            found.expected
        )

    def test_an_older_driver_is_unknown(self) -> None:
        found = only(judged(node(SET_A, kmd="3.4.3")), "MX105")
        assert "driver 3.8.30, here 3.4.3)" in found.expected

    def test_a_card_of_the_series_is_covered_and_another_is_not(self) -> None:
        assert judged(node(SET_A, model="C550")).outcome is Outcome.COMPATIBLE
        found = only(judged(node(SET_A, model="C600")), "MX105")
        assert "(card C500, here C600)" in found.expected

    def test_a_card_that_nobody_could_name_is_not_covered(self) -> None:
        found = only(judged(node(SET_A, model=DARK)), "MX105")
        assert found.found.endswith("cards: unknown")

    def test_without_any_pair_there_is_no_nearest(self) -> None:
        found = only(judged(node(SET_A), matrix(RELEASES)), "MX105")
        assert found.expected == "a driver and an SDK that were seen working together"

    def test_an_sdk_newer_than_the_matrix_is_unknown(self) -> None:
        found = only(judged(node(sdk="3.9.0.1")), "MX107")
        assert found.expected.endswith("nearest: 3.7.0, older")
        between = only(judged(node(sdk="3.6.0.1")), "MX107")
        assert between.expected.endswith("nearest: 3.5.3, older; 3.7.0, newer")
        nothing = only(judged(node(sdk="3.6.0.1"), matrix("")), "MX107")
        assert nothing.expected.endswith("none, the matrix knows no SDK")

    def test_the_nearest_pair_differs_in_as_little_as_possible(self) -> None:
        found = only(judged(node(sdk="3.6.0.1")), "MX105")
        assert "test.toml:tested:pair (SDK 3.5.3.20, here 3.6.0.1)" in found.expected

    def test_the_fourth_field_of_an_sdk_counts_for_itself(self) -> None:
        assert judged(node(SET_A, sdk="3.5.3.307")).outcome is Outcome.COMPATIBLE

    def test_parts_of_two_releases_of_one_sdk_are_unknown(self) -> None:
        verdict = judged(node({**SET_A, "mcoplib": "0.4.3+maca3.5.3.20.torch2.8"}))
        assert codes(verdict) == ["MX108", "MX108"]
        first, second = (f for f in verdict.findings if f.code == "MX108")
        assert (first.subject, second.subject) == ("apex, plugin, torch", "mcoplib")
        assert first.found == (
            "3 as test.toml:release:set-a has them, beside mcoplib 0.4.3+maca3.5.3.20.torch2.8 "
            "(/opt/conda, host)"
        )
        assert first.expected == "beside mcoplib 0.4.2+maca3.5.3.20.torch2.8"
        assert second.found == (
            "1 as test.toml:release:set-b has them, beside plugin 0.17.0 (/opt/conda, host)"
        )

    def test_what_a_recognised_row_pins_must_be_covered_without_a_tag_too(self) -> None:
        verdict = judged(node({**SET_A, "plugin": "0.19.0"}))
        own = next(f for f in verdict.findings if f.code == "MX108" and f.subject == "plugin")
        assert own.expected == "plugin 0.17.0, as test.toml:release:set-a has it"
        assert own.remedy.startswith("install the set of set-a")
        assert verdict.outcome is Outcome.UNKNOWN

    def test_a_wheel_that_no_row_names_is_unknown(self) -> None:
        found = only(judged(node({**SET_A, "flashy": "1.0+metax3.5.3.9"})), "MX108")
        assert found.subject == "flashy"
        assert [piece.link for piece in found.because] == ["mxenv explain MX108"]
        assert found.expected == "a version that some row names for the SDK 3.5.3.20"

    def test_an_upstream_framework_is_named_as_well(self) -> None:
        found = only(judged(node({"tensorflow": "2.13.1"})), "MX108")
        assert found.subject == "tensorflow"

    def test_the_release_that_a_wheel_comes_from_is_named(self) -> None:
        verdict = judged(node({**SET_A, "torch": "2.8.0+metax3.7.0.7"}))
        found = next(f for f in verdict.findings if f.code == "MX108" and f.subject == "torch")
        assert found.found.endswith("; it comes with set-c (SDK 3.7.0.*)")

    @pytest.mark.parametrize("value", [GONE, DARK])
    def test_a_driver_or_sdk_that_is_not_there_or_dark_is_never_compatible(
        self, value: Reading
    ) -> None:
        code = "MX104" if value == GONE else "MX103"
        assert only(judged(node(SET_A, sdk=value)), code).subject == "metax.sdk"
        found = only(judged(node(SET_A, kmd=value)), code)
        assert found.outcome is (Outcome.INCOMPATIBLE if value == GONE else Outcome.UNKNOWN)

    def test_a_driver_that_is_missing_beside_unknown_cards_is_unknown(self) -> None:
        found = only(judged(node(SET_A, kmd=GONE, model=None, count=DARK)), "MX104")
        assert found.outcome is Outcome.UNKNOWN

    def test_a_distribution_that_could_not_be_read_is_unknown(self) -> None:
        found = only(judged(node({**SET_A, "apex": DARK})), "MX103")
        assert "apex]: unreadable, permission denied" in found.found

    def test_a_rule_of_the_vendor_can_cover_driver_and_sdk(self) -> None:
        vouched = matrix(
            RELEASES
            + '[[rule]]\nid = "range"\ntext = "any driver from 3.8 on"\ncovers = "driver"\n'
            'requires = ["metax.kmd >= 3.8"]\nEVIDENCE\n'
        )
        found = only(judged(node(SET_A), vouched), "MX106")
        assert found.row == "test.toml:rule:range"
        assert "MX106" not in {f.code for f in judged(node(SET_A, kmd="3.4.3"), vouched).findings}


class TestImages:
    """An image is judged without a driver and without cards."""

    IMAGE = node(SET_A, kmd=None, model=None, count=None, view=View.IMAGE)

    def test_the_host_is_not_asked_for_and_the_verdict_says_so(self) -> None:
        verdict = judged(self.IMAGE)
        assert verdict.outcome is Outcome.COMPATIBLE
        assert only(verdict, "MX117").found == "not asked: an image holds no driver and no card"

    def test_rules_about_the_host_are_left_to_the_host(self) -> None:
        known = matrix(
            RELEASES
            + '[[rule]]\nid = "r"\ntext = "t"\nrequires = ["metax.kmd >= 9"]\nEVIDENCE\n'
            + '[[broken]]\nid = "b"\ntext = "t"\nwhen = ["metax.device.count >= 2"]\nEVIDENCE\n'
        )
        assert codes(judged(self.IMAGE, known)) == []
        assert codes(judged(node(SET_A), known)) == ["MX105", "MX111"]

    def test_an_image_with_nothing_of_the_vendors_is_unknown(self) -> None:
        empty = node({"numpy": "1.26.4"}, sdk=GONE, kmd=None, model=None, count=None)
        verdict = judged(replace(empty, view=View.IMAGE))
        assert codes(verdict) == ["MX101"]
        assert only(verdict, "MX101").found == (
            "no MetaX SDK and no wheel built for one here (not asked, image)"
        )


class TestMixtures:
    """Versions of several SDK families are a mixture, and each is said where it comes from."""

    def test_a_mixture_says_which_component_comes_from_which_release(self) -> None:
        mixed = {**SET_A, "mcoplib": "0.4.5+maca3.7.0.37.torch2.8", "odd": "1+metax3.3.0.2"}
        found = only(judged(node(mixed)), "MX110")
        assert found.outcome is Outcome.INCOMPATIBLE
        assert found.subject == "odd, mcoplib"
        assert found.found == (
            "of SDK 3.3.0 (no known release): odd 1+metax3.3.0.2; "
            "of SDK 3.5.3 (release set-a): metax.sdk 3.5.3.20, apex 0.1+metax3.5.3.9, "
            "torch 2.8.0+metax3.5.3.9; "
            "of SDK 3.7.0 (release set-c): mcoplib 0.4.5+maca3.7.0.37.torch2.8 "
            "(/opt/conda and test, host)"
        )
        assert found.row == "test.toml:rule:same-sdk"

    def test_a_mixture_is_seen_without_an_sdk(self) -> None:
        mixed = {**SET_A, "apex": "0.1+metax3.7.0.7", "other": "1+metax3.5.3.9"}
        found = only(judged(node(mixed, sdk=DARK)), "MX110")
        assert (found.subject, found.row) == ("apex", "")
        assert [piece.link for piece in found.because] == ["mxenv explain MX110"]

    def test_a_third_field_that_no_rule_minds_is_no_mixture_but_unknown(self) -> None:
        verdict = judged(node({**SET_A, "mcoplib": "0.4.2+maca3.5.2.20.torch2.8"}))
        assert verdict.outcome is Outcome.UNKNOWN
        assert codes(verdict) == ["MX108", "MX108"]


class TestExactEvidence:
    """What was seen working on this very node beats a general rule."""

    SEEN = """
[[tested]]
id = "branch"
card = "C500"
kmd = "3.8.30"
sdk = "3.5.3.20"
works = true
EVIDENCE
[tested.packages]
apex = "0.1+metax3.7.0.7"
mcoplib = "0.4.2+maca3.5.3.20.torch2.8"
torch = "2.8.0+metax3.5.3.9"
plugin = "0.17.0"
"""
    KNOWN = matrix(RELEASES + RULES + SEEN)
    MIXED = MappingProxyType({**SET_A, "apex": "0.1+metax3.7.0.7"})

    def test_a_tested_mixture_is_compatible_and_the_verdict_says_why(self) -> None:
        verdict = judged(node(self.MIXED), self.KNOWN)
        assert verdict.outcome is Outcome.COMPATIBLE
        found = only(verdict, "MX118")
        assert found.row == "test.toml:rule:same-sdk"
        assert found.found.endswith("seen working all the same: test.toml:tested:branch")

    def test_a_row_need_not_say_more_than_what_is_judged(self) -> None:
        all_of_it = self.SEEN.replace('plugin = "0.17.0"\n', "")
        rule = (
            '[[rule]]\nid = "new"\ntext = "apex needs a new driver and SDK"\n'
            'when = ["python.package[apex] present", "python.package[mcoplib] present", '
            '"python.package[torch] present"]\n'
            'requires = ["metax.kmd >= 9", "metax.sdk >= 9"]\nEVIDENCE\n'
        )
        parts = {name: self.MIXED[name] for name in ("apex", "mcoplib", "torch")}
        verdict = judged(node(parts), matrix(RELEASES + RULES + rule + all_of_it))
        assert verdict.outcome is Outcome.COMPATIBLE
        excused = [f.row for f in verdict.findings if f.code == "MX118"]
        assert excused == ["test.toml:rule:same-sdk", "test.toml:rule:new"]

    def test_one_difference_is_enough_to_fall_back_to_the_rule(self) -> None:
        for other in (
            node(self.MIXED, kmd="3.8.31"),
            node(self.MIXED, sdk="3.5.3.21"),
            node(self.MIXED, model="C550"),
            node({**self.MIXED, "torch": "2.8.0+metax3.5.3.10"}),
            node({name: self.MIXED[name] for name in ("apex", "mcoplib", "torch")}),
        ):
            assert judged(other, self.KNOWN).outcome is Outcome.INCOMPATIBLE

    def test_a_tested_row_excuses_only_what_it_names(self) -> None:
        mixed = {**self.MIXED, "extra": "1+metax3.7.0.7"}
        assert judged(node(mixed), self.KNOWN).outcome is Outcome.INCOMPATIBLE

    def test_a_release_with_another_version_of_a_tested_part_still_covers_its_own_parts(
        self,
    ) -> None:
        known = matrix(
            RELEASES.replace('plugin = "0.17.0"', 'plugin = "0.17.0"\nflashy = "1+metax3.5.3.9"')
            + RULES
            + self.SEEN
        )
        found = [
            f
            for f in judged(node({**self.MIXED, "flashy": "1+metax3.5.3.9"}), known).findings
            if f.subject == "flashy" and f.code == "MX109"
        ]
        assert [f.row for f in found] == ["test.toml:release:set-a"]


class TestRules:
    """A rule is an implication between things of which each may be unknown."""

    RULE = """
[[rule]]
id = "r"
text = "a C550 has a new BIOS"
when = ["metax.device.model == C550", "python.package[plugin] present"]
requires = ["metax.device.bios >= 1.13"]
severity = "SEVERITY"
remedy = "a newer BIOS"
EVIDENCE
"""
    HARD = matrix(RULE.replace("SEVERITY", "incompatible"))
    SOFT = matrix(RULE.replace("SEVERITY", "unknown"))

    @pytest.mark.parametrize(
        ("model", "bios", "expected"),
        [
            ("C550", "1.13.4.0", "MX113"),
            ("C550", "1.9.0.0", "MX111"),
            ("C550", DARK, "MX112"),
            ("C500", "1.9.0.0", ""),
            ("C500", DARK, ""),
            (DARK, "1.13.4.0", "MX113"),
            (DARK, "1.9.0.0", "MX112"),
        ],
    )
    def test_a_rule_is_kept_broken_undecided_or_silent(
        self, model: Value | Reading, bios: Value | Reading, expected: str
    ) -> None:
        more = fact("metax.device.bios[0000:0e:00.0]", bios)
        verdict = judged(node({"plugin": "0.17.0"}, more, model=model), self.HARD)
        found = [f.code for f in verdict.findings if f.row == "test.toml:rule:r"]
        assert found == ([expected] if expected else [])

    def test_an_undecided_rule_names_what_could_not_be_read_and_nothing_else(self) -> None:
        more = fact("metax.device.bios[0000:0e:00.0]", "1.9.0.0")
        found = only(judged(node({"plugin": "0.17.0"}, more, model=DARK), self.HARD), "MX112")
        assert found.subject == "metax.device.model[0000:0e:00.0]"
        assert "permission denied" in found.found

    def test_one_card_of_many_is_enough_for_a_rule_to_apply(self) -> None:
        more = (fact("metax.device.model[b]", "C550"), fact("metax.device.bios[b]", "1.9"))
        found = only(judged(node({"plugin": "0.17.0"}, *more), self.HARD), "MX111")
        assert (found.subject, found.outcome) == ("metax.device.bios[b]", Outcome.INCOMPATIBLE)
        assert (found.expected, found.remedy) == ("a C550 has a new BIOS", "a newer BIOS")

    def test_a_soft_rule_that_is_broken_is_unknown(self) -> None:
        more = fact("metax.device.bios[0000:0e:00.0]", "1.9")
        found = only(judged(node({"plugin": "0.17.0"}, more, model="C550"), self.SOFT), "MX111")
        assert found.outcome is Outcome.UNKNOWN

    def test_a_rule_that_finds_nothing_to_look_at_is_silent(self) -> None:
        known = matrix(RULES)
        assert [f.code for f in judged(node(), known).findings if f.row] == []


class TestKnownBreakages:
    """A node in a state that is known to be broken is told so."""

    KNOWN = matrix(
        PAIRS
        + """
[[broken]]
id = "hang"
text = "it hangs"
when = ["metax.kmd == 3.8.30", "metax.smi == 2.2.8"]
remedy = "a newer mx-smi"
EVIDENCE
"""
    )

    @pytest.mark.parametrize(
        ("smi", "code", "outcome", "subject"),
        [
            ("2.2.8", "MX114", Outcome.INCOMPATIBLE, "metax.kmd, metax.smi"),
            (DARK, "MX115", Outcome.UNKNOWN, "metax.smi"),
        ],
    )
    def test_it_is_in_it_or_may_be_and_what_decides_is_named(
        self, smi: Value | Reading, code: str, outcome: Outcome, subject: str
    ) -> None:
        found = only(judged(node(None, fact("metax.smi", smi)), self.KNOWN), code)
        assert (found.outcome, found.row) == (outcome, "test.toml:broken:hang")
        assert (found.subject, found.expected) == (subject, "not this: it hangs")

    def test_of_several_cards_those_that_it_is_about_are_named(self) -> None:
        row = '[[broken]]\nid = "b"\ntext = "t"\nwhen = ["metax.device.model == C550"]\nEVIDENCE\n'
        found = judged(node(None, fact("metax.device.model[b]", "C550")), matrix(PAIRS + row))
        assert only(found, "MX114").subject == "metax.device.model[b]"

    def test_another_state_is_not_it(self) -> None:
        verdict = judged(node(None, fact("metax.smi", "2.2.9")), self.KNOWN)
        assert not [f for f in verdict.findings if f.row.endswith("broken:hang")]


class TestPlaces:
    """Where there is nothing to judge, nothing is called compatible."""

    def test_a_node_without_anything_of_the_vendors_is_unknown(self) -> None:
        verdict = judged(node({"numpy": "1"}, kmd=GONE, sdk=GONE, count=0, model=None))
        assert verdict.outcome is Outcome.UNKNOWN
        assert [f.code for f in verdict.findings] == ["MX101"]
        assert only(verdict, "MX101").found == "no MetaX accelerator here (test, host)"

    def test_an_sdk_without_a_card_is_judged_and_still_unknown(self) -> None:
        verdict = judged(node(SET_A, kmd=GONE, count=0, model=None))
        assert codes(verdict) == ["MX101"]
        assert len(verdict.findings) > 1

    def test_a_node_of_which_nothing_is_known_is_unknown(self) -> None:
        verdict = judged(snapshot())
        assert verdict.outcome is Outcome.UNKNOWN
        assert {f.subject for f in verdict.findings} >= {"metax.kmd", "metax.sdk", "python.package"}

    def test_two_environments_that_could_be_in_use_are_named(self) -> None:
        more = fact("python.package[/opt/venv/torch]", "2.8.0+metax3.5.3.9")
        found = node(SET_A, more)
        verdict = judged(found)
        assert only(verdict, "MX102").found.endswith("/opt/conda, /opt/venv")
        assert only(verdict, "MX102").remedy == "name it: --env /opt/conda"
        assert verdict.outcome is Outcome.UNKNOWN
        named = judge(found, WHOLE, env=ENV, today=TODAY)
        assert named.findings == judged(within(found, ENV)).findings
        assert named.outcome is Outcome.COMPATIBLE

    def test_two_sources_that_disagree_are_both_shown(self) -> None:
        more = fact("metax.kmd", "3.8.29", "mx-smi")
        found = only(judged(node(SET_A, more)), "MX116")
        assert (found.subject, found.outcome) == ("metax.kmd", Outcome.UNKNOWN)
        assert found.found == "3.8.29 (mx-smi, host); 3.8.30 (test, host)"

    def test_two_spellings_are_no_disagreement(self) -> None:
        verdict = judged(node(SET_A, fact("metax.kmd", "3.08.30", "mx-smi")))
        assert verdict.outcome is Outcome.COMPATIBLE


class TestWaivers:
    """A waived finding stands and does not count, until its day."""

    WAIVER = Waiver(
        code="MX105",
        subject="metax.kmd",
        reason="the pilot runs",
        owner="ops",
        expires=date(2026, 12, 31),
    )
    NEWER = node(SET_A, kmd="3.9.1")

    def test_a_waived_finding_does_not_count(self) -> None:
        verdict = judged(self.NEWER, waivers=(self.WAIVER,))
        assert verdict.outcome is Outcome.COMPATIBLE
        assert only(verdict, "MX105").waiver == self.WAIVER

    def test_a_waiver_without_a_subject_waives_every_subject(self) -> None:
        waiver = replace(self.WAIVER, subject="")
        assert judged(self.NEWER, waivers=(waiver,)).outcome is Outcome.COMPATIBLE

    @pytest.mark.parametrize("change", [{"subject": "torch"}, {"code": "MX107"}])
    def test_a_waiver_for_something_else_waives_nothing_and_is_shown(
        self, change: dict[str, str]
    ) -> None:
        waiver = replace(self.WAIVER, **change)  # type: ignore[arg-type]
        verdict = judged(self.NEWER, waivers=(waiver,))
        assert verdict.outcome is Outcome.UNKNOWN
        assert only(verdict, "MX120").outcome is Outcome.COMPATIBLE

    def test_a_waiver_holds_on_its_last_day_and_fails_after_it(self) -> None:
        last = replace(self.WAIVER, expires=TODAY)
        assert judged(self.NEWER, waivers=(last,)).outcome is Outcome.COMPATIBLE
        late = replace(self.WAIVER, expires=date(2026, 11, 29))
        verdict = judged(self.NEWER, waivers=(late,))
        assert codes(verdict) == ["MX105", "MX119"]
        assert only(verdict, "MX119").found == "waived until 2026-11-29 by ops: the pilot runs"

    def test_what_is_fine_needs_no_waiver(self) -> None:
        fine = judged(node(SET_A)).findings
        waiver = replace(self.WAIVER, code="MX109", subject="")
        assert [f.code for f in waive(fine, (waiver,), TODAY)][-1] == "MX120"
