from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from datetime import date

from hypothesis import example, given, settings
from hypothesis import strategies as st
from packaging.pylock import Pylock

from mxenv import image as images
from mxenv import lock
from mxenv.codes import CODES
from mxenv.errors import ImageError, LockError
from mxenv.image import AddedFile, Image
from mxenv.inventoried import Inventoried
from mxenv.inventory import Kernel, Phase, Stored, Use
from mxenv.lock import AskedTorch, Base, Built, Lock, Package, Provided, Relied, Target, Wheel
from mxenv.verdict import Outcome, Waiver

digests = st.integers(0, 16**64 - 1).map(lambda n: f"sha256:{n:064x}")
hashes = digests.map(lambda text: text.removeprefix("sha256:"))
# A name of more than 255 bytes fits no disk.
words = st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True).map(lambda t: t[:60].rstrip("-"))
# TOML holds any text but lone surrogates.
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
paths = st.lists(words, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
versions = st.tuples(st.integers(0, 99), st.integers(0, 99), st.sampled_from(["", "+metax3.5.3.9"]))


@st.composite
def packages(draw: st.DrawFn) -> Package:
    name, (major, minor, local) = draw(words), draw(versions)
    version = f"{major}.{minor}{local}"
    tag = draw(st.sampled_from(["py3-none-any", "cp311-cp311-linux_x86_64"]))
    file = f"{name.replace('-', '_')}-{version}-{tag}.whl"
    url = draw(st.sampled_from(["", f"https://wheels.example.com/{file.replace('+', '%2B')}"]))
    wheel = Wheel(name=file, sha256=draw(hashes), size=draw(st.integers(0, 1 << 40)), url=url)
    requires = draw(st.sampled_from(["", ">=3.8"]))
    return Package(name=name, version=version, wheel=wheel, requires_python=requires)


bases = st.one_of(
    st.just(Base(reference="scratch")),
    st.builds(
        Base,
        reference=words.map(lambda word: f"r.example.com/{word}"),
        digest=digests,
        snapshot=st.sampled_from(["", "mxenv1:0"]),
        listing=st.one_of(st.just(""), digests),
    ),
)
targets = st.builds(
    Target,
    platform=st.sampled_from(["linux/amd64", "linux/arm64"]),
    python=st.sampled_from(["3.9", "3.11", "3.14"]),
    prefix=paths,
    interpreter=paths,
    purelib=paths,
    platlib=paths,
    scripts=paths,
    data=paths,
    libc=st.sampled_from(["", "2.36"]),
    links=st.dictionaries(paths, paths, max_size=2).map(lambda found: tuple(sorted(found.items()))),
)
files = st.tuples(
    st.builds(
        AddedFile,
        source=paths.map(lambda p: p[1:]),
        target=paths.map(lambda p: f"/opt{p}"),
        mode=st.integers(0, 0o777),
    ),
    hashes,
)
waivers = st.builds(
    Waiver,
    code=st.sampled_from(sorted(CODES)),
    subject=st.one_of(st.just(""), texts),
    reason=texts,
    owner=texts,
    expires=st.dates(date(1000, 1, 1)),
)


def unique(strategy: st.SearchStrategy, key: object) -> st.SearchStrategy:
    return st.lists(strategy, unique_by=key, max_size=4).map(tuple)


pairs = unique(st.tuples(texts, st.one_of(st.just(""), texts)), lambda pair: pair[0])
kept = st.builds(
    Inventoried,
    file=texts,
    digest=digests,
    name=st.one_of(st.just(""), texts),
    reader=st.sampled_from(["", "huggingface", "onnx"]),
    dtype=st.sampled_from(["", "bf16"]),
    formats=st.lists(
        st.builds(
            Stored,
            scheme=st.sampled_from(["plain", "fp8-block"]),
            weights=st.sampled_from(["bf16", "fp8"]),
            activations=st.sampled_from(["", "bf16"]),
            tensors=st.integers(0, 9),
            bytes=st.integers(0, 1 << 40),
            note=st.one_of(st.just(""), texts),
        ),
        max_size=2,
    ).map(tuple),
    uses=st.lists(
        st.builds(
            Use,
            operator=st.sampled_from(["aten::mm.default", "ai.onnx::Gemm"]),
            phase=st.just(Phase.FORWARD),
            dtypes=st.sampled_from([(), ("bf16",), ("bf16", "f32")]),
            calls=st.integers(0, 1 << 40),
            one_of=st.sampled_from([(), ("aten::mm.default", "aten::bmm.default")]),
        ),
        max_size=3,
    ).map(tuple),
    kernels=st.lists(
        st.builds(
            Kernel,
            kind=st.sampled_from(["triton", "native"]),
            name=st.sampled_from(["_fwd", "void run<int, 3>", "a x 3"]),
            phase=st.just(Phase.FORWARD),
            calls=st.integers(0, 9),
        ),
        max_size=2,
    ).map(tuple),
    places=st.integers(0, 9),
    gaps=st.integers(0, 9),
)
many = st.lists(texts, max_size=3).map(tuple)
requirements = st.sampled_from(["click", "rich >=13", "a[b] ==1.*; python_version < '4'"])
provided = st.builds(
    Provided,
    name=words.map(lambda word: f"of-the-base-{word}"),
    version=versions.map(lambda parts: f"{parts[0]}.{parts[1]}{parts[2]}"),
)
scripts = texts.filter(lambda text: text.strip() and "\0" not in text)
variables = st.tuples(
    st.from_regex(r"[A-Z]_[A-Z_]*", fullmatch=True).filter(lambda name: "KEY" not in name),
    st.text(st.characters(exclude_categories=["Cs", "Cc"])).filter(lambda text: "@" not in text),
)
locks = st.builds(
    Lock,
    name=words,
    inputs=digests,
    accelerator=words,
    base=bases,
    target=targets,
    packages=unique(packages(), lambda package: package.name),
    requires=st.lists(requirements, max_size=3).map(tuple),
    provided=unique(provided, lambda provided: provided.name),
    facts=pairs,
    variables=unique(variables, lambda pair: pair[0]),
    files=unique(files, lambda file: file[0].target),
    models=many,
    inventories=unique(kept, lambda one: one.file),
    torch=st.one_of(
        st.none(),
        st.builds(AskedTorch, file=texts, digest=digests, version=texts, key=texts),
    ),
    operators=unique(
        st.tuples(
            st.one_of(texts, st.just("aten::mm.default")),
            st.sampled_from(["native", "missing", "composite (ran) through a::b c::d by us all"]),
        ),
        lambda pair: pair[0],
    ),
    system=st.lists(st.sampled_from(["jq", "g++=4:12.2.0-3"]), max_size=3).map(tuple),
    run=st.lists(scripts, max_size=3).map(tuple),
    host=many,
    relied=st.one_of(
        st.none(),
        st.builds(
            Relied,
            matrix=st.one_of(st.just(""), texts),
            rows=many,
            outcome=st.sampled_from([o.word for o in Outcome]),
        ),
    ),
    waivers=st.lists(waivers, max_size=2).map(tuple),
    built=st.one_of(
        st.none(),
        st.builds(
            Built,
            config=digests,
            manifest=digests,
            layers=st.lists(digests, max_size=3).map(tuple),
        ),
    ),
)


few = settings(max_examples=40)
"""Whole locks are large values, and writing them is slow; the unit tests have the corners."""


class TestALockIsItsText:
    """Reading and writing are inverse, and what is written is a pylock file for everybody."""

    @few
    @given(locks)
    def test_what_was_written_is_read_back(self, value: Lock) -> None:
        assert lock.parse(lock.render(value), context="x") == value

    @few
    @given(locks)
    def test_writing_what_was_read_changes_no_byte(self, value: Lock) -> None:
        text = lock.render(value)
        assert lock.render(lock.parse(text, context="x")) == text

    @few
    @given(locks)
    def test_packaging_takes_it(self, value: Lock) -> None:
        pylock = Pylock.from_dict(tomllib.loads(lock.render(value)))
        assert {p.name for p in pylock.packages} == {p.name for p in value.packages}

    @few
    @given(locks)
    def test_without_urls_it_names_no_place_on_the_network(self, value: Lock) -> None:
        document = tomllib.loads(lock.render(lock.without_urls(value)))
        wheels = [wheel for package in document["packages"] for wheel in package["wheels"]]
        assert all(wheel.keys() <= {"name", "path", "size", "hashes"} for wheel in wheels)


class TestRubbishIsRefused:
    """Whatever stands in a file, reading it ends in a value or in an error of its kind."""

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    @example("a = " + "[" * 10_000)
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        with suppress(LockError):
            lock.parse(text, context="x")
        with suppress(ImageError):
            images.parse(text, context="x")

    @few
    @given(locks, st.data())
    def test_a_lock_that_lost_a_line_is_read_or_refused(
        self, value: Lock, data: st.DataObject
    ) -> None:
        lines = lock.render(value).splitlines()
        index = data.draw(st.integers(0, len(lines) - 1))
        with suppress(LockError):
            lock.parse("\n".join(lines[:index] + lines[index + 1 :]), context="x")


asked = st.builds(
    Image,
    name=words,
    base=words,
    python=st.sampled_from(["", "3.11"]),
    requires=many,
    variables=pairs,
    host=many,
    waivers=st.lists(waivers, max_size=2).map(tuple),
)


class TestTheDigestOfAnImageDescription:
    """Equal wishes have equal digests, and others others."""

    @given(asked, asked)
    def test_two_descriptions_share_a_digest_only_if_they_are_equal(
        self, one: Image, other: Image
    ) -> None:
        assert (images.digest(one, {}) == images.digest(other, {})) == (one == other)

    @given(asked)
    def test_it_is_a_digest(self, image: Image) -> None:
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", images.digest(image, {}))
