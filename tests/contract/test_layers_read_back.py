"""That a layer which is not what it was made for is found, whoever damaged it."""

from __future__ import annotations

import io
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _wheels import Made, target

from mxenv.archive import END, GZIP_HEADER, header, padding, stored, trailer
from mxenv.engines import _blob, _inflating
from mxenv.engines._blob import Content, Draft
from mxenv.engines._inside import check
from mxenv.engines._layer import _content, _given
from mxenv.engines._wheel import opened
from mxenv.errors import EngineError, InvalidFile, WheelError

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.engines._blob import Blob
    from mxenv.lock import Package

SITES = frozenset({target().purelib})
DECODERS = [_inflating.fastest, _inflating.plain]


@pytest.fixture
def made(tmp_path: Path) -> tuple[bytes, Draft, Package]:
    """The layer of one wheel, which carries another distribution inside."""
    inner = {"pkg/_vendor/inner-1.dist-info/METADATA": b"Name: inner\nVersion: 1\n"}
    package = Made(files={"pkg/__init__.py": b"X = 1\n" * 99, **inner}).write(tmp_path)
    file = io.BytesIO()
    with opened(tmp_path / package.wheel.name, package, target()) as wheel:
        contents = [_content(wheel, installed) for installed in wheel.files]
        draft = _blob.write(file, contents, skipped=frozenset())
    return file.getvalue(), draft, package


def read(content: bytes, draft: Draft, *packages: Package) -> Blob:
    """Read it with every decoder there is; all say the same."""
    blobs = {
        check(io.BytesIO(content), draft, packages=packages, sites=SITES, decoders=decoder())
        for decoder in DECODERS
    }
    assert len(blobs) == 1
    return blobs.pop()


def refusal(content: bytes, draft: Draft, *packages: Package) -> str:
    with pytest.raises(EngineError) as caught:
        read(content, draft, *packages)
    return caught.value.message


def test_a_right_layer_passes(made: tuple[bytes, Draft, Package]) -> None:
    content, draft, package = made
    assert read(content, draft, package).size == len(content)


def test_the_faster_decoder_is_there_where_this_is_tested() -> None:
    # Else every test here would hold one decoder against itself.
    assert type(_inflating.fastest()[0]()) is not type(_inflating.plain()[0]())


def test_versions_may_be_spelt_in_two_ways(made: tuple[bytes, Draft, Package]) -> None:
    content, draft, package = made
    read(content, draft, replace(package, version="1"))


def test_another_distribution_than_was_locked_is_found(made: tuple[bytes, Draft, Package]) -> None:
    content, draft, package = made
    for other in (replace(package, version="1.1"), replace(package, name="other")):
        assert "it holds pkg 1.0" in refusal(content, draft, other)


def test_a_distribution_too_many_or_too_few_is_found(made: tuple[bytes, Draft, Package]) -> None:
    content, draft, package = made
    assert "it holds pkg 1.0" in refusal(content, draft)
    assert "it holds pkg 1.0" in refusal(content, draft, package, replace(package, name="z"))


def with_owners(draft: Draft, *items: str | Content) -> Draft:
    return Draft(items=items, packed=draft.packed, plain=draft.plain, owners=draft.owners)


@pytest.mark.parametrize("change", [{"path": "/opt/env/a"}, {"size": 1}, {"mode": 0o755}])
def test_a_file_that_is_not_as_it_was_meant_is_found(
    made: tuple[bytes, Draft, Package], change: dict[str, object]
) -> None:
    content, draft, package = made
    first = next(item for item in draft.items if isinstance(item, Content))
    items = [replace(first, **change) if item is first else item for item in draft.items]
    assert f"{first.path} is not as it was meant" in refusal(
        content, with_owners(draft, *items), package
    )


def test_a_file_with_another_hash_than_was_promised_is_found(
    made: tuple[bytes, Draft, Package],
) -> None:
    content, draft, package = made
    first = next(item for item in draft.items if isinstance(item, Content))
    for wrong in ("sha256=" + "A" * 43, "sha512=" + "A" * 86):
        other = replace(first, hash=wrong)
        items = [other if item is first else item for item in draft.items]
        with pytest.raises(InvalidFile, match="hash that was recorded") as caught:
            read(content, with_owners(draft, *items), package)
        assert caught.value.context == first.place


def test_a_file_or_folder_that_is_missing_or_too_much_is_found(
    made: tuple[bytes, Draft, Package],
) -> None:
    content, draft, package = made
    more = (*draft.items, "/opt/env/more")
    assert "/opt/env/more is not there" in refusal(content, with_owners(draft, *more), package)
    assert "is not as it was meant" in refusal(
        content, with_owners(draft, *draft.items[1:]), package
    )
    assert "is not as it was meant" in refusal(
        content, with_owners(draft, *draft.items[:-1]), package
    )


