from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from datetime import date

import pytest
from _locked import SCRATCH as TARGET

from mxenv import lock as locks
from mxenv import lock_merge
from mxenv.errors import LockError
from mxenv.image import AddedFile
from mxenv.lock import UNRESOLVED, Base, Built, Lock, Package, Provided, Recipe, Relied, Wheel
from mxenv.lock_merge import Conflict, Merged, merge
from mxenv.verdict import Waiver

URL = "https://wheels.example.com"


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def package(name: str, version: str, sha256: str = "a", url: str = "") -> Package:
    file = f"{name}-{version}-py3-none-any.whl"
    wheel = Wheel(name=file, sha256=sha256 * 64, url=url and f"{url}/{file}")
    return Package(name=name, version=version, wheel=wheel)


def built(number: int) -> Built:
    return Built(config=digest(number), manifest=digest(number), layers=())


A, B, C = package("aa", "1"), package("bb", "1"), package("cc", "1")
BASE = Lock(
    name="demo",
    inputs=digest(1),
    accelerator="metax",
    base=Base(reference="r.example.com/a:1", digest=digest(2)),
    target=TARGET,
    packages=(A, B),
    requires=("aa", "bb"),
    provided=(Provided(name="torch", version="2.8.0+metax3.5.3.9"),),
    facts=(("metax.sdk", "3.5.3.20"),),
    host=("metax.kmd >= 3.4", "metax.sdk >= 3"),
    relied=Relied(matrix=digest(3), rows=(), outcome="compatible"),
    built=built(4),
)
WAIVER = Waiver(code="MX105", subject="torch", reason="r", owner="o", expires=date(2027, 1, 31))


def but(**values: object) -> Lock:
    return replace(BASE, **values)


def with_packages(*packages: Package, **values: object) -> Lock:
    return but(packages=packages, built=None, **values)


def places(merged: Merged) -> list[str]:
    return [conflict.place for conflict in merged.conflicts]


class TestWhatOnlyOneSideChanged:
    def test_is_as_that_side_has_it(self) -> None:
        theirs = but(packages=(package("aa", "2"), C), inputs=digest(9), built=built(9))
        assert merge(BASE, BASE, theirs) == Merged(lock=theirs, other=theirs)
        assert merge(BASE, theirs, BASE) == Merged(lock=theirs, other=theirs)
        assert merge(BASE, theirs, theirs) == Merged(lock=theirs, other=theirs)
        assert merge(None, theirs, theirs) == Merged(lock=theirs, other=theirs)

    def test_stands_beside_what_only_the_other_changed(self) -> None:
        ours = with_packages(package("aa", "2"), B)
        theirs = with_packages(A, B, C)
        merged = merge(BASE, ours, theirs)
        assert merged.conflicts == ()
        assert merged.lock.packages == (package("aa", "2"), B, C)

    def test_a_package_that_one_side_took_out_is_out(self) -> None:
        merged = merge(BASE, with_packages(A), with_packages(A, B, C))
        assert merged.lock.packages == (A, C)

    def test_keys_of_tables_are_merged_one_by_one(self) -> None:
        ours = but(variables=(("A", "1"),), facts=(("metax.sdk", "4"),))
        theirs = but(variables=(("B", "2"),), facts=(*BASE.facts, ("libc.version", "2.36")))
        merged = merge(BASE, ours, theirs)
        assert merged.lock.variables == (("A", "1"), ("B", "2"))
        assert dict(merged.lock.facts) == {"metax.sdk": "4", "libc.version": "2.36"}

    def test_lists_are_sets_whose_order_stays(self) -> None:
        ours = but(host=("metax.sdk >= 3", "metax.kmd >= 3.4", "os.id == debian"))
        theirs = but(host=("metax.kmd >= 3.4", "libc.version >= 2.31"))
        found = merge(BASE, ours, theirs).lock.host
        assert found == ("metax.kmd >= 3.4", "libc.version >= 2.31", "os.id == debian")

    def test_files_are_told_apart_by_where_they_go(self) -> None:
        one = (AddedFile(source="a", target="/a"), "1" * 64)
        other = (AddedFile(source="b", target="/b"), "2" * 64)
        assert merge(BASE, but(files=(one,)), but(files=(other,))).lock.files == (other, one)


