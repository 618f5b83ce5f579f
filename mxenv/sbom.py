"""What an image is made of, as CycloneDX 1.6 has it; how well one agrees with a lock."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from mxenv import foreign_json, package_url
from mxenv.configuration import canonical
from mxenv.image import SCRATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.lock import Lock

SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
MADE = "1970-01-01T00:00:00+00:00"
"""When every SBOM was made, as every image: the real time would be other bytes each time."""
ORIGIN = "mxenv:origin"
"""The property that says how a component came in that is no wheel: ``base``, ``file``, ``system``.

The reference of each component says it as well, before its colon.
"""

_Component = dict[str, object]


def render(lock: Lock, *, lock_digest: str, version: str) -> bytes:
    """Return the SBOM of the image that the lock with that digest stands for.

    What the base provides has no hashes: none is known of it but the base's own digest. Which
    manifest it goes with is said by what attaches it: an image that is packed otherwise has the
    same one.
    """
    tool = {"type": "application", "name": "mxenv", "version": version}
    image = {"type": "container", "name": lock.name, "version": lock_digest, "bom-ref": "image"}
    return canonical(
        {
            "$schema": SCHEMA,
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            # One number for one document, and no other each time that it is made.
            "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"mxenv:{version}:{lock_digest}").urn,
            "metadata": {
                "timestamp": MADE,
                "component": image,
                "tools": {"components": [tool]},
            },
            "components": list(_components(lock)),
        }
    )


def _components(lock: Lock) -> Iterator[_Component]:
    base = lock.base
    if base.reference != SCRATCH:
        name, purl = base.reference.partition("@")[0], package_url.of_base(base)
        about = {"version": base.digest, "purl": purl, "hashes": _hashes(base.digest)}
        yield {"type": "container", "name": name, "bom-ref": "base", **about, **_origin("base")}
    for package in lock.packages:
        yield {
            "type": "library",
            "name": package.name,
            "version": package.version,
            "bom-ref": f"wheel:{package.name}",
            "purl": package_url.of_wheel(package),
            "hashes": _hashes(package.wheel.sha256),
        }
    for provided in lock.provided:
        yield {
            "type": "library",
            "name": provided.name,
            "version": provided.version,
            "bom-ref": f"base:{provided.name}",
            "purl": package_url.of_python(provided.name, provided.version),
            **_origin("base"),
        }
    for file, sha256 in lock.files:
        about = {"name": file.target, "bom-ref": f"file:{file.target}", "hashes": _hashes(sha256)}
        yield {"type": "file", **about, **_origin("file")}
    for name in lock.system:
        about = {"name": name, "bom-ref": f"system:{name}"}
        yield {"type": "application", **about, **_origin("system")}


def _hashes(digest: str) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}]


def _origin(origin: str) -> _Component:
    return {"properties": [{"name": ORIGIN, "value": origin}]}


def flaws(content: bytes, lock: Lock, *, lock_digest: str) -> Iterator[str]:
    """Yield where an SBOM says something else than the lock with that digest.

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
    if subject != lock_digest:
        yield f"it is about {subject}"
    stated = set(_stated(document.get("components")))
    wanted = set(_stated(list(_components(lock))))
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


def _told(one: _Named) -> str:
    name, version, sha256 = one
    return " ".join(part for part in (name, version, sha256 and f"sha256:{sha256}") if part)
