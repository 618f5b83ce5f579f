"""Laws of the encoder that packs mxenv's own texts."""

from __future__ import annotations

import gzip
import hashlib
import zlib

from hypothesis import example, given
from hypothesis import strategies as st

from mxenv import deflation

PIECES = st.lists(st.sampled_from([b"", b"a", b"ab", b"abcd", b"name = ", b"\n" * 9, bytes(700)]))
FAR = bytes(value % 251 for value in range(40_000))
LINES = b"".join(
    b'sha256 = "%s"\n' % hashlib.sha256(b"%d" % n).hexdigest().encode() for n in range(999)
)


@given(st.one_of(st.binary(max_size=400), PIECES.map(b"".join)))
@example(b"")
@example(bytes(259) + b"x" + bytes(1000))
@example(bytes(range(256)) * 3)
@example(FAR + hashlib.sha512(b"").digest() + FAR[:300])
@example(LINES)
def test_whoever_inflates_it_has_the_same_bytes(data: bytes) -> None:
    assert gzip.decompress(deflation.gzipped(data)) == data
    decoder = zlib.decompressobj(-15)
    assert decoder.decompress(deflation.deflated(data)) == data
    assert decoder.eof
    assert not decoder.unused_data


def test_a_copy_may_have_every_length_and_lie_at_every_distance() -> None:
    noise = b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(1200))
    for length in (*range(3, 270), 516):
        data = noise[:300] + noise[:length] + b"!"
        assert zlib.decompress(deflation.deflated(data), -15) == data
    for distance in (
        *range(4, 600),
        1023,
        1024,
        1025,
        4097,
        16_385,
        24_577,
        32_767,
        32_768,
        32_769,
    ):
        data = noise[:distance] + noise[:20] + b"!"
        assert zlib.decompress(deflation.deflated(data), -15) == data


def test_texts_become_a_good_deal_smaller_and_the_bytes_never_change() -> None:
    text = b"".join(
        b'[[packages]]\nname = "package-%d"\nversion = "1.%d"\n\n' % (n, n) for n in range(99)
    )
    packed = deflation.gzipped(text)
    assert len(packed) * 4 < len(text)
    # Another value is another image of every lock: then `mxenv.layers.FORMAT` is counted up.
    assert hashlib.sha256(packed).hexdigest() == (
        "5fd8157bae47c15fb0ef0c782bb8758c74680aa4b3590bba8c5cf99bd385b0bb"
    )