def test_every_damaged_byte_that_matters_is_found(made: tuple[bytes, Draft, Package]) -> None:
    content, draft, package = made
    right = read(content, draft, package)
    damaged = bytearray(content)
    found = 0
    for place in range(10, len(content), 7):
        damaged[place] ^= 0x55
        try:
            blob = check(io.BytesIO(bytes(damaged)), draft, packages=[package], sites=SITES)
        except (EngineError, InvalidFile):
            found += 1
        else:
            # The times in the headers of gzip members mean nothing.
            assert blob == replace(right, digest=blob.digest)
        damaged[place] ^= 0x55
    assert found > (len(content) - 10) / 7 * 0.95


@pytest.mark.parametrize("cut", [1, 9, 600])
def test_a_layer_that_was_cut_short_or_goes_on_is_found(
    made: tuple[bytes, Draft, Package], cut: int
) -> None:
    content, draft, package = made
    with pytest.raises((EngineError, InvalidFile)):
        read(content[:-cut], draft, package)
    assert "follows its end" in refusal(content + bytes(cut), draft, package)


def deflated(data: bytes) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


class TestAMemberThatEndsElsewhere:
    """What a wheel's member carries beyond its end would be another file to some readers."""

    DATA = b"content " * 100

    def layer(self, packed: bytes, crc: int | None = None, size: int | None = None) -> None:
        """Read a layer with one file, whose packed bytes are these."""
        said = len(self.DATA) if size is None else size
        item = replace(
            _given("/f", self.DATA, mode=0o644, place="w.whl: f"),
            size=said,
            packed=_blob.Packed(
                size=len(packed),
                crc=zlib.crc32(self.DATA) if crc is None else crc,
                pieces=lambda: (packed,),
            ),
        )
        file = io.BytesIO()
        draft = _blob.write(file, [item], skipped=frozenset())
        assert any(owner == 0 for owner in draft.owners), "not carried over as it is"
        read(file.getvalue(), draft)

    def refusal(self, packed: bytes, **changes: int) -> str:
        with pytest.raises(WheelError) as caught:
            self.layer(packed, **changes)
        assert caught.value.context == "w.whl: f"
        return caught.value.message

    def test_a_right_one_passes(self) -> None:
        self.layer(deflated(self.DATA))

    def test_bytes_after_its_end_are_refused(self) -> None:
        assert "is damaged" in self.refusal(deflated(self.DATA) + b"more")

    def test_a_second_gzip_member_inside_is_refused(self) -> None:
        half = len(self.DATA) // 2
        one, two = self.DATA[:half], self.DATA[half:]
        inner = deflated(one) + trailer(zlib.crc32(one), half) + GZIP_HEADER + deflated(two)
        assert "is damaged" in self.refusal(inner, crc=zlib.crc32(two))

    def test_an_end_that_is_missing_is_refused(self) -> None:
        assert "is damaged" in self.refusal(deflated(self.DATA)[:-3])

    def test_a_wrong_checksum_is_refused(self) -> None:
        assert "is damaged" in self.refusal(deflated(self.DATA), crc=1)

    @pytest.mark.parametrize("size", [700, 799, 801, 10**6])
    def test_a_wrong_size_is_refused(self, size: int) -> None:
        assert "is damaged" in self.refusal(deflated(self.DATA), size=size)

    def test_far_more_than_was_said_is_refused_before_all_of_it_is_there(self) -> None:
        assert "is damaged" in self.refusal(deflated(bytes(50_000_000)), size=10**6)


def test_a_layer_of_many_pieces_is_read_in_little_at_a_time(tmp_path: Path) -> None:
    # Both larger than what is read, and given out, at once.
    files = {"pkg/zeros": bytes(9_000_000), "pkg/z": zlib.compress(bytes(range(256)) * 9000, 0)}
    package = Made(files=files).write(tmp_path)
    file = io.BytesIO()
    with opened(tmp_path / package.wheel.name, package, target()) as wheel:
        contents = [_content(wheel, installed) for installed in wheel.files]
        draft = _blob.write(file, contents, skipped=frozenset())
    assert len(read(file.getvalue(), draft, package).entries) == 6


def test_stored_bytes_that_are_no_tar_file_are_found() -> None:
    for data in (b"x" * 1024, header("/f") + b"x" * 512 + END, header("/f"), END[:512]):
        content = b"".join(stored(data, crc=zlib.crc32(data)))
        draft = Draft(items=("/f",))
        draft.packed.append(len(content))
        draft.plain.append(len(data))
        draft.owners.append(-1)
        assert "is not what it was made for" in refusal(content, draft)
    assert padding(1) == bytes(511)
