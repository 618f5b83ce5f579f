"""Whatever a value is, the Containerfile hands it on as it is, by BuildKit's own parser."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from _locked import DEBIAN
from hypothesis import given
from hypothesis import strategies as st

from mxenv import rendering
from mxenv.image import AddedFile
from mxenv.lock import Base, Lock

dockerfile = pytest.importorskip("dockerfile")

DIGEST = "sha256:" + "7" * 64
BARE = Lock(
    name="tools",
    inputs=DIGEST,
    accelerator="none",
    base=Base(reference="registry.example.com/base", digest=DIGEST),
    target=DEBIAN,
    packages=(),
)
anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
nasty = st.text(st.sampled_from("a \\\"'$`{}\n#<>[]=,;&|*?~!%@\t\r\u2028é"), min_size=1)
texts = st.one_of(anything, nasty)
lines = texts.filter(lambda text: "\n" not in text)
paths = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"], exclude_characters="/"),
    min_size=1,
).filter(lambda name: name not in {".", ".."})


def parsed(lock: Lock, base: dict[str, object] | None = None) -> list[tuple[str, tuple[str, ...]]]:
    text = rendering.render(lock, base or {})
    return [(c.cmd.upper(), c.value) for c in dockerfile.parse_string(text)]


class TestAValueIsHandedOnAsItIs:
    @given(texts.filter(str.strip))
    def test_a_script(self, script: str) -> None:
        ran = [value for cmd, value in parsed(replace(BARE, run=(script,))) if cmd == "RUN"]
        assert ("/bin/sh", "-euc", script) in ran

    @given(lines)
    def test_a_variable(self, value: str) -> None:
        ((name, said, *_),) = [
            found for cmd, found in parsed(replace(BARE, variables=(("A", value),))) if cmd == "ENV"
        ]
        assert name == "A"
        assert _unquoted(said) == value

    @given(st.lists(texts, max_size=3), st.lists(texts, min_size=1, max_size=3))
    def test_what_the_base_starts(self, entrypoint: list[str], command: list[str]) -> None:
        base = {"config": {"Entrypoint": entrypoint, "Cmd": command}}
        found = dict(parsed(BARE, base))
        assert found["ENTRYPOINT"] == ("/usr/share/mxenv/start-gate", *entrypoint)
        assert found["CMD"] == tuple(command)

    @given(paths, paths)
    def test_where_a_file_goes(self, source: str, target: str) -> None:
        file = AddedFile(source=source, target=f"/opt/{target}")
        lock = replace(BARE, files=((file, "0" * 64),))
        copies = [found for cmd, found in parsed(lock) if cmd == "COPY"]
        given_ = next(found for found in copies if found[0].startswith("files/"))
        assert _expanded(given_[1]) == f"/opt/{target}"
        assert _expanded(given_[0]) == given_[0] == rendering.added(lock)[0][0]

    @given(texts.filter(str.strip), lines)
    def test_one_value_never_becomes_two_instructions(self, script: str, value: str) -> None:
        plain = [cmd for cmd, _ in parsed(replace(BARE, run=("x",), variables=(("A", "x"),)))]
        lock = replace(BARE, run=(script,), variables=(("A", value),))
        assert [cmd for cmd, _ in parsed(lock)] == plain


@given(texts.filter(str.strip))
def test_the_text_is_json_wherever_it_looks_like_it(script: str) -> None:
    text = rendering.render(replace(BARE, run=(script,)), {})
    for line in text.split("\n"):
        _, bracket, rest = line.partition("RUN [")
        if bracket:
            assert all(isinstance(word, str) for word in json.loads(f"[{rest}"))


def _unquoted(word: str) -> str:
    """Do what BuildKit's ``ProcessWord`` does to a word in double quotes."""
    assert word[0] == word[-1] == '"'
    return _without_escapes(word[1:-1], escaped='"$\\')


def _expanded(word: str) -> str:
    """Do what BuildKit's ``ProcessWord`` does to a word without quotes; refuse what it expands."""
    return _without_escapes(word, escaped=None)


def _without_escapes(text: str, *, escaped: str | None) -> str:
    found, rest = "", text
    while rest:
        sign, rest = rest[0], rest[1:]
        if sign == "\\" and rest and (escaped is None or rest[0] in escaped):
            sign, rest = rest[0], rest[1:]
        else:
            special = '"$' if escaped else "\"'$"
            assert sign not in special, f"{sign!r} means something in {text!r}"
        found += sign
    return found
