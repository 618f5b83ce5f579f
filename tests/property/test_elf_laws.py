from __future__ import annotations

import io
import time

from _elf_files import shared
from hypothesis import given
from hypothesis import strategies as st

from mxenv.elf import Elf, order, parse, render
from mxenv.facts import Unreadable
from mxenv.question import Found
from mxenv.transports import _elf, _symbols

WHOLE = shared(
    soname="libop.so.1",
    needed=("libc.so.6",),
    runpath="$ORIGIN",
    needs={"libc.so.6": ("GLIBC_2.34", "GLIBC_2.2.5")},
    provides=("OP_1",),
    defines=("f@OP_1", "g"),
    undefined=("puts@GLIBC_2.34", "b"),
    tables=("gnu", "sysv"),
    sections=True,
)
texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
lists = st.lists(texts, max_size=3).map(tuple)
objects = st.builds(
    Elf,
    machine=texts,
    bits=st.sampled_from((32, 64)),
    soname=texts | st.just(""),
    needed=lists,
    rpath=lists,
    runpath=lists,
    needs=st.dictionaries(texts, lists, max_size=3).map(lambda n: tuple(sorted(n.items()))),
    provides=lists,
    cxx11=st.sampled_from(("", "0", "1")),
)
numbers = st.sampled_from((0, 1, 2, 0x7FFF, 0xFFFF, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF, len(WHOLE)))
edits = st.lists(
    st.tuples(st.integers(0, len(WHOLE) - 4), numbers | st.integers(0, 2**32 - 1)), max_size=6
)


class TestTheTextHoldsAnObjectWhole:
    @given(objects)
    def test_reading_what_was_written_gives_the_object(self, elf: Elf) -> None:
        assert parse(render(elf)) == elf

    @given(st.text() | st.binary().map(lambda data: data.decode(errors="replace")))
    def test_any_text_is_understood_or_not(self, text: str) -> None:
        assert parse(text) is None or isinstance(parse(text), Elf)


class TestVersionsOrderAsNumbersDo:
    @given(st.integers(0, 99), st.integers(0, 99))
    def test_a_later_minor_version_is_newer(self, one: int, other: int) -> None:
        assert (order(f"2.{one}") < order(f"2.{other}")) == (one < other)


class TestNoFileIsAnException:
    """Numbers changed, bytes cut off and put on: an answer or a reason, and soon."""

    @given(edits, st.integers(0, len(WHOLE)), st.sampled_from((0, 100, 1 << 20)))
    def test_it_is_read_or_refused(
        self, edits: list[tuple[int, int]], size: int, more: int
    ) -> None:
        data = bytearray(WHOLE)
        for at, number in edits:
            data[at : at + 4] = number.to_bytes(4, "little")
        files = {"odd": bytes(data[:size] if not more else data) + b"\1" * more, "good": WHOLE}
        began = time.monotonic()
        try:
            told = render(_elf.read(io.BytesIO(files["odd"])))
        except _elf.Damaged as error:
            told = str(error)
        assert told
        for path, provider in (("odd", "good"), ("good", "odd")):
            answer = _symbols.unprovided(lambda name: io.BytesIO(files[name]), path, (provider,))
            assert isinstance(answer, Found | Unreadable)
        assert time.monotonic() - began < 10
