"""What holds of every merge of locks, whatever is in them."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from datetime import date

import pytest
from _locked import SCRATCH as TARGET
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mxenv import lock as locks
from mxenv.lock import UNRESOLVED, Base, Built, Lock, Package, Provided, Recipe, Relied, Wheel
from mxenv.lock_difference import compare
from mxenv.lock_merge import merge
from mxenv.verdict import Waiver

DIGESTS = [f"sha256:{number:064x}" for number in range(1, 4)]


def package(name: str, version: str, sha: str, url: str) -> Package:
    file = f"{name}-{version}-py3-none-any.whl"
    wheel = Wheel(name=file, sha256=sha * 64, url=url and f"{url}/{file}")
    return Package(name=name, version=version, wheel=wheel)


packages = st.builds(
    package,
    name=st.sampled_from("abcd"),
    version=st.sampled_from(["1", "2"]),
    sha=st.sampled_from("ef"),
    url=st.sampled_from(["", "https://w.example.com"]),
)
provided = st.builds(Provided, name=st.sampled_from("cdgh"), version=st.sampled_from(["1", "2"]))


def some(*values: object) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(st.sampled_from(values), unique=True).map(tuple)


def named(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(strategy, unique_by=lambda one: one.name, max_size=4).map(tuple)


def table(*names: str) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    values = st.dictionaries(st.sampled_from(names), st.sampled_from(["1", "2"]))
    return values.map(lambda found: tuple(found.items()))


def waiver(code: str, month: int) -> Waiver:
    return Waiver(code=code, reason="r", owner="o", expires=date(2027, month, 1))


def is_one(lock: Lock) -> bool:
    """Whether there can be such a lock: a base replaces nothing, and an image is made one way."""
    both = {p.name for p in lock.packages} & {p.name for p in lock.provided}
    return not both and not (lock.built and lock.recipe)


any_lock = st.builds(
    Lock,
    name=st.just("demo"),
    inputs=st.sampled_from([UNRESOLVED, *DIGESTS]),
    bytecode=st.booleans(),
    run=some("ldconfig", "true"),
    accelerator=st.sampled_from(["none", "metax"]),
    base=st.sampled_from([Base(reference="r.example.com/a", digest=d) for d in DIGESTS[:2]]),
    target=st.sampled_from([TARGET, replace(TARGET, libc="2.36")]),
    packages=named(packages),
    provided=named(provided),
    requires=some("a", "b >1", "c"),
    facts=table("metax.sdk", "libc.version"),
    variables=table("A", "B"),
    host=some("metax.kmd >= 3", "metax.kmd >= 4", "os.id == debian"),
    relied=st.sampled_from(
        [None, *(Relied(matrix=d, rows=(), outcome="unknown") for d in DIGESTS)]
    ),
    waivers=some(*(waiver(code, month) for code in ("MX105", "MX106") for month in (1, 2))),
    recipe=st.sampled_from(
        [None, *(Recipe(engine="docker", containerfile=d, context=d) for d in DIGESTS[:2])]
    ),
    built=st.sampled_from([None, *(Built(config=d, manifest=d, layers=()) for d in DIGESTS)]),
).filter(is_one)
origins = st.one_of(st.none(), any_lock)


@st.composite
def three(draw: st.DrawFn) -> tuple[Lock, Lock, Lock]:
    """A lock, and two that came of it by changing a few fields."""
    base = draw(any_lock)
    sides = []
    for _ in range(2):
        other = draw(any_lock)
        names = draw(st.lists(st.sampled_from([f.name for f in fields(Lock)]), max_size=4))
        side = replace(base, **{name: getattr(other, name) for name in names})
        assume(is_one(side))
        sides.append(side)
    return base, sides[0], sides[1]


class TestOneSideAlone:
    @given(any_lock, any_lock)
    def test_what_one_side_did_is_what_is_done(self, base: Lock, side: Lock) -> None:
        for merged in (merge(base, side, base), merge(base, base, side)):
            assert (merged.lock, merged.conflicts) == (side, ())

    @given(origins, any_lock)
    def test_what_both_did_alike_is_done(self, base: Lock | None, side: Lock) -> None:
        merged = merge(base, side, side)
        assert (merged.lock, merged.conflicts) == (side, ())


def as_sets(lock: Lock) -> Lock:
    """Return ``lock`` with its lists in one order, which is that of a side."""
    values = {
        name: tuple(sorted(getattr(lock, name), key=str))
        for name in ("requires", "host", "waivers")
    }
    return replace(lock, **values)


class TestBothSides:
    @given(three())
    def test_which_side_is_called_ours_decides_nothing(
        self, given_: tuple[Lock, Lock, Lock]
    ) -> None:
        base, ours, theirs = given_
        one, other = merge(base, ours, theirs), merge(base, theirs, ours)
        assert as_sets(one.lock) == as_sets(other.other)
        assert {(c.place, c.ours, c.theirs) for c in one.conflicts} == {
            (c.place, c.theirs, c.ours) for c in other.conflicts
        }

    @given(three())
    def test_no_image_is_named_but_that_of_a_lock_that_is_the_same(
        self, given_: tuple[Lock, Lock, Lock]
    ) -> None:
        base, ours, theirs = given_
        whole = merge(base, ours, theirs).lock
        if whole.built is not None:
            same = [
                side.built
                for side in (ours, theirs)
                if locks.without_image(side) == locks.without_image(whole)
            ]
            assert whole.built in same

    @given(three())
    def test_a_merge_that_looks_fresh_was_resolved_and_judged_by_one_side(
        self, given_: tuple[Lock, Lock, Lock]
    ) -> None:
        base, ours, theirs = given_
        whole = merge(base, ours, theirs).lock
        if whole.inputs == UNRESOLVED:
            return
        sides = [side for side in (ours, theirs) if side.inputs != UNRESOLVED]
        plain = [locks.without_urls(side) for side in (whole, *sides)]
        resolved = [(s.packages, s.provided, s.requires, s.target, s.base.digest) for s in plain]
        assert resolved[0] in resolved[1:]
        assert whole.inputs in {ours.inputs, theirs.inputs}
        judged = [(r, s.waivers, s.relied) for r, s in zip(resolved, plain, strict=True)]
        assert whole.relied is None or judged[0] in judged[1:]

    @settings(max_examples=40)
    @given(three())
    def test_what_is_written_is_a_lock_exactly_if_there_is_no_conflict(
        self, given_: tuple[Lock, Lock, Lock]
    ) -> None:
        merged = merge(*given_)
        if merged.conflicts:
            with pytest.raises(tomllib.TOMLDecodeError):
                tomllib.loads(merged.text)
        else:
            assert locks.parse(merged.text, context="x") == merged.lock

    @given(three())
    def test_nothing_is_there_that_no_side_had(self, given_: tuple[Lock, Lock, Lock]) -> None:
        base, ours, theirs = given_
        whole = merge(base, ours, theirs).lock
        known = {*locks.without_urls(ours).packages, *locks.without_urls(theirs).packages}
        assert set(locks.without_urls(whole).packages) <= known
        assert set(whole.host) <= {*ours.host, *theirs.host}


class TestDifferences:
    @given(any_lock, any_lock)
    def test_two_locks_differ_exactly_if_something_can_be_named(self, a: Lock, b: Lock) -> None:
        assert (compare(a, b) == ()) == (a == b)
        assert len(compare(a, b)) == len(compare(b, a))


def test_an_image_of_the_side_that_has_all_of_it_is_kept_in_whichever_order_the_lists_are() -> None:
    plain = Lock(
        name="demo",
        inputs=DIGESTS[0],
        base=Base(reference="r.example.com/a", digest=DIGESTS[0]),
        accelerator="none",
        target=TARGET,
        packages=(),
    )
    first, second = waiver("MX105", 1), waiver("MX106", 1)
    base = replace(plain, waivers=(second,))
    ours = replace(
        plain,
        waivers=(second, first),
        built=Built(config=DIGESTS[0], manifest=DIGESTS[1], layers=()),
    )
    theirs = replace(plain, waivers=(first, second))
    assert merge(base, ours, theirs).lock == merge(base, theirs, ours).lock
