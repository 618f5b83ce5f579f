"""What the configuration and the manifest of an image say, as bytes that depend on nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.image import SCRATCH
from mxenv.layers import FORMAT, SHARE, START_GATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mxenv.lock import Lock

CREATED = "1970-01-01T00:00:00Z"
"""When every image was made: the real time would be another digest each time."""

INHERITED = (
    "User",
    "ExposedPorts",
    "Volumes",
    "WorkingDir",
    "StopSignal",
    "Shell",
    "Healthcheck",
    "Cmd",
)
"""What a base's ``config`` says that goes on as it is."""

COMPRESSION = "io.mxenv.compression"
"""The annotation of a manifest that says what packed its layers: their bytes depend on it."""

ANNOTATION = "org.opencontainers.image."
"""The keys with which the OCI says what an image is; a base's own would be wrong about ours."""


LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@frozen
class Made:
    """A layer that exists: its digests, and what is in it, for people."""

    title: str
    diff_id: str
    """``sha256:…`` of the tar file."""
    digest: str
    """``sha256:…`` of the blob."""
    size: int
    """Of the blob."""
    media_type: str = LAYER


def lock_path(name: str) -> str:
    """Return where in the image its lock lies."""
    return f"{SHARE}/lock/pylock.{name}.toml"


def configuration(
    lock: Lock, layers: Sequence[Made], *, lock_digest: str, base: Mapping[str, object]
) -> bytes:
    """Return the image configuration: what ``base`` says (empty for ``scratch``), and our part.

    The same values give the same bytes: no clock, host or set order reaches them.
    """
    system, _, architecture = lock.target.platform.partition("/")
    architecture, _, variant = architecture.partition("/")
    document: dict[str, object] = {
        "architecture": architecture,
        "os": system,
        "created": CREATED,
        "config": _run_config(lock, lock_digest, _mapping(base.get("config"))),
        "rootfs": {
            "type": "layers",
            "diff_ids": [
                *_list(_mapping(base.get("rootfs")).get("diff_ids")),
                *(layer.diff_id for layer in layers),
            ],
        },
        "history": [
            *_list(base.get("history")),
            *(
                {"created": CREATED, "created_by": "mxenv build", "comment": layer.title}
                for layer in layers
            ),
        ],
    }
    for key in ("os.version", "os.features", "variant", "author"):
        if key in base:
            document[key] = base[key]
    if variant:
        document["variant"] = variant
    return canonical(document)


def _run_config(lock: Lock, lock_digest: str, base: Mapping[str, object]) -> dict[str, object]:
    """Return how a container starts: as the base has it, with the start gate before it."""
    config = {key: base[key] for key in INHERITED if base.get(key)}
    variables = dict(lock.variables)
    if lock.base.reference == SCRATCH:
        variables.setdefault("PYTHONPATH", lock.target.purelib)
    else:
        # `scratch` has no shell that could run it.
        config["Entrypoint"] = [START_GATE, *_list(base.get("Entrypoint"))]
    if env := _environment(_list(base.get("Env")), variables):
        config["Env"] = env
    inherited = {
        key: value
        for key, value in _mapping(base.get("Labels")).items()
        if not key.startswith(ANNOTATION)
    }
    config["Labels"] = inherited | labels(lock, lock_digest)
    return config


def labels(lock: Lock, lock_digest: str) -> dict[str, str]:
    """Return what the image says it is."""
    found = {
        f"{ANNOTATION}title": lock.name,
        f"{ANNOTATION}base.name": lock.base.reference,
        f"{ANNOTATION}base.digest": lock.base.digest,
        "io.mxenv.lock.digest": lock_digest,
        "io.mxenv.lock.path": lock_path(lock.name),
        "io.mxenv.format": str(FORMAT),
        "io.mxenv.accelerator": lock.accelerator,
        "io.mxenv.python": lock.target.python,
        "io.mxenv.matrix": lock.relied.matrix if lock.relied else "",
        "io.mxenv.outcome": lock.relied.outcome if lock.relied else "unknown",
    }
    return {key: value for key, value in found.items() if value}


def _environment(base: Sequence[object], variables: Mapping[str, str]) -> list[str]:
    """Return the base's variables in their order, replaced where they are set anew, then the new.

    A name that the base sets twice keeps its last value, as a container would see it.
    """
    merged = dict(str(variable).partition("=")[::2] for variable in base)
    merged |= dict(sorted(variables.items()))
    return [f"{name}={value}" for name, value in merged.items()]


def manifest(
    lock: Lock,
    layers: Sequence[Made],
    *,
    config: bytes,
    base_layers: Sequence[Mapping[str, object]],
    compression: str = "",
) -> bytes:
    """Return the OCI manifest; ``base_layers`` are the base's descriptors, from the bottom up.

    ``compression`` says with what our layers are packed, unless it is as the format has it.
    """
    annotations = {
        COMPRESSION: compression,
        f"{ANNOTATION}base.name": lock.base.reference,
        f"{ANNOTATION}base.digest": lock.base.digest,
        f"{ANNOTATION}title": lock.name,
    }
    return canonical(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": digest(config),
                "size": len(config),
            },
            "layers": [
                *({**layer, "mediaType": _oci_type(layer["mediaType"])} for layer in base_layers),
                *(
                    {"mediaType": layer.media_type, "digest": layer.digest, "size": layer.size}
                    for layer in layers
                ),
            ],
            "annotations": {key: value for key, value in annotations.items() if value},
        }
    )


DOCKER_TYPES = {
    "application/vnd.docker.image.rootfs.diff.tar.gzip": LAYER,
    "application/vnd.docker.image.rootfs.diff.tar": "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip": (
        "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
    ),
}
"""Docker's names for layers, and the OCI's names for the very same bytes."""


def _oci_type(media_type: object) -> object:
    """Return the OCI's name of a layer's type; one that is not Docker's stays as it is."""
    return DOCKER_TYPES.get(str(media_type), media_type)


def canonical(document: object) -> bytes:
    """Return JSON of which there is one spelling: keys sorted, no spaces, ASCII."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def digest(content: bytes) -> str:
    """Return ``sha256:…``."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _mapping(value: object) -> Mapping[str, object]:
    """Return an object of the base's configuration; where it has none (null), an empty one."""
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    """Return a list of the base's configuration; where it has none (null), an empty one."""
    return value if isinstance(value, list) else []
