"""A build of the vendor is kept: whatever would take its place is named, at its line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mxenv.asked import Asked, Index
from mxenv.matrix import Matrix, Release
from mxenv.replacement import findings, published
from mxenv.requirement_lines import requirement
from mxenv.scene import Ground, Scene, Surroundings
from mxenv.verdict import Outcome, Place

HERE = Place(file="requirements.txt", line=3)
LOCK = Place(file="lockfiles/pylock.x.toml", line=7)
BASE = "registry.example.org/vendor/vllm:1"
HELD = {
    "torch": ("2.8.0+metax3.5.3.9", LOCK),
    "numpy": ("1.26.4", LOCK),
    "vllm": ("0.17.0", LOCK),
    "vllm-metax": ("0.17.0", LOCK),
}
GROUND = Ground(reference=BASE, accelerator="metax", place=LOCK, held=HELD)
KNOWN = {"torch": ("2.6.0+metax3.2.1.7", "2.8.0+metax3.5.3.9"), "flash-attn": ("2.6.3+metax3.5.3",)}
LOCKED = Surroundings(grounds=(GROUND,), published=KNOWN)
UNLOCKED = Surroundings(
    grounds=(replace(GROUND, reference="x", held={}, known=False),), published=KNOWN
)
NOTHING = Surroundings(published=KNOWN)
VENDORS = Scene(base="cr.example.org/maca/vllm-metax:1-torch2.8")
Told = list[tuple[str, str, str]]


def asked(text: str) -> Asked:
    found = requirement(text, HERE)
    assert isinstance(found, Asked)
    return found


def told(
    *texts: str, around: Surroundings = LOCKED, scene: Scene | None = None, forced: bool = False
) -> Told:
    scene = replace(scene or Scene(), forced=forced)
    found = list(findings([(asked(text), scene) for text in texts], around))
    assert all(one.place == HERE for one in found)
    return [(one.code, one.outcome.word, one.subject) for one in found]


REPLACED = [("MX411", "incompatible", "torch")]
MAY = [("MX412", "unknown", "torch")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch", []),
        ("torch>=2.4", []),
        ("torch==2.8.0", []),
        ("torch==2.8.0+metax3.5.3.9", []),
        ("torch>=2.9", REPLACED),
        ("torch>2.8", REPLACED),
        ("torch==2.8.0+metax3.7.0.1", REPLACED),
        ("torch<2.8", REPLACED),
        ("torch @ https://h/torch-2.8.0-cp311-cp311-linux_x86_64.whl", REPLACED),
        ("torch @ git+https://h/torch.git", REPLACED),
        ("torch @ https://h/torch-2.8.0+metax3.5.3.9-cp311-cp311-linux_x86_64.whl", []),
        ("torch==${V}", MAY),
        ('torch>=2.9 ; sys_platform == "win32"', []),
        ("numpy==2", []),
        ("other", []),
        ("./folder", []),
        ("vllm==0.18.0", [("MX411", "incompatible", "vllm")]),
        ("vllm==0.17.0", []),
    ],
)
def test_a_requirement_is_held_against_the_build_in_the_lock(text: str, found: Told) -> None:
    assert told(text) == found
    assert told(text, scene=Scene(base=BASE)) == found
    assert told(text, scene=Scene(base="rocm/pytorch:1")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch", REPLACED),
        ("torch>=2.4", REPLACED),
        ("torch==2.8.0", MAY),
        ("torch==2.8.0+metax3.5.3.9", []),
        ("numpy", []),
    ],
)
def test_the_newest_takes_the_place_of_what_would_do(text: str, found: Told) -> None:
    assert told(text, forced=True) == found


def test_a_constraint_forces_nothing_and_can_forbid_the_vendors_build() -> None:
    for text, count in (("torch", 0), ("torch>=2.9", 1)):
        given = [(replace(asked(text), limits=True), Scene(forced=True))]
        assert len(list(findings(given, LOCKED))) == count


def test_an_unknown_name_may_be_anything_where_an_image_is_meant() -> None:
    assert told("${ALL}", scene=Scene(base=BASE)) == [("MX412", "unknown", "${ALL}")]
    assert told("${ALL}") == []
    assert told("${ALL}", scene=VENDORS, around=NOTHING) == [("MX412", "unknown", "${ALL}")]


@pytest.mark.parametrize(
    ("text", "forced", "found"),
    [
        ("torch", False, MAY),
        ("torch>=2.4", False, MAY),
        ("torch>=2.9", False, REPLACED),
        ("torch==2.6.0", False, REPLACED),  # the tag says 2.8
        ("torch", True, REPLACED),
        ("torch==2.8.0+metax3.5.3.9", False, MAY),  # nobody says which SDK is there
        ("torch==2.8.0+metax3.5.3.9", True, MAY),
        ("torch==${V}", False, MAY),
        ("flash-attn", False, [("MX412", "unknown", "flash-attn")]),
        ("numpy==2", True, []),
        ("./folder", False, []),
    ],
)
def test_what_is_in_a_base_without_a_lock_is_not_known(
    text: str, *, forced: bool, found: Told
) -> None:
    assert told(text, around=NOTHING, scene=VENDORS, forced=forced) == found


def test_a_line_of_torch_that_nobody_knows_leaves_all_builds_possible() -> None:
    scene = Scene(base="cr.example.org/maca/x:torch9.9")
    assert told("torch==2.6.0", around=NOTHING, scene=scene) == MAY


def test_an_image_without_a_lock_says_which_cards_it_is_for() -> None:
    assert told("torch>=2.9", around=UNLOCKED) == REPLACED
    nobody = replace(LOCKED, grounds=(replace(GROUND, accelerator="none", held={}),))
    assert told("torch>=2.9", around=nobody) == []


def test_where_nothing_says_what_it_is_for_a_framework_is_unknown() -> None:
    assert told("torch>=2.9", around=NOTHING) == MAY
    assert told("torch", "numpy", around=NOTHING) == MAY
    assert told("torch==2.8.0+metax3.5.3.9", around=NOTHING) == []
    asked_for = replace(NOTHING, vendors_asked=True)
    assert told("torch>=2.9", around=asked_for) == REPLACED
    assert told("torch==2.6.0+cu126", around=asked_for) == [("MX413", "incompatible", "torch")]
    assert told("torch>=2.9", around=asked_for, scene=Scene(base="python:3")) == MAY
    cuda = [("MX413", "unknown", "torch")]
    assert told("torch==2.6.0+cu126", around=asked_for, scene=Scene(base="python:3")) == cuda
    assert told("torch==2.6.0+cu126", around=asked_for, scene=Scene(base="a/cuda:3")) == []
    limits = [(replace(asked("torch"), limits=True), Scene())]
    assert list(findings(limits, NOTHING)) == []


def test_a_constraint_beside_an_unknown_base_says_nothing_unless_it_forbids() -> None:
    for text, count in (("torch", 0), ("torch==1.0", 1)):
        given = [(replace(asked(text), limits=True), VENDORS)]
        assert len(list(findings(given, NOTHING))) == count


@pytest.mark.parametrize(
    ("reference", "base", "same"),
    [
        ("a/b:1", "a/b:1", True),
        ("a/b:1", "a/b:2", False),
        ("a/b:1@sha256:0", "a/b:1", True),
        ("a/b:1@sha256:0", "c/d@sha256:0", True),
        ("a/b:1@sha256:0", "a/b:1@sha256:1", False),
    ],
)
def test_two_references_are_one_image(reference: str, base: str, *, same: bool) -> None:
    around = replace(LOCKED, grounds=(replace(GROUND, reference=reference),))
    assert told("torch>=2.9", around=around, scene=Scene(base=base)) == (REPLACED if same else MAY)


CUDA = ("MX413", "incompatible")


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("torch==2.6.0+cu126", "torch"),
        ("vllm @ https://h/vllm-0.9.1+cu124-cp38-abi3-linux_x86_64.whl", "vllm"),
        ("xformers @ https://h/whl/cu126/xformers-0.1-py3-none-any.whl", "xformers"),
        ("nvidia-cublas-cu12", "nvidia-cublas-cu12"),
        ("cupy-cuda12x", "cupy-cuda12x"),
    ],
)
def test_a_build_for_cuda_is_refused_for_other_cards(text: str, subject: str) -> None:
    assert told(text) == [(*CUDA, subject)]
    assert told(text, scene=VENDORS, around=NOTHING) == [(*CUDA, subject)]
    assert told(text, around=NOTHING) == [("MX413", "unknown", subject)]
    assert told(text, scene=Scene(base="nvidia/cuda:12"), around=NOTHING) == []


@pytest.mark.parametrize(
    ("accelerators", "outcome"),
    [(("nvidia",), ""), (("metax", "nvidia"), "unknown"), (("none",), "unknown")],
)
def test_a_build_for_cuda_is_right_where_cuda_is(
    accelerators: tuple[str, ...], outcome: str
) -> None:
    grounds = tuple(replace(GROUND, accelerator=one, held={}) for one in accelerators)
    found = told("torch==2.6.0+cu126", around=replace(LOCKED, grounds=grounds))
    assert [word for _, word, _ in found] == ([outcome] if outcome else [])


@pytest.mark.parametrize(
    ("url", "count"),
    [
        ("https://h/whl/cu126", 1),
        ("cu126", 1),
        ("https://h/whl/cu121/torch_stable.html", 1),
        ("https://h/simple", 0),
        ("https://h/cucumber", 0),
        ("./cuda-12.4/wheels", 1),
    ],
)
def test_an_index_of_builds_for_cuda_is_seen(url: str, count: int) -> None:
    found = list(findings([(Index(url=url, place=HERE), Scene())], LOCKED))
    assert [(one.code, one.subject) for one in found] == [("MX413", "index")] * count


def test_credentials_in_an_address_are_not_shown() -> None:
    index = Index(url="https://me:hunter2@h/whl/cu126", place=HERE)
    (found,) = findings([(index, Scene())], LOCKED)
    assert "hunter2" not in found.found


BARE = replace(GROUND, held={"torch": HELD["torch"]})


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        (("vllm",), 1),
        (("vllm", "vllm-metax"), 0),
        (("vllm", "vllm-fl"), 0),
        (("vllm==0.9+metax3.5.3.9",), 0),
        (("torch",), 0),
    ],
)
def test_vllm_without_a_plugin_is_a_build_for_cuda(texts: tuple[str, ...], count: int) -> None:
    around = replace(LOCKED, grounds=(BARE,))
    found = told(*texts, around=around)
    assert [one for one in found if one[0] == "MX414"] == [
        ("MX414", "incompatible", "vllm")
    ] * count


def test_whether_a_base_without_a_lock_has_the_plugin_is_not_known() -> None:
    unknown = [("MX414", "unknown", "vllm")]
    assert told("vllm", around=NOTHING, scene=VENDORS, forced=True) == unknown
    assert told("vllm", around=UNLOCKED) == unknown


def test_vllm_needs_no_plugin_where_no_card_of_the_vendor_is() -> None:
    assert told("vllm", around=NOTHING) == []
    assert (
        told("vllm", around=replace(LOCKED, grounds=(replace(BARE, accelerator="nvidia"),))) == []
    )
    limits = [(replace(asked("vllm"), limits=True), Scene())]
    assert list(findings(limits, replace(LOCKED, grounds=(BARE,)))) == []


def test_the_builds_of_the_vendor_are_those_of_the_matrix() -> None:
    released = Release(
        id="r",
        file="metax.toml",
        sdk="3.5.3.*",
        components=(
            ("torch", "2.8.0+metax3.5.3.9"),
            ("torch", "2.6.0+metax3.2.1.7"),
            ("torch", "2.6.0+cu124"),
            ("numpy", "1.26.4"),
        ),
        evidence=(),
    )
    matrix = Matrix(digest="", files=(), releases=(released,))
    assert published(matrix) == {"torch": ("2.6.0+metax3.2.1.7", "2.8.0+metax3.5.3.9")}


def test_what_would_be_replaced_is_incompatible() -> None:
    (found,) = findings([(asked("torch>=2.9"), Scene())], LOCKED)
    assert found.outcome is Outcome.INCOMPATIBLE
    assert (
        "torch 2.8.0+metax3.5.3.9, the vendor's build (lockfiles/pylock.x.toml:7)" in found.expected
    )