class TestConflicts:
    def test_of_packages_name_the_package_and_all_three_versions(self) -> None:
        ours, theirs = with_packages(package("aa", "2"), B), with_packages(package("aa", "3"), B)
        (conflict,) = merge(BASE, ours, theirs).conflicts
        assert conflict == Conflict(place="packages.aa", before="1", ours="2", theirs="3")
        assert str(conflict) == "packages.aa: 2 (ours), 3 (theirs), 1 before"

    def test_of_one_version_name_what_differs(self) -> None:
        ours, theirs = (with_packages(A, package("bb", "2", sha)) for sha in "bc")
        (conflict,) = merge(BASE, ours, theirs).conflicts
        assert conflict.ours == f"2 (sha256 {'b' * 12})"
        assert conflict.theirs == f"2 (sha256 {'c' * 12})"

    def test_a_package_that_one_side_took_out_and_one_changed(self) -> None:
        merged = merge(BASE, with_packages(A), with_packages(A, package("bb", "2")))
        (conflict,) = merged.conflicts
        assert str(conflict) == "packages.bb: nothing (ours), 2 (theirs), 1 before"
        assert merged.lock.packages == (A,)
        assert merged.other.packages == (A, package("bb", "2"))

    def test_of_values_that_go_together_name_the_fields(self) -> None:
        ours = but(base=Base(reference="r.example.com/a:2", digest=digest(7)))
        theirs = but(base=Base(reference="r.example.com/a:1", digest=digest(8)))
        merged = merge(BASE, ours, theirs)
        assert places(merged) == ["base.reference", "base.digest"]
        assert (merged.lock.base, merged.other.base) == (ours.base, theirs.base)

    def test_of_one_value_name_the_field(self) -> None:
        merged = merge(BASE, but(accelerator="none"), but(accelerator="nvidia"))
        assert places(merged) == ["accelerator"]

    def test_without_a_common_origin_everything_that_differs_once_is_one(self) -> None:
        theirs = but(accelerator="none", target=replace(TARGET, libc="2.36"))
        merged = merge(None, BASE, theirs)
        assert sorted(places(merged)) == ["accelerator", "target.libc"]
        assert {conflict.before for conflict in merged.conflicts} == {"nothing"}

    def test_a_waiver_that_both_extended_is_nobodys_to_choose(self) -> None:
        before = but(waivers=(WAIVER,))
        ours, theirs = (
            but(waivers=(replace(WAIVER, expires=date(2028, month, 1)),)) for month in (1, 2)
        )
        assert places(merge(before, ours, theirs)) == ["waivers.MX105 torch"]

    def test_what_the_base_now_provides_and_somebody_adds(self) -> None:
        """Each side alone is fine; together the base's would be replaced."""
        ours = with_packages(A, B, C)
        theirs = but(provided=(*BASE.provided, Provided(name="cc", version="3")), built=None)
        merged = merge(BASE, ours, theirs)
        (conflict,) = merged.conflicts
        assert str(conflict) == (
            "packages.cc: 1 locked (ours), 3 provided by the base (theirs), nothing before"
        )
        assert "cc" in {p.name for p in merged.lock.packages}
        assert "cc" not in {p.name for p in merged.other.packages}
        assert merge(None, ours, theirs).conflicts == merged.conflicts

    def test_a_text_with_conflicts_is_no_lock(self) -> None:
        ours, theirs = with_packages(package("aa", "2"), B), with_packages(package("aa", "3"), B)
        text = merge(BASE, ours, theirs).text
        assert text.count("<<<<<<< ours\n") == text.count(">>>>>>> theirs\n") == 2
        with pytest.raises(tomllib.TOMLDecodeError):
            tomllib.loads(text)
        with pytest.raises(LockError):
            locks.parse(text, context="x")

    def test_whoever_takes_a_side_by_hand_has_a_stale_lock_without_an_image(self) -> None:
        ours = with_packages(package("aa", "2"), B, inputs=digest(8))
        theirs = with_packages(package("aa", "3"), B, inputs=digest(9))
        merged = merge(BASE, ours, theirs)
        for end in (merged.lock, merged.other):
            assert (end.inputs, end.relied, end.built) == (UNRESOLVED, None, None)
        assert merged.stale


