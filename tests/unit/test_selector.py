from __future__ import annotations

import pytest
from _stacks import DARK, GONE, KEYS, fact, snapshot

from mxenv.errors import UsageError
from mxenv.facts import Absent, Observed, Unreadable, View
from mxenv.selector import Accessor, Selector


def parse(text: str) -> Selector:
    return Selector.parse(text, keys=KEYS)


@pytest.mark.parametrize(
    "text",
    [
        "metax.sdk",
        "metax.sdk.public",
        "python.package[torch]",
        "python.package[torch].sdk",
        "python.package[*].torch",
        "metax.node[/dev/mxcd]",
        "env[MACA_PATH]",
    ],
)
def test_a_selector_is_written_as_it_was_read(text: str) -> None:
    assert str(parse(text)) == text


def test_a_key_that_ends_like_an_accessor_is_the_key() -> None:
    assert parse("metax.sdk").accessor is Accessor.WHOLE
    assert parse("metax.sdk.sdk").accessor is Accessor.SDK


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("metax.skd", "no probe declares the fact 'metax.skd'", "did you mean 'metax.sdk'?"),
        ("python.package[torch].skd", "a version has no part 'skd'", "did you mean 'sdk'?"),
        ("metax.sdk[x]", "a node has one 'metax.sdk': it takes no [x]", ""),
        ("Not a key", "'Not a key' names no fact", "a constraint reads"),
        ("zz", "no probe declares the fact 'zz'", "known: "),
    ],
)
def test_what_is_wrong_with_a_selector_is_said(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("accessor", "expected"),
    [
        (Accessor.WHOLE, "0.4.4+maca3.5.3.20.torch2.8"),
        (Accessor.PUBLIC, "0.4.4"),
        (Accessor.SDK, "3.5.3.20"),
        (Accessor.TORCH, "2.8"),
        (Accessor.VENDOR, "metax"),
    ],
)
def test_each_part_of_a_version_can_be_looked_at(accessor: Accessor, expected: str) -> None:
    assert accessor.of("0.4.4+maca3.5.3.20.torch2.8") == expected


def test_a_part_that_is_not_there_is_none() -> None:
    assert Accessor.SDK.of("2.8.0") is None
    assert Accessor.TORCH.of("2.8.0+metax3.5.3.9") is None


class TestWhatIsKnown:
    """What is said of an instance that was read, of one that was not, and of none at all."""

    def test_a_value_is_shown_with_its_source_and_view(self) -> None:
        node = snapshot(fact("metax.sdk", "3.5.3.20", "/opt/maca/Version.txt", View.CONTAINER))
        (seen,) = parse("metax.sdk").seen(node)
        assert seen.found == "metax.sdk: 3.5.3.20 (/opt/maca/Version.txt, container)"
        assert seen.subject == "metax.sdk"

    def test_a_list_and_an_absence_are_shown_as_words(self) -> None:
        node = snapshot(fact("container.runtime", ("docker", "runc")), fact("metax.sdk", GONE))
        assert parse("container.runtime").seen(node)[0].found.endswith("docker, runc (test, host)")
        assert parse("metax.sdk").seen(node)[0].found == "metax.sdk: absent (test, host)"

    def test_what_nobody_asked_is_unreadable(self) -> None:
        (seen,) = parse("metax.sdk").seen(snapshot())
        assert seen.reading == Unreadable("not asked")
        assert seen.found == "metax.sdk: unreadable, not asked"

    def test_a_distribution_goes_by_its_name(self) -> None:
        node = snapshot(fact("python.package[/opt/conda/torch]", "2.8.0"))
        (seen,) = parse("python.package[torch].sdk").seen(node)
        assert (seen.subject, seen.reading) == ("torch", Observed("2.8.0"))

    def test_a_distribution_that_is_not_among_those_read_is_absent(self) -> None:
        node = snapshot(fact("python.package[/opt/conda/numpy]", "1.26.4"))
        (seen,) = parse("python.package[torch].sdk").seen(node)
        assert (seen.label, seen.subject) == ("python.package[torch]", "torch")
        assert seen.reading == Absent()

    def test_a_list_that_is_known_to_be_empty_has_nothing_in_it(self) -> None:
        (seen,) = parse("python.package[torch]").seen(snapshot(fact("python.package", GONE)))
        assert seen.found == "python.package[torch]: absent (test, host)"

    def test_a_list_that_could_not_be_read_may_hold_anything(self) -> None:
        node = snapshot(
            fact("python.package[/opt/conda/numpy]", "1.26.4"), fact("python.package", DARK)
        )
        (seen,) = parse("python.package[torch]").seen(node)
        assert seen.reading == DARK

    def test_an_environment_that_could_not_be_read_may_hold_anything(self) -> None:
        node = snapshot(
            fact("python.package[/usr/numpy]", "1.26.4"), fact("python.package[/opt/conda]", DARK)
        )
        assert parse("python.package[torch]").seen(node)[0].reading == DARK

    def test_one_unreadable_distribution_hides_no_other(self) -> None:
        node = snapshot(
            fact("python.package[/opt/conda/numpy]", "1.26.4"),
            fact("python.package[/opt/conda/rubbish]", DARK),
        )
        assert parse("python.package[torch]").seen(node)[0].reading == Absent()
        assert parse("python.package[rubbish]").seen(node)[0].reading == DARK

    def test_the_rest_of_a_list_that_could_not_be_read_may_hold_anything(self) -> None:
        node = snapshot(
            fact("python.package[/opt/conda/numpy]", "1.26.4"),
            fact("python.package[/opt/conda/*]", DARK),
        )
        (seen,) = parse("python.package[torch]").seen(node)
        assert seen.reading == DARK
        assert parse("python.package[numpy]").seen(node)[0].reading == Observed("1.26.4")

    def test_the_rest_of_a_list_has_no_name_of_its_own(self) -> None:
        (seen,) = parse("python.package").seen(snapshot(fact("python.package[/usr/*]", DARK)))
        assert seen.subject == "python.package[/usr/*]"

    def test_every_instance_is_seen(self) -> None:
        node = snapshot(fact("metax.device.model[a]", "C500"), fact("metax.device.model[b]", DARK))
        labels = [seen.label for seen in parse("metax.device.model").seen(node)]
        assert labels == ["metax.device.model[a]", "metax.device.model[b]"]

    def test_of_a_list_that_is_not_whole_there_may_be_others(self) -> None:
        node = snapshot(fact("metax.device.model[a]", "C500"), fact("metax.device.model", DARK))
        first, rest = parse("metax.device.model").seen(node)
        assert first.reading == Observed("C500")
        assert (rest.label, rest.reading) == ("metax.device.model", DARK)
