"""What a project asks for that would put another build in the place of the vendor's."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from mxenv import cuda, pins, version
from mxenv.asked import Asked, Index
from mxenv.marker import together
from mxenv.redaction import clean
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.matrix import Matrix
    from mxenv.scene import Ground, Scene, Surroundings

NVIDIA = "nvidia"
PLUGINS: Mapping[str, tuple[str, ...]] = {"vllm": ("vllm-metax", "vllm-plugin-fl", "vllm-fl")}
"""What the public wheels are CUDA builds of, and what runs it on the vendor's cards.

As the row ``cuda-vllm`` of the matrix has it, with its evidence: beside a plugin belongs a build
that has no device code, and its version tells nothing of that.
"""

_PLUGINS = frozenset(name for names in PLUGINS.values() for name in names)
_TORCH = re.compile(r"torch([0-9]+\.[0-9]+)")
KEEP = "Ask for the vendor's build, or leave it out: the base has it."


def published(matrix: Matrix) -> dict[str, tuple[str, ...]]:
    """Return the versions of all builds of the vendor that the matrix names, by distribution."""
    found: dict[str, set[str]] = {}
    releases = (row.components for row in matrix.releases)
    for components in (*releases, *(row.components for row in matrix.tested)):
        for name, text in components:
            if _is_vendors(text):
                found.setdefault(name, set()).add(text)
    return {name: tuple(sorted(texts)) for name, texts in sorted(found.items())}


def kept(name: str, version_there: str, ground: Ground) -> bool:
    """Tell whether what an image holds is a build for its cards, which nothing may replace."""
    plugged = any(plugin in ground.held for plugin in PLUGINS.get(name, ()))
    return _is_vendors(version_there) or bool(version_there and plugged)


def _is_vendors(text: str) -> bool:
    tag = version.tag(text)
    return tag is not None and tag.vendor != cuda.TAG


def findings(
    asked: Iterable[tuple[Asked | Index, Scene]], around: Surroundings
) -> Iterator[Finding]:
    """Yield what statements would do to the vendor's builds in the images that they are about."""
    given = tuple(asked)
    beside: dict[Scene, set[str]] = {}
    for statement, scene in given:
        if isinstance(statement, Asked):
            beside.setdefault(scene, set()).add(statement.name)
    for statement, scene in given:
        if isinstance(statement, Index):
            yield from _cuda_index(statement, scene, around)
        else:
            yield from _asked(statement, scene, around, beside[scene])


def _asked(one: Asked, scene: Scene, around: Surroundings, beside: set[str]) -> Iterator[Finding]:
    if not together(one.marker):
        return  # for another system
    if cuda.built(one):
        yield from _cuda(one, scene, around, f"{_said(one)}, a build for CUDA")
        return
    grounds = scene.grounds(around)
    known = tuple(ground for ground in grounds if ground.known)
    for ground in known:
        if ground.accelerator != NVIDIA:
            yield from _held(one, scene, ground)
    if not known and "metax" in scene.accelerators(around):
        yield from (_own_build if vendors_own(one) else _unknown_base)(one, scene, around)
    bare = one.name in around.published and not (one.limits or vendors_own(one))
    if bare and scene.untold(around):
        found = f"{_said(one)}, and nothing here says which accelerator it is for"
        expected = "a lock or an image.toml beside it, or an image whose name tells"
        remedy = "Run the gate where images/ and lockfiles/ are, or lock the image that it is for."
        yield replace(_may(one, found, expected), remedy=remedy)
    yield from _without_plugin(one, scene, around, beside)


def _held(one: Asked, scene: Scene, ground: Ground) -> Iterator[Finding]:
    """Yield what a requirement does to the builds that a lock holds."""
    if not one.name:
        if one.unclear and scene.base:
            yield _may(
                one, f"{_said(one)}: {one.unclear}", f"no other build of what {ground.place} has"
            )
        return
    there, place = ground.held.get(one.name, ("", ground.place))
    if not kept(one.name, there, ground):
        return
    expected = f"{one.name} {there}, the vendor's build ({place}): newer public versions sort above"
    if one.unclear:
        yield _may(one, f"{_said(one)}: {one.unclear}", expected)
    elif not _meets(one, there):
        yield _replaced(one, f"{_said(one)}, which the vendor's build is not", expected)
    elif (scene.forced or one.forced) and not one.limits and not _exact(one, there):
        found = f"{_said(one)}, to be installed anew"
        same = one.specifier == f"=={version.public(there)}"
        yield (_may if same else _replaced)(one, found, expected)


