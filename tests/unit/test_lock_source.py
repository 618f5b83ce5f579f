"""What a lock says of a wheel that was built from its source distribution."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from importlib import resources

import jsonschema
import pytest
from _locked import SCRATCH as TARGET
from packaging.pylock import Pylock

from mxenv import lock
from mxenv.errors import LockError
from mxenv.lock import Base, Lock, Package, Source, Wheel

PIN = "hatchling==1.27.0 --hash=sha256:" + "d" * 64
SOURCE = Source(
    name="docopt-0.6.2.tar.gz",
    sha256="c" * 64,
    size=25901,
    builder="build 1.6.1",
    python="3.11.7",
    epoch=315532800,
    requires=(PIN,),
)
DOCOPT = Package(
    name="docopt",
    version="0.6.2",
    wheel=Wheel(name="docopt-0.6.2-py3-none-any.whl", sha256="a" * 64, size=13781),
    source=SOURCE,
)
LOCK = Lock(
    name="demo",
    inputs="sha256:" + "0" * 64,
    accelerator="none",
    base=Base(reference="scratch"),
    target=TARGET,
    packages=(DOCOPT,),
)


def parse(text: str) -> Lock:
    return lock.parse(text, context="pylock.x.toml")


def test_what_was_written_is_read_back() -> None:
    assert parse(lock.render(LOCK)) == LOCK


def test_a_build_that_took_nothing_and_a_source_of_unknown_size_are_read_back() -> None:
    plain = replace(SOURCE, size=0, requires=())
    value = replace(LOCK, packages=(replace(DOCOPT, source=plain),))
    assert parse(lock.render(value)) == value


def test_a_lock_with_a_source_is_a_valid_pylock_file_and_obeys_its_schema() -> None:
    document = tomllib.loads(lock.render(LOCK))
    (package,) = Pylock.from_dict(document).packages
    assert package.sdist is not None
    assert package.sdist.hashes == {"sha256": SOURCE.sha256}
    schema = json.loads((resources.files("mxenv") / "schemas/lock.schema.json").read_text())
    jsonschema.validate(document, schema)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('name = "docopt-0.6.2.tar.gz"', 'name = "other-0.6.2.tar.gz"', "not a source distribu"),
        ('name = "docopt-0.6.2.tar.gz"', 'name = "docopt-0.6.2.whl"', "not a source distributi"),
        ('name = "docopt-0.6.2.tar.gz"', 'name = "docopt-../x-1.tar.gz"', "not a source distri"),
        ("wheelhouse/docopt-0.6.2.tar.gz", "elsewhere/x.tar.gz", "is not wheelhouse/ and the"),
        ("c" * 64, "c" * 63, "is not 64 hexadecimal digits"),
        (PIN, "hatchling>=1", "is no exact requirement"),
        (PIN, f"{PIN} --index-url x", "is no exact requirement"),
        ("epoch = 315532800", "epoch = -1", "negative"),
        ("epoch = 315532800\n", "", "epoch: missing"),
        ('builder = "build 1.6.1"', 'maker = "x"', "maker: unknown field"),
        ("[packages.tool.mxenv.build]", "[packages.tool.mxenv.built]", "unknown field"),
        ("[packages.tool.mxenv.build]", "[packages.tool.other.build]", "other: unknown field"),
    ],
)
def test_what_is_wrong_is_refused_and_its_place_is_named(
    before: str, after: str, said: str
) -> None:
    text = lock.render(LOCK)
    assert before in text
    with pytest.raises(LockError, match=r"^pylock\.x\.toml: packages\[0\]") as caught:
        parse(text.replace(before, after))
    assert said in str(caught.value)


def test_a_source_without_the_way_it_was_built_is_refused_and_so_is_the_reverse() -> None:
    text = lock.render(LOCK)
    start, end = text.index("[packages.sdist]"), text.index("[[packages.wheels]]")
    with pytest.raises(LockError, match=r"packages\[0\]\.sdist: missing"):
        parse(text[:start] + text[end:])
    start, end = text.index("[packages.tool.mxenv.build]"), text.index("[tool.mxenv]")
    with pytest.raises(LockError, match=r"packages\[0\]\.tool: missing"):
        parse(text[:start] + text[end:])
