"""All that the files of a project ask for, held against its images and against one another."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mxenv import belonging, pins, replacement
from mxenv.asked import Asked, Based, Elsewhere, Index, Unread
from mxenv.redaction import clean
from mxenv.scene import Scene
from mxenv.verdict import Finding, Outcome, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mxenv.asked import Source
    from mxenv.scene import Ground, Surroundings

MOST_UNREAD = 20
"""Lines of a file that are shown one by one: what is none of its kind has hundreds."""
LATEST = "latest"
"""The tag that is meant if none is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One file that another one names."""

    origin: str
    target: str
    base: str = ""
    forced: bool = False
    limits: bool = False
    stages: tuple[int, ...] = ()
    """The stages of a Containerfile that name it, as `Asked` has them."""


def judge(
    sources: Sequence[Source], links: Sequence[Link], around: Surroundings
) -> Mapping[str, tuple[Finding, ...]]:
    """Return what is found in each file; where nothing is wrong, a finding says so."""
    asks = (one for source in sources for one in source.statements if isinstance(one, Asked))
    around = replace(around, vendors_asked=any(map(replacement.asks_vendor, asks)))
    scenes = _scenes(sources, links)
    limiting = _limiting(links)
    given: list[tuple[Asked | Index, Scene]] = []
    found: dict[str, list[Finding]] = {source.file: [] for source in sources}
    for source in sources:
        found[source.file] += _alone(source)
        for one in source.statements:
            if isinstance(one, Asked | Index):
                wheres = [Scene(base=one.base)] if one.base else scenes[source.file]
                said = one
                if isinstance(one, Asked) and source.file in limiting:
                    said = replace(one, limits=True)
                given += [(said, scene) for scene in wheres]
    asked = [one for one, _ in given if isinstance(one, Asked)]
    linked = frozenset(frozenset({link.origin, link.target}) for link in links)
    whole = (
        *replacement.findings(given, around),
        *(finding for lines in _meeting(asked, links) for finding in pins.findings(lines, linked)),
        *_against_locks(given, around),
        *_together(sources, links, around),
    )
    for finding in dict.fromkeys(whole):
        found[finding.place.file if finding.place else ""].append(finding)
    return {
        source.file: tuple(found[source.file]) or (_fine(source, around),) for source in sources
    }


def _alone(source: Source) -> Iterator[Finding]:
    """Yield what each statement of a file says by itself."""
    unread = [one for one in source.statements if isinstance(one, Unread)]
    yield from map(_unread, unread[:MOST_UNREAD])
    if left := unread[MOST_UNREAD:]:
        more = f"{len(left)} more lines that are not understood"
        yield _unread(replace(left[0], text="and more", reason=more))
    for one in source.statements:
        if isinstance(one, Based):
            yield from _based(one)
        elif isinstance(one, Elsewhere):
            yield _elsewhere(one)


def _scenes(sources: Sequence[Source], links: Sequence[Link]) -> Mapping[str, list[Scene]]:
    """Return where the statements of each file take effect: where it is included, or anywhere."""
    scenes: dict[str, list[Scene]] = {}
    targets = {link.target for link in links}
    for source in sources:
        scenes[source.file] = [] if source.file in targets else [Scene()]
    changed = True
    while changed:
        changed = False
        for link in links:
            own = Scene(base=link.base, forced=link.forced)
            wheres = [own] if link.base else scenes[link.origin]
            for where in wheres:
                there = replace(where, forced=where.forced or link.forced)
                if there not in scenes[link.target]:
                    scenes[link.target].append(there)
                    changed = True
    # Files that only name one another.
    return {file: wheres or [Scene()] for file, wheres in scenes.items()}


def _limiting(links: Sequence[Link]) -> frozenset[str]:
    """Return the files that are named as constraints only."""
    named = {link.target for link in links if link.limits}
    return frozenset(named - {link.target for link in links if not link.limits})


def _meeting(asked: Iterable[Asked], links: Sequence[Link]) -> Iterator[Sequence[Asked]]:
    """Yield the lines about one distribution that meet in one environment, as far as files tell.

    They do where they lie in one folder, or where one file names the other.
    """
    folders: dict[tuple[str, str], list[Asked]] = {}
    files: dict[str, dict[str, list[Asked]]] = {}
    for one in asked:
        if one.name:
            folders.setdefault((one.name, _folder(one.place.file)), []).append(one)
            files.setdefault(one.place.file, {}).setdefault(one.name, []).append(one)
    yield from folders.values()
    for link in links:
        if _folder(link.origin) != _folder(link.target):
            named, naming = files.get(link.target, {}), files.get(link.origin, {})
            for name in sorted(named.keys() & naming.keys()):
                yield (*naming[name], *named[name])


def _together(
    sources: Sequence[Source], links: Sequence[Link], around: Surroundings
) -> Iterator[Finding]:
    """Yield what the matrix says of all that is pinned for one environment."""
    if around.matrix is None:
        return
    for asked, scene, last in _environments(sources, links):
        known = [ground for ground in scene.grounds(around) if ground.known]
        locks = [{name: text for name, (text, _) in one.held.items() if text} for one in known]
        for beside in locks or [{}]:
            for one in belonging.pinned(asked, beside, last=last):
                yield from belonging.findings(one, around.matrix)


def _environments(
    sources: Sequence[Source], links: Sequence[Link]
) -> Iterator[tuple[Sequence[Asked], Scene, bool]]:
    """Yield the lines that take effect in one environment, and whether a later one replaces.

    They are those of a stage and of what it is built upon, or of a file that no other one names,
    each with the files that they name.
    """
    asked = {one.file: [o for o in one.statements if isinstance(o, Asked)] for one in sources}
    naming: dict[str, list[Link]] = {}
    for link in links:
        naming.setdefault(link.origin, []).append(link)
    targets = {link.target for link in links}
    for source in sources:
        own, named = asked[source.file], naming.get(source.file, [])
        every: tuple[Asked | Link, ...] = (*named, *own)
        staged: dict[int, list[Asked | Link]] = {}
        for one in every:
            for number in one.stages[-1:]:
                staged.setdefault(number, []).append(one)
        for end in _ends(every):
            parts = [one for number in end for one in staged.get(number, ())]
            meant = [one.target for one in parts if isinstance(one, Link)]
            lines = [one for file in _reached(meant, naming) for one in asked[file]]
            lines += (one for one in parts if isinstance(one, Asked))
            yield lines, Scene(base=parts[-1].base), True
        if not staged and source.file not in targets:
            lines = [one for file in _reached([source.file], naming) for one in asked[file]]
            yield lines, Scene(), False


def _ends(given: Iterable[Asked | Link]) -> Iterator[tuple[int, ...]]:
    """Yield the stages that install something, each with those below; one that others add to not.

    Whatever a stage has, all that are built upon it have as well.
    """
    every = dict.fromkeys(one.stages for one in given if one.stages)
    below = {number for stages in every for number in stages[:-1]}
    yield from (stages for stages in every if stages[-1] not in below)


def _reached(files: Iterable[str], naming: Mapping[str, Sequence[Link]]) -> Sequence[str]:
    """Return ``files``, and what they name, each once."""
    found = dict.fromkeys(files)
    left = list(found)
    while left:
        new = [link.target for link in naming.get(left.pop(), ()) if link.target not in found]
        found.update(dict.fromkeys(new))
        left += new
    return tuple(found)


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def _against_locks(
    given: Iterable[tuple[Asked | Index, Scene]], around: Surroundings
) -> Iterator[Finding]:
    """Yield the pins that a lock of the project contradicts, the vendor's builds aside."""
    for one, scene in given:
        if not isinstance(one, Asked):
            continue
        for ground in _locked(scene, around):
            version, place = ground.held.get(one.name, ("", ground.place))
            if version and not replacement.kept(one.name, version, ground):
                yield from pins.of_lock(one, version, place)


