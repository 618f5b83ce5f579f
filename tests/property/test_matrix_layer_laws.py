"""A matrix that is carried elsewhere is the same there, and a node supposed as it is stays so."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from mxenv import bundle
from mxenv.api import checking, exploring, matrices, nodes
from mxenv.bundle import Bundle, Layer
from mxenv.facts import Observed
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from mxenv.facts import Snapshot
    from mxenv.matrix import Matrix

NOW = datetime(2026, 11, 30, tzinfo=UTC)
TODAY = date(2026, 11, 30)
RECORDINGS = Path(__file__).parent.parent / "recordings"
NAMES = ("c500-8cards", "c500-mixed", "c500-torch-overwritten", "c550-pod-sdk-unknown")
HEAD = 'schema = "mxenv.matrix/1"\nvendor = "metax"\nrevision = "1"\n'
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)


@cache
def matrix() -> Matrix:
    return checking.load_matrix()


@cache
def learned(name: str) -> Snapshot:
    return nodes.snapshot_of(str(RECORDINGS / name), now=NOW)


@st.composite
def files(draw: st.DrawFn) -> tuple[Layer, ...]:
    count = draw(st.integers(1, 3))
    made = []
    for number in range(count):
        says = draw(WORDS).replace("\\", "").replace('"', "")
        text = f'# {draw(WORDS)}\n{HEAD}[[series]]\nid = "s{number}"\ncards = ["x{says}"]\n'
        text += f'evidence = [{{ link = "x{says}", who = "us", grade = "site" }}]\n'
        made.append(Layer(name=f"f{number}.toml", kind="site", text=text))
    return tuple(made)


@given(files())
def test_a_matrix_comes_out_of_one_file_as_it_went_in(layers: tuple[Layer, ...]) -> None:
    whole = Bundle(digest=matrices.parsed(layers).digest, layers=layers)
    text = bundle.render(whole)
    found = matrices.open_bundle(text.encode(), "x")
    assert found == whole
    assert bundle.render(found) == text
    assert matrices.parsed(found.layers) == matrices.parsed(layers)


@settings(max_examples=30)
@given(st.sampled_from(NAMES), st.data())
def test_a_fact_that_is_set_to_what_it_is_changes_no_verdict(
    name: str, data: st.DataObject
) -> None:
    snapshot = learned(name)
    plain = [
        (fact, fact.reading.value)
        for fact in snapshot.facts
        if fact.key in {"metax.kmd", "metax.sdk", "kernel.release", "libc.version", "os.version"}
        and isinstance(fact.reading, Observed)
    ]
    if not plain:
        return
    fact, value = data.draw(st.sampled_from(plain))
    shift = exploring.what_if(snapshot, [f"{fact.key}={value}"], matrix(), today=TODAY)
    assert shift.before.outcome is shift.after.outcome
    assert (shift.appeared, shift.gone) == ((), ())


@settings(max_examples=30)
@given(st.sampled_from(NAMES), st.sampled_from(["3.0.0.8", "3.7.0.38", "9.9.9.9", "absent"]))
def test_the_verdict_before_is_that_of_a_check(name: str, sdk: str) -> None:
    snapshot = learned(name)
    shift = exploring.what_if(snapshot, [f"metax.sdk={sdk}"], matrix(), today=TODAY)
    assert shift.before == checking.check(snapshot, matrix(), today=TODAY)


@settings(max_examples=4)
@given(st.sampled_from(NAMES))
def test_a_way_that_is_said_to_get_there_gets_there(name: str) -> None:
    snapshot = learned(name)
    for tried in exploring.nearest(snapshot, matrix(), count=2, today=TODAY):
        settings_ = []
        for change in tried.way.changes:
            component = change.component
            key = component if component.startswith("metax.") else f"python.package[{component}]"
            settings_.append(f"{key}={change.after or 'absent'}")
        after = exploring.what_if(snapshot, settings_, matrix(), today=TODAY).after
        assert after.outcome is tried.verdict.outcome
        if not tried.way.changes and tried.verdict.outcome is Outcome.COMPATIBLE:
            assert checking.check(snapshot, matrix(), today=TODAY).outcome is Outcome.COMPATIBLE
