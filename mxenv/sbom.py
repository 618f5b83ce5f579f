"""What an image is made of, as CycloneDX 1.6 has it; how well one agrees with a lock."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.tool import ToolRepository
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from mxenv import foreign_json, package_url
from mxenv.configuration import canonical
from mxenv.image import SCRATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.lock import Lock

MADE = datetime(1970, 1, 1, tzinfo=UTC)
"""When every SBOM was made, as every image: the real time would be other bytes each time."""
ORIGIN = "mxenv:origin"
"""The property that says how a component came in: ``wheel``, ``base``, ``file``, ``system``."""


def render(lock: Lock, *, manifest: str, version: str) -> bytes:
    """Return the SBOM of the image with that manifest: equal ones give equal bytes.

    What the base provides has no hashes: none is known of it but the base's own digest.
    """
    image = Component(
        type=ComponentType.CONTAINER,
        name=lock.name,
        version=manifest,
        bom_ref="image",
        hashes=[_hash(manifest)],
    )
    bom = Bom(
        components=_components(lock),
        # One name for one document, and no other each time that it is made.
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"mxenv:{version}:{manifest}"),
        metadata=BomMetaData(
            component=image,
            timestamp=MADE,
            tools=ToolRepository(
                components=[
                    Component(type=ComponentType.APPLICATION, name="mxenv", version=version)
                ]
            ),
        ),
    )
    bom.register_dependency(image, bom.components)
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    return canonical(document) + b"\n"


def _components(lock: Lock) -> Iterator[Component]:
    base = lock.base
    if base.reference != SCRATCH:
        yield Component(
            type=ComponentType.CONTAINER,
            name=base.reference.partition("@")[0],
            version=base.digest,
            bom_ref="base",
            purl=PackageURL.from_string(package_url.of_base(base)),
            hashes=[_hash(base.digest)],
            properties=[Property(name=ORIGIN, value="base")],
        )
    for package in lock.packages:
        purl = package_url.of_wheel(package)
        yield Component(
            type=ComponentType.LIBRARY,
            name=package.name,
            version=package.version,
            bom_ref=f"wheel:{package.name}",
            purl=PackageURL.from_string(purl),
            hashes=[_hash(package.wheel.sha256)],
            properties=[Property(name=ORIGIN, value="wheel")],
        )
    for provided in lock.provided:
        purl = package_url.of_python(provided.name, provided.version)
        yield Component(
            type=ComponentType.LIBRARY,
            name=provided.name,
            version=provided.version,
            bom_ref=f"base:{provided.name}",
            purl=PackageURL.from_string(purl),
            properties=[Property(name=ORIGIN, value="base")],
        )
    for file, sha256 in lock.files:
        yield Component(
            type=ComponentType.FILE,
            name=file.target,
            bom_ref=f"file:{file.target}",
            hashes=[_hash(sha256)],
            properties=[Property(name=ORIGIN, value="file")],
        )
    for name in lock.system:
        yield Component(
            type=ComponentType.APPLICATION,
            name=name,
            bom_ref=f"system:{name}",
            properties=[Property(name=ORIGIN, value="system")],
        )


def _hash(digest: str) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=digest.removeprefix("sha256:"))


def flaws(content: bytes, lock: Lock, *, manifest: str) -> Iterator[str]:
    """Yield where an SBOM says something else than the lock and the image's manifest.

    How it is written does not count: another version of mxenv may have written it.
    """
    try:
        document = foreign_json.read(content)
    except ValueError as error:
        yield str(error)
        return
    if document.get("bomFormat") != "CycloneDX":
        yield "not a CycloneDX document"
        return
    metadata = foreign_json.table(document.get("metadata"))
    subject = foreign_json.table(metadata.get("component")).get("version")
    if subject != manifest:
        yield f"it is about {subject}"
    stated, wanted = set(_stated(document.get("components"))), set(_wanted(lock))
    yield from (f"it does not have {_told(one)}" for one in sorted(wanted - stated))
    yield from (f"it has {_told(one)}, which the lock does not" for one in sorted(stated - wanted))


_Named = tuple[str, str, str]
"""Name, version, and SHA-256 where one is known."""


def _stated(components: object) -> Iterator[_Named]:
    for entry in map(foreign_json.table, foreign_json.items(components)):
        sums = foreign_json.items(entry.get("hashes"))
        first = foreign_json.table(sums[0] if sums else None)
        name, version = (foreign_json.text(entry.get(key)) for key in ("name", "version"))
        yield name, version, foreign_json.text(first.get("content"))


def _wanted(lock: Lock) -> Iterator[_Named]:
    for one in _components(lock):
        yield one.name, one.version or "", next((h.content for h in one.hashes), "")


def _told(one: _Named) -> str:
    name, version, sha256 = one
    return " ".join(part for part in (name, version, sha256 and f"sha256:{sha256}") if part)