def _locked(scene: Scene, around: Surroundings) -> Iterator[Ground]:
    for ground in scene.grounds(around):
        if ground.known:
            yield ground


def _based(one: Based) -> Iterator[Finding]:
    """Yield whether a base is the same tomorrow."""
    name, _, digest = one.reference.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if digest.startswith("sha256:"):
        return
    said = clean(one.reference)
    if one.unclear:
        outcome, found = Outcome.UNKNOWN, f"{said}: {one.unclear}"
    elif tag and tag != LATEST:
        outcome, found = Outcome.UNKNOWN, f"{said}: a tag can be moved to another image"
    else:
        outcome, found = Outcome.INCOMPATIBLE, f"{said}: whatever is newest when it is built"
    yield Finding(
        code="MX415",
        outcome=outcome,
        subject="base",
        found=found,
        expected="a base with its digest, NAME:TAG@sha256:…",
        remedy="Name the image with its digest, or give the argument a default that has one."
        if one.unclear
        # The words are those of what is judged, and somebody may paste them.
        else f"skopeo inspect --format '{{{{.Digest}}}}' {shlex.quote(f'docker://{said}')}",
        place=one.place,
    )


def _unread(one: Unread) -> Finding:
    return Finding(
        code="MX417",
        outcome=Outcome.UNKNOWN,
        subject=clean(one.text)[:80] or "?",
        found=one.reason,
        expected="what can be understood: nothing is passed by",
        remedy="Correct the line, or say the same in a form that is read.",
        place=one.place,
    )


def _elsewhere(one: Elsewhere) -> Finding:
    return Finding(
        code="MX418",
        outcome=Outcome.INCOMPATIBLE if one.absent else Outcome.UNKNOWN,
        subject=clean(one.text),
        found=one.reason,
        expected="a file of this project",
        remedy="Keep the file in the project.",
        place=one.place,
    )


def _fine(source: Source, around: Surroundings) -> Finding:
    count = sum(isinstance(one, Asked | Based) for one in source.statements)
    grounds = [ground for ground in around.grounds if ground.known]
    held = f"{len(grounds)} lock{'s' * (len(grounds) != 1)}" if grounds else "no lock"
    return Finding(
        code="MX410",
        outcome=Outcome.COMPATIBLE,
        subject=source.kind,
        found=f"{count} statement{'s' * (count != 1)}, held against {held} and the other files",
        expected="nothing that contradicts them",
        place=Place(file=source.file),
    )
