"""Which wheels a lock takes: resolved beside what a base provides, or built if there are none."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv import _plugins
from mxenv._hashing import sha256_of
from mxenv.distribution import normalised
from mxenv.errors import EngineError, Incompatible, IndexFailed, UsageError, WheelError
from mxenv.provided import KEPT
from mxenv.resolvers import Indexes, Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mxenv._offers import Offers, Place
    from mxenv.api.bases import Ground
    from mxenv.api.locking import Options
    from mxenv.image import Image
    from mxenv.index_page import Link
    from mxenv.lock import Lock, Package
    from mxenv.resolvers import Resolution, Resolver

ALL = "*"
PARALLEL = 8
"""How many pages of indexes are on their way at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Exact wheels, and what is to be said of them."""

    packages: tuple[Package, ...]
    notes: tuple[str, ...]


def settle(  # noqa: PLR0913 - what a resolution depends on
    image: Image,
    ground: Ground,
    before: Lock | None,
    *,
    image_toml: Path,
    house: Path,
    root: Path,
    options: Options,
) -> Settled:
    """Return the wheels that ``image`` needs on ``ground``; what was built lies in ``house``."""
    upgraded = _upgraded(ground, options)
    request = _request(image, ground, before, root, options, upgraded)
    resolver: Resolver = _plugins.load("resolvers", options.resolver)
    resolution = _resolve(request, ground, image_toml, resolver)
    found = {*(p.name for p in resolution.packages), *(s.name for s in resolution.sdists)}
    if unknown := upgraded - found:
        raise UsageError(
            f"nothing in {image_toml} needs {', '.join(sorted(unknown))}",
            context="--upgrade-package",
            hint=f"it needs {', '.join(sorted(found)) or 'nothing'}",
        )
    try:
        packages, notes = _whole(resolution, ground, before, house, resolver, request.indexes)
    except (Incompatible, EngineError, WheelError) as error:
        inner = f": {error.context}" if error.context else ""
        place = f"{image_toml}: python.requires{inner}"
        raise type(error)(error.message, context=place, hint=error.hint) from None
    return Settled(
        packages=packages,
        notes=(*resolution.notes, *notes, *_moved(before, packages, upgraded), *_early(packages)),
    )


def _upgraded(ground: Ground, options: Options) -> set[str]:
    """Return the names of what is to be the newest that fits; it is no part of the base."""
    names = {normalised(name) for name in options.upgrade_packages}
    provided = {entry.name: entry.version for entry in ground.provided}
    for name in sorted(names & provided.keys()):
        raise UsageError(
            f"the base provides {name} {provided[name]}",
            context="--upgrade-package",
            hint="what the base provides is never replaced: take a newer base",
        )
    return names


def _request(  # noqa: PLR0913, PLR0917 - what a resolution depends on
    image: Image,
    ground: Ground,
    before: Lock | None,
    root: Path,
    options: Options,
    upgraded: set[str],
) -> Request:
    locked = before.packages if before is not None and not options.upgrade else ()
    stay = tuple(package for package in locked if package.name not in upgraded)
    return Request(
        requires=image.requires,
        python=ground.python,
        platform=image.platform,
        libc=ground.target.libc,
        provided=ground.provided,
        preferred=tuple((package.name, package.version) for package in stay),
        refresh=(ALL,) if options.upgrade else tuple(sorted(upgraded)),
        only_binary=options.only_binary,
        sources=tuple(package.name for package in stay if package.source is not None),
        indexes=Indexes(
            find_links=options.find_links,
            index=options.index,
            no_index=options.no_index,
            offline=options.offline,
            seconds=options.seconds,
            directory=root,
        ),
    )


def _resolve(request: Request, ground: Ground, image_toml: Path, resolver: Resolver) -> Resolution:
    place = f"{image_toml}: python.requires"
    try:
        resolution = resolver.resolve(request)
    except Incompatible as error:
        held = [p for p in ground.provided if _names(error.message, p.name)]
        provided = ", ".join(f"{entry.name} {entry.version}" for entry in held)
        said = error.message.rstrip(".")
        raise Incompatible(
            f"{said}; the base provides {provided}" if held else said,
            context=place,
            hint=KEPT if held else error.hint,
        ) from None
    except IndexFailed as error:
        where = f"{error.context}: " if error.context else ""
        raise IndexFailed(f"{where}{error.message}", context=place, hint=error.hint) from None
    reasons = dict(ground.unclear)
    needed = [(package.name, package.version) for package in resolution.packages]
    needed += [(sdist.name, sdist.version) for sdist in resolution.sdists]
    for name, version in needed:
        if name in reasons:
            raise Incompatible(
                f"{name} {version} is needed, and the base has it in a version "
                f"that is not known: {reasons[name]}",
                context=place,
            )
    return resolution


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _whole(  # noqa: PLR0913, PLR0917 - what a wheel is built from, for what, with what
    resolution: Resolution,
    ground: Ground,
    before: Lock | None,
    house: Path,
    resolver: Resolver,
    indexes: Indexes,
) -> tuple[tuple[Package, ...], tuple[str, ...]]:
    """Return a wheel for everything that was resolved, and where there was more than one choice."""
    packages = [_as_before(package, before) for package in resolution.packages]
    notes: list[str] = []
    places = resolver.places(indexes) if resolution.sdists or packages else None
    if places is None:
        return (), ()
    from mxenv import _lines  # noqa: PLC0415 - imported late: it needs requests

    # Once: behind a wall no public index ever answers, and what it says is for a note only.
    with _lines.opened(places, attempts=1) as offers:
        for sdist in resolution.sdists:
            from mxenv.api import _from_source  # noqa: PLC0415 - imported late: seldom needed

            package, note = _from_source.locked(
                sdist,
                ground,
                before,
                house=house,
                resolver=resolver,
                indexes=indexes,
                line=offers.line,
            )
            packages.append(package)
            notes.append(note)
        asked = _lines.in_order(places, offline=indexes.offline)
        notes += _found_twice(packages, asked, offers)
    return tuple(packages), tuple(filter(None, notes))


def _as_before(package: Package, before: Lock | None) -> Package:
    """Return ``package`` with the source that its wheel was built from, if it was built."""
    for then in before.packages if before is not None else ():
        if then.source is not None and then.wheel.sha256 == package.wheel.sha256:
            return then
    return package


def _found_twice(
    packages: list[Package], places: tuple[Place, ...], offers: Offers
) -> Iterator[str]:
    """Yield what more than one place has, and which of them it is taken from."""
    if len(places) < 2:  # noqa: PLR2004 - there is nothing to choose from
        return
    from mxenv._offers import labels  # noqa: PLC0415 - imported late: it needs requests

    called = labels(places)
    with ThreadPoolExecutor(PARALLEL) as pool:
        found = list(pool.map(lambda package: _who_has(package, places, offers), packages))
    silent = dict(failure for _, failures in found for failure in failures)
    for place, failure in silent.items():
        yield f"whether {called[place]} has any of this as well is not known: {failure.message}"
    shared: dict[tuple[str, str], list[str]] = {}
    for package, (having, _) in zip(packages, found, strict=True):
        if len(having) > 1:
            first, *others = (called[place] for place in having)
            shared.setdefault((first, " and in ".join(others)), []).append(package.name)
    for (first, elsewhere), names in shared.items():
        verb = "is" if len(names) == 1 else "are"
        yield (
            f"{', '.join(sorted(names))} {verb} found in {first} and in {elsewhere}: taken from "
            f"{first}, which comes first"
        )


def _who_has(
    package: Package, places: tuple[Place, ...], offers: Offers
) -> tuple[list[Place], list[tuple[Place, IndexFailed]]]:
    """Return the places that have ``package``, the one that it was taken from first."""
    having: list[Place] = []
    failures: list[tuple[Place, IndexFailed]] = []
    taken = None
    file, sha256 = package.wheel.name, package.wheel.sha256
    if package.source is not None:
        file, sha256 = package.source.name, package.source.sha256
    for place in places:
        if place is places[-1] and not having and not failures:
            break  # it can be nowhere else
        try:
            links = offers.of(package.name, place)
        except IndexFailed as failure:
            failures.append((place, failure))
            continue
        if links:
            having.append(place)
        if taken is None and any(_is(link, file, sha256) for link in links):
            taken = place
    return sorted(having, key=lambda place: place != taken), failures


def _is(link: Link, file: str, sha256: str) -> bool:
    if link.name != file:
        return False
    if "://" in link.url:
        return link.sha256 in {"", sha256}
    from pathlib import Path  # noqa: PLC0415 - a folder is among the places

    return sha256_of(Path(link.url)) == sha256


def _moved(before: Lock | None, packages: Iterable[Package], upgraded: set[str]) -> Iterator[str]:
    """Yield what else has another version, when one was asked for."""
    if before is None or not upgraded:
        return
    then = {package.name: package.version for package in before.packages}
    for package in packages:
        version = then.get(package.name, package.version)
        if package.name not in upgraded and version != package.version:
            yield f"{package.name} {version} became {package.version}: what is upgraded needs it"


def _early(packages: Iterable[Package]) -> Iterator[str]:
    """Yield what is a pre-release, which nobody who asked for a version would guess."""
    from packaging.version import Version  # noqa: PLC0415 - imported late: only a lock needs it

    for package in packages:
        if Version(package.version).is_prerelease:
            yield f"{package.name} {package.version} is a pre-release: nothing else fits"
