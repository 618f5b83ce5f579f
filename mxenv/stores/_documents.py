"""What manifests, indexes and configurations say, strictly read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mxenv.stores import INDEXES, MANIFESTS, Descriptor, ImageDescription
from mxenv.stores._digests import is_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mxenv.errors import MxenvError

    Complain = Callable[[str], MxenvError]

LARGEST = 8 << 20
"""More than any manifest or configuration needs; registries stop at 4 MiB."""

_DEEPEST = 3
"""How many indexes may stand between a name and a manifest."""

USUAL = "linux/amd64"
"""What is meant where nobody named a platform and there is a choice."""

ATTESTATION = "vnd.docker.reference.type"
"""The annotation of entries of an index that are no images but speak of one."""


def parse(content: bytes, complain: Complain) -> dict[str, object]:
    """Return the JSON object that ``content`` is."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise complain(f"is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise complain("is not a JSON object")
    return value


def descriptor(value: object, complain: Complain, place: str) -> Descriptor:
    """Return the descriptor at ``place``."""
    if not isinstance(value, dict):
        raise complain(f"{place} is not a descriptor")
    media_type, digest, size = (value.get(name) for name in ("mediaType", "digest", "size"))
    if not is_digest(digest) or not isinstance(digest, str):
        raise complain(f"{place}.digest is not sha256: and 64 hexadecimal digits")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise complain(f"{place}.size is not a number of bytes")
    if not isinstance(media_type, str):
        raise complain(f"{place}.mediaType is not a string")
    kind = value.get("artifactType")
    return Descriptor(
        media_type=media_type,
        digest=digest,
        size=size,
        annotations=notes(value),
        artifact_type=kind if isinstance(kind, str) else "",
    )


def notes(value: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the annotations of a descriptor or a manifest, in a stable order."""
    given = value.get("annotations")
    if not isinstance(given, dict):
        return ()
    return tuple(sorted((k, v) for k, v in given.items() if isinstance(v, str)))


def entries(document: Mapping[str, object], name: str, complain: Complain) -> list[object]:
    """Return the list that ``document`` has under ``name``."""
    value = document.get(name)
    if not isinstance(value, list):
        raise complain(f"{name} is not a list")
    return value


def media_type(content: bytes, announced: str, complain: Complain) -> str:
    """Return whether ``content`` is an index or a manifest, by itself first."""
    document = parse(content, complain)
    own = document.get("mediaType")
    kind = own if isinstance(own, str) else announced.partition(";")[0].strip()
    if kind in INDEXES | MANIFESTS:
        return kind
    if document.get("schemaVersion") == 1:
        raise complain("is a manifest of schema 1, which names no configuration: push it anew")
    raise complain(f"is neither a manifest nor an index ({kind or 'no media type'})")


def resolve(
    top: Descriptor, read: Callable[[Descriptor], bytes], platform: str, complain: Complain
) -> tuple[Descriptor, bytes]:
    """Return the manifest for ``platform`` that ``top`` is or leads to."""
    current = top
    for _ in range(_DEEPEST):
        content = read(current)
        kind = media_type(content, current.media_type, complain)
        if kind in MANIFESTS:
            found = Descriptor(media_type=kind, digest=current.digest, size=len(content))
            return found, content
        current = choose(parse(content, complain), platform, complain)
    raise complain(f"is an index of indexes, more than {_DEEPEST} deep")


def choose(index: Mapping[str, object], platform: str, complain: Complain) -> Descriptor:
    """Return the entry of ``index`` for ``platform``; the only one fits if it names none.

    No ``platform`` means the usual one, or else the only one there is.
    """
    there: list[tuple[str, Descriptor]] = []
    for number, value in enumerate(entries(index, "manifests", complain)):
        entry = descriptor(value, complain, f"manifests[{number}]")
        if ATTESTATION not in dict(entry.annotations):
            there.append((_platform(value), entry))
    fitting = [entry for name, entry in there if fits(name, platform or USUAL)]
    if fitting:
        return fitting[0]
    if len(there) == 1 and not (platform and there[0][0]):
        return there[0][1]
    names = ", ".join(sorted({name or "unnamed" for name, _ in there})) or "nothing"
    raise complain(f"has nothing for {platform or USUAL}, only {names}")


def _platform(value: object) -> str:
    platform = value.get("platform") if isinstance(value, dict) else None
    if not isinstance(platform, dict):
        return ""
    parts = (platform.get(name) for name in ("os", "architecture", "variant"))
    return "/".join(part for part in parts if isinstance(part, str) and part)


def fits(there: str, wanted: str) -> bool:
    """Return whether ``linux/arm64/v8`` is what ``linux/arm64`` asks for."""
    return there == wanted or there.startswith(f"{wanted}/")


def describe(
    manifest: tuple[Descriptor, bytes],
    read: Callable[[Descriptor], bytes],
    platform: str,
    complain: Complain,
) -> ImageDescription:
    """Return what a manifest and the configuration that it names say of an image."""
    found, content = manifest
    document = parse(content, complain)
    config = descriptor(document.get("config"), complain, "config")
    layers = tuple(
        descriptor(value, complain, f"layers[{number}]")
        for number, value in enumerate(entries(document, "layers", complain))
    )
    if config.size > LARGEST:
        raise complain(f"config has {config.size} bytes, more than any configuration needs")
    configuration = parse(read(config), complain)
    own = f"{configuration.get('os')}/{configuration.get('architecture')}"
    if platform and not fits(own, platform):
        raise complain(f"is an image for {own}, not for {platform}")
    plain = diff_ids(configuration, complain)
    if len(plain) != len(layers):
        raise complain(f"has {len(layers)} layers, its configuration names {len(plain)}")
    return ImageDescription(
        manifest=found,
        config=config,
        configuration=configuration,
        layers=layers,
        diff_ids=plain,
    )


def diff_ids(configuration: Mapping[str, object], complain: Complain) -> tuple[str, ...]:
    """Return the digests of the uncompressed layers."""
    rootfs = configuration.get("rootfs")
    found = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if not isinstance(found, list) or not all(is_digest(one) for one in found):
        raise complain("rootfs.diff_ids of its configuration is not a list of digests")
    return tuple(found)
