"""That a layer which is not what it was made for is found, whoever damaged it."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _wheels import Made, target

from mxenv.engines import _blob
from mxenv.engines._inside import check
from mxenv.engines._layer import _content
from mxenv.engines._wheel import opened
from mxenv.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.engines._blob import Blob
    from mxenv.lock import Package

SITES = frozenset({target().purelib})


@pytest.fixture
def made(tmp_path: Path) -> tuple[bytes, Blob, Package]:
    """The layer of one wheel, which carries another distribution inside."""
    inner = {"pkg/_vendor/inner-1.dist-info/METADATA": b"Name: inner\nVersion: 1\n"}
    package = Made(files={"pkg/__init__.py": b"X = 1\n" * 99, **inner}).write(tmp_path)
    file = io.BytesIO()
    with opened(tmp_path / package.wheel.name, package, target()) as wheel:
        contents = [_content(wheel, installed) for installed in wheel.files]
        blob = _blob.write(file, contents, skipped=frozenset())
    return file.getvalue(), blob, package


def refusal(content: bytes, blob: Blob, *packages: Package) -> str:
    with pytest.raises(EngineError) as caught:
        check(io.BytesIO(content), blob, packages=packages, sites=SITES)
    return caught.value.message


def test_a_right_layer_passes(made: tuple[bytes, Blob, Package]) -> None:
    content, blob, package = made
    check(io.BytesIO(content), blob, packages=[package], sites=SITES)


def test_versions_may_be_spelt_in_two_ways(made: tuple[bytes, Blob, Package]) -> None:
    content, blob, package = made
    check(io.BytesIO(content), blob, packages=[replace(package, version="1")], sites=SITES)


def test_another_distribution_than_was_locked_is_found(made: tuple[bytes, Blob, Package]) -> None:
    content, blob, package = made
    for other in (replace(package, version="1.1"), replace(package, name="other")):
        assert "it holds pkg 1.0" in refusal(content, blob, other)


def test_a_distribution_too_many_or_too_few_is_found(made: tuple[bytes, Blob, Package]) -> None:
    content, blob, package = made
    assert "it holds pkg 1.0" in refusal(content, blob)
    assert "it holds pkg 1.0" in refusal(content, blob, package, replace(package, name="z"))


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"size": 1}, {"mode": 0o755}])
def test_a_file_that_is_not_as_it_was_written_is_found(
    made: tuple[bytes, Blob, Package], change: dict[str, object]
) -> None:
    content, blob, package = made
    first, *others = blob.entries
    wrong = replace(blob, entries=(replace(first, **change), *others))
    assert f"{first.path} is not as it was written" in refusal(content, wrong, package)


def test_a_file_that_is_missing_is_found(made: tuple[bytes, Blob, Package]) -> None:
    content, blob, package = made
    more = replace(blob.entries[0], path="/opt/env/more")
    wrong = replace(blob, entries=(*blob.entries, more))
    assert "/opt/env/more is not there" in refusal(content, wrong, package)


def test_every_damaged_byte_that_matters_is_found(made: tuple[bytes, Blob, Package]) -> None:
    content, blob, package = made
    damaged = bytearray(content)
    found = 0
    for place in range(10, len(content), 7):
        damaged[place] ^= 0x55
        try:
            check(io.BytesIO(bytes(damaged)), blob, packages=[package], sites=SITES)
        except EngineError:
            found += 1
        damaged[place] ^= 0x55
    # What is left are the times in the headers of gzip members, which mean nothing.
    assert found > (len(content) - 10) / 7 * 0.95
