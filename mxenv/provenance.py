"""What an image was made of, as an in-toto statement with SLSA provenance: written, and read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv import foreign_json, package_url
from mxenv.configuration import canonical
from mxenv.frozen import frozen
from mxenv.image import SCRATCH
from mxenv.layers import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.lock import Lock

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD = "https://mxenv.invalid/build/v1"
"""What kind of build it was; ``.invalid`` is nobody's (RFC 2606), so that no host is made up."""


def builder(version: str) -> str:
    """Return what made an image: mxenv, in this version."""
    return f"pkg:generic/mxenv@{version}"


def statement(
    name: str, digest: str, predicate_type: str, predicate: Mapping[str, object]
) -> bytes:
    """Return an in-toto statement on the image whose manifest has ``digest``."""
    return canonical(
        {
            "_type": STATEMENT,
            "subject": [{"name": name, "digest": _sha256(digest)}],
            "predicateType": predicate_type,
            "predicate": predicate,
        }
    )


def render(lock: Lock, *, manifest: str, lock_digest: str, version: str) -> bytes:
    """Return the provenance of the image that ``lock`` was built into.

    It says when and where as little as the image does: another day or machine gives equal bytes.
    """
    external = {"lock": {"name": f"pylock.{lock.name}.toml", "digest": _sha256(lock_digest)}}
    definition = {
        "buildType": BUILD,
        "externalParameters": external,
        "internalParameters": {"format": FORMAT, "platform": lock.target.platform},
        "resolvedDependencies": list(_dependencies(lock)),
    }
    predicate = {
        "buildDefinition": definition,
        "runDetails": {"builder": {"id": builder(version)}},
    }
    return statement(lock.name, manifest, PREDICATE, predicate)


def _dependencies(lock: Lock) -> Iterator[dict[str, object]]:
    """Yield everything that went in, as resource descriptors."""
    base = lock.base
    if base.reference != SCRATCH:
        uri = package_url.of_base(base)
        yield {"name": base.reference, "uri": uri, "digest": _sha256(base.digest)}
    for package in lock.packages:
        # Its name says which file of the version it is.
        uri = package_url.of_python(package.name, package.version)
        wheel = package.wheel
        yield {"name": wheel.name, "uri": uri, "digest": {"sha256": wheel.sha256}}
    for file, sha256 in lock.files:
        yield {"name": file.source, "digest": {"sha256": sha256}}


def _sha256(digest: str) -> dict[str, str]:
    return {"sha256": digest.removeprefix("sha256:")}


@frozen
class Said:
    """What a statement says."""

    subject: str
    """``sha256:…`` of the image's manifest."""
    kind: str
    """The type of its predicate."""
    predicate: Mapping[str, object]


def parse(content: bytes) -> Said:
    """Return what a statement says; `ValueError` says why it is none."""
    document = foreign_json.read(content)
    kind = foreign_json.text(document.get("predicateType"))
    if not kind or document.get("_type") != STATEMENT:
        raise ValueError(f"not a statement ({STATEMENT})")
    subjects = foreign_json.items(document.get("subject"))
    if len(subjects) != 1:
        raise ValueError("it is not about one subject")
    return Said(
        subject=f"sha256:{_digest(subjects[0])}",
        kind=kind,
        predicate=foreign_json.table(document.get("predicate")),
    )


def flaws(content: bytes, lock: Lock, *, manifest: str, lock_digest: str) -> Iterator[str]:
    """Yield where provenance says something else than the lock and the image's manifest."""
    try:
        said = parse(content)
    except ValueError as error:
        yield str(error)
        return
    if said.subject != manifest:
        yield f"it is about {said.subject}"
    if said.kind != PREDICATE:
        yield f"its predicate is {said.kind}, not {PREDICATE}"
        return
    definition = foreign_json.table(said.predicate.get("buildDefinition"))
    if (found := _locked(definition)) != lock_digest.removeprefix("sha256:"):
        yield f"it names the lock {found or 'nowhere'}"
    listed = foreign_json.items(definition.get("resolvedDependencies"))
    stated = set(map(_digest, listed))
    wanted = {_digest(entry): str(entry["name"]) for entry in _dependencies(lock)}
    for digest in sorted(wanted.keys() - stated, key=wanted.__getitem__):
        yield f"it does not name {wanted[digest]} with sha256:{digest}"
    for digest in sorted(stated - wanted.keys()):
        yield f"it names sha256:{digest or '?'}, which the lock does not"


def _locked(definition: Mapping[str, object]) -> str:
    parameters = foreign_json.table(definition.get("externalParameters"))
    return _digest(parameters.get("lock"))


def _digest(value: object) -> str:
    sums = foreign_json.table(foreign_json.table(value).get("digest"))
    return foreign_json.text(sums.get("sha256"))