def _unknown_base(one: Asked, scene: Scene, around: Surroundings) -> Iterator[Finding]:
    """Yield what a requirement may do where the vendor's image is not locked."""
    if one.name in PLUGINS:
        return  # its version tells nothing: see below
    if not one.name and one.unclear and scene.base:
        yield _may(one, f"{_said(one)}: {one.unclear}", "no other build of what the base has")
    if not (known := around.published.get(one.name, ())):
        return
    line = _TORCH.search(scene.base) if one.name == "torch" else None
    if line:
        known = tuple(text for text in known if version.family(text, 2) == line[1]) or known
    fitting = [text for text in known if _meets(one, text)]
    expected = f"a build of the vendor, as {', '.join(known[-3:])}"
    if one.unclear:
        yield _may(one, f"{_said(one)}: {one.unclear}", expected)
    elif not fitting:
        yield _replaced(one, f"{_said(one)}, which no build of the vendor is", expected)
    elif (scene.forced or one.forced) and not one.limits:
        yield _replaced(one, f"{_said(one)}, to be installed anew", expected)
    elif not one.limits:
        yield _may(one, f"{_said(one)}, and no lock says which build is there", expected)


def _own_build(one: Asked, scene: Scene, _: Surroundings) -> Iterator[Finding]:
    """Yield that a build may not be for the SDK of a base; what goes together is told of sets."""
    if scene.base and not one.limits:
        found = f"{_said(one)}, and no lock says which SDK the base has"
        yield _may(one, found, "the build that belongs to the SDK of the base")


def vendors_own(one: Asked) -> bool:
    """Tell whether a line pins what is for the vendor's cards only: a build of it, or a plugin."""
    return asks_vendor(one) or (one.name in _PLUGINS and bool(pins.pin(one)))


def asks_vendor(one: Asked) -> bool:
    """Tell whether a line asks for a build of the vendor by its tag."""
    return _is_vendors(one.specifier.removeprefix("=="))


def _exact(one: Asked, there: str) -> bool:
    return one.specifier == f"=={there}"


def _meets(one: Asked, there: str) -> bool:
    """Tell whether what is there is what is asked for; an address asks for its own file."""
    if one.url and not one.specifier:
        return False
    exact = one.url and not _exact(one, there)
    return not exact and SpecifierSet(one.specifier).contains(there, prereleases=True)


def _without_plugin(
    one: Asked, scene: Scene, around: Surroundings, beside: set[str]
) -> Iterator[Finding]:
    plugins = {*PLUGINS.get(one.name, ())}
    if not plugins or one.limits or "metax" not in scene.accelerators(around):
        return
    grounds = [ground for ground in scene.grounds(around) if ground.known]
    if plugins & beside or asks_vendor(one) or any(plugins & g.held.keys() for g in grounds):
        return
    plugin = PLUGINS[one.name][0]
    unlocked = "" if grounds else ", and no lock says whether the base has it"
    yield Finding(
        code="MX414",
        outcome=Outcome.INCOMPATIBLE if grounds else Outcome.UNKNOWN,
        subject=one.name,
        found=f"{_said(one)} without {plugin}, and public wheels are built for CUDA{unlocked}",
        expected=f"{plugin} beside it, and the {one.name} that it was released with",
        remedy=f"Take an image of one release of {plugin}, or lock {plugin} beside it.",
        place=one.place,
    )


def _cuda_index(one: Index, scene: Scene, around: Surroundings) -> Iterator[Finding]:
    if cuda.place(one.url):
        yield from _cuda(one, scene, around, f"{clean(one.url)}, an index of builds for CUDA")


def _cuda(one: Asked | Index, scene: Scene, around: Surroundings, found: str) -> Iterator[Finding]:
    """Yield that something is built for CUDA, if it is not for cards that run that."""
    accelerators = scene.accelerators(around)
    if accelerators == {NVIDIA} or (scene.base and not (accelerators or scene.untold(around))):
        return
    wrong = bool(accelerators) and NVIDIA not in accelerators
    if wrong:
        expected = f"builds for {', '.join(sorted(accelerators))}, which the images here are for"
    else:
        expected = "an image, or a lock, that says which accelerator it is for"
    yield Finding(
        code="MX413",
        outcome=Outcome.INCOMPATIBLE if wrong else Outcome.UNKNOWN,
        subject=one.name if isinstance(one, Asked) else "index",
        found=found,
        expected=expected,
        remedy=KEEP if wrong else "Run the gate where images/ and lockfiles/ are.",
        place=one.place,
    )


def _said(one: Asked) -> str:
    return clean(one.text)


def _replaced(one: Asked, found: str, expected: str) -> Finding:
    return Finding(
        code="MX411",
        outcome=Outcome.INCOMPATIBLE,
        subject=one.name,
        found=found,
        expected=expected,
        remedy=KEEP,
        place=one.place,
    )


def _may(one: Asked, found: str, expected: str) -> Finding:
    return Finding(
        code="MX412",
        outcome=Outcome.UNKNOWN,
        subject=one.name or _said(one),
        found=found,
        expected=expected,
        remedy=f"{KEEP} A lock of this image says which build that is.",
        place=one.place,
    )