class TestWhatFollowsFromTheRest:
    def test_packages_of_both_sides_were_never_resolved_together(self) -> None:
        merged = merge(BASE, with_packages(package("aa", "2"), B), with_packages(A, B, C))
        assert merged.stale
        assert merged.lock.relied is None
        assert merged.notes == (
            "stale: what was resolved on each side was never resolved together",
            "stale: what the matrix says of the whole is not known",
        )

    def test_wishes_that_both_changed_are_nobodys(self) -> None:
        merged = merge(
            BASE,
            but(variables=(("A", "1"),), inputs=digest(8)),
            but(variables=(("B", "1"),), inputs=digest(9)),
        )
        assert merged.stale
        assert merged.notes[0] == "stale: both sides changed what the image asks for"
        assert merged.lock.relied == BASE.relied

    def test_a_wish_of_one_side_and_packages_of_the_other_may_be_fresh(self) -> None:
        ours = but(variables=(("A", "1"),), inputs=digest(8), built=built(8))
        relied = Relied(matrix=digest(3), rows=("x",), outcome="compatible")
        theirs = but(packages=(A, package("bb", "2")), relied=relied, built=built(9))
        merged = merge(BASE, ours, theirs)
        assert not merged.stale
        assert (merged.lock.inputs, merged.lock.relied) == (digest(8), relied)
        assert merged.lock.built is None
        assert merged.notes == (
            "what is said of an image is left out: it was made from neither side alone",
        )

    def test_a_mixture_does_not_become_fresh_by_a_wish_of_the_other_side(self) -> None:
        before = but(inputs=UNRESOLVED, relied=None, built=None)
        ours = replace(before, inputs=digest(8))
        theirs = replace(before, packages=(A, package("bb", "2")))
        merged = merge(before, ours, theirs)
        assert merged.stale
        assert "never resolved together" in merged.notes[0]
        assert merge(before, ours, before).lock == ours

    def test_what_a_mixture_was_told_makes_nothing_fresh(self) -> None:
        before = but(inputs=UNRESOLVED, relied=None, built=None, waivers=(WAIVER,))
        ours = replace(before, waivers=(), relied=BASE.relied)
        theirs = replace(before, inputs=digest(8), relied=BASE.relied)
        merged = merge(before, ours, theirs)
        assert merged.notes == ("stale: what the matrix says of the whole is not known",)
        assert merge(before, ours, before).lock == ours

    def test_two_verdicts_on_the_same_are_none(self) -> None:
        ours, theirs = (
            but(relied=Relied(matrix=digest(n), rows=(), outcome="unknown"), built=None)
            for n in (8, 9)
        )
        assert merge(BASE, ours, theirs).lock.relied is None
        assert merge(BASE, ours, theirs).stale
        assert merge(None, ours, ours).lock == ours

    def test_a_waiver_of_one_side_was_not_asked_of_the_packages_of_the_other(self) -> None:
        ours = but(waivers=(WAIVER,), inputs=digest(8), built=None)
        merged = merge(BASE, ours, with_packages(A, package("bb", "2")))
        assert merged.notes == ("stale: what the matrix says of the whole is not known",)

    def test_without_an_accelerator_no_verdict_is_missed(self) -> None:
        before = but(accelerator="none", relied=None, built=None)
        ours = replace(before, variables=(("A", "1"),), inputs=digest(8))
        merged = merge(before, ours, replace(before, packages=(A, package("bb", "2"))))
        assert not merged.stale
        assert merged.notes == ()

    def test_the_image_of_one_side_stays_if_the_whole_is_that_side(self) -> None:
        ours = but(built=None)
        theirs = but(built=built(9))
        assert merge(BASE, ours, BASE).lock.built is None
        assert merge(BASE, BASE, theirs).lock.built == built(9)
        assert merge(BASE, but(built=built(8)), theirs).lock.built is None
        assert merge(None, but(built=built(8)), theirs).lock.built is None

    def test_an_image_is_made_one_way(self) -> None:
        before = but(built=None)
        recipe = Recipe(engine="docker", containerfile=digest(1), context=digest(2))
        ours, theirs = but(built=built(8)), replace(before, recipe=recipe)
        merged = merge(before, ours, theirs)
        assert (merged.lock.built, merged.lock.recipe) == (None, None)
        assert merge(before, before, theirs).lock.recipe == recipe

    def test_that_wheels_have_places_changes_no_image(self) -> None:
        ours = but(packages=(package("aa", "1", url=URL), package("bb", "1", url=URL)))
        theirs = but(packages=(package("aa", "2"), B), built=built(9))
        merged = merge(BASE, ours, theirs)
        assert merged.lock.built == built(9)
        assert not merged.stale
        assert [p.wheel.url for p in merged.lock.packages] == ["", ours.packages[1].wheel.url]

    def test_two_places_of_one_wheel_are_none(self) -> None:
        ours = but(packages=(A, package("bb", "1", url=URL)))
        theirs = but(packages=(A, package("bb", "1", url="https://other.example.com")))
        merged = merge(BASE, ours, theirs)
        assert (merged.lock.packages, merged.conflicts) == ((A, B), ())

    def test_a_place_of_a_package_that_both_added_is_kept(self) -> None:
        ours = with_packages(A, B, package("cc", "1", url=URL))
        merged = merge(BASE, ours, with_packages(A, B, C))
        assert merged.lock.packages[-1].wheel.url == ours.packages[-1].wheel.url


def test_no_field_of_a_lock_is_left_out() -> None:
    """Each but what follows from the rest goes through a merge; a new one does as one value."""
    changed = {
        "name": "other",
        "inputs": digest(20),
        "accelerator": "none",
        "base": Base(reference="scratch"),
        "target": replace(TARGET, libc="2.36"),
        "packages": (),
        "relied": None,
        "built": None,
        "recipe": None,
    }
    for each in fields(Lock):
        if each.name in changed:
            value = changed[each.name]
        else:
            kind = type(getattr(BASE, each.name))
            value = kind(not getattr(BASE, each.name)) if kind is bool else ()
        theirs = replace(BASE, **{each.name: value})
        assert merge(BASE, BASE, theirs).lock == theirs, each.name
        if each.name not in lock_merge.DERIVED:
            ours = but(system=("jq",)) if each.name == "models" else but(models=("m",))
            assert getattr(merge(BASE, ours, theirs).lock, each.name) == value
