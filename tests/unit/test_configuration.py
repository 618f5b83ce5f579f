from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from _locked import SCRATCH as TARGET

from mxenv.configuration import CREATED, LAYER, Made, configuration, digest, lock_path, manifest
from mxenv.layers import START_GATE
from mxenv.lock import Base, Lock, Relied

SITE = "/opt/mxenv/lib/python3.11/site-packages"
SCRATCH = Lock(
    name="demo",
    inputs="sha256:" + "0" * 64,
    accelerator="metax",
    base=Base(reference="scratch"),
    target=TARGET,
    packages=(),
    variables=(("B", "2"), ("A", "1")),
)
ON_BASE = replace(SCRATCH, base=Base(reference="r.example/base:1", digest="sha256:" + "b" * 64))
MADE = Made(title="a==1", diff_id="sha256:" + "1" * 64, digest="sha256:" + "2" * 64, size=7)
BASE: dict[str, Any] = {
    "architecture": "amd64",
    "os": "linux",
    "created": "2026-01-01T00:00:00Z",
    "author": "somebody",
    "container": "abc",
    "docker_version": "20",
    "config": {
        "Env": ["PATH=/bin", "A=0", "EMPTY", "PATH=/usr/bin"],
        "Entrypoint": ["/entry", "-x"],
        "Cmd": ["serve"],
        "User": "me",
        "WorkingDir": "/srv",
        "Image": "sha256:old",
        "Labels": {"team": "t", "org.opencontainers.image.version": "9", "io.mxenv.python": "2"},
    },
    "rootfs": {"type": "layers", "diff_ids": ["sha256:" + "9" * 64]},
    "history": [{"created_by": "FROM x"}],
}


def made(lock: Lock, base: dict[str, Any]) -> Any:
    return json.loads(configuration(lock, [MADE], lock_digest="sha256:l", base=base))


def test_the_base_s_way_to_start_is_kept_and_the_gate_stands_before_it() -> None:
    config = made(ON_BASE, BASE)["config"]
    assert config["Entrypoint"] == [START_GATE, "/entry", "-x"]
    assert (config["Cmd"], config["User"], config["WorkingDir"]) == (["serve"], "me", "/srv")
    assert "Image" not in config


def test_variables_of_the_lock_replace_the_base_s_in_their_place() -> None:
    config = made(ON_BASE, BASE)["config"]
    assert config["Env"] == ["PATH=/usr/bin", "A=1", "EMPTY=", "B=2"]


def test_labels_about_the_base_itself_are_not_inherited() -> None:
    labels = made(ON_BASE, BASE)["config"]["Labels"]
    assert "org.opencontainers.image.version" not in labels
    assert (labels["team"], labels["io.mxenv.python"]) == ("t", "3.11")
    assert labels["org.opencontainers.image.base.digest"] == ON_BASE.base.digest
    assert labels["io.mxenv.lock.digest"] == "sha256:l"
    assert labels["io.mxenv.lock.path"] == lock_path("demo")
    assert labels["io.mxenv.outcome"] == "unknown"


def test_what_the_lock_relied_on_stands_in_the_labels() -> None:
    relied = Relied(matrix="sha256:m", rows=(), outcome="compatible")
    labels = made(replace(ON_BASE, relied=relied), BASE)["config"]["Labels"]
    assert (labels["io.mxenv.matrix"], labels["io.mxenv.outcome"]) == ("sha256:m", "compatible")


def test_layers_and_history_follow_the_base_s() -> None:
    document = made(ON_BASE, BASE)
    assert document["rootfs"]["diff_ids"] == ["sha256:" + "9" * 64, MADE.diff_id]
    assert [entry["created_by"] for entry in document["history"]] == ["FROM x", "mxenv build"]
    assert (document["created"], document["author"]) == (CREATED, "somebody")
    assert not {"container", "docker_version"} & set(document)


def test_an_image_from_scratch_finds_its_packages_and_has_no_entrypoint() -> None:
    config = made(SCRATCH, {})["config"]
    assert config["Env"] == ["A=1", "B=2", f"PYTHONPATH={SITE}"]
    assert "Entrypoint" not in config
    assert "org.opencontainers.image.base.digest" not in config["Labels"]


def test_a_pythonpath_of_the_lock_is_kept_on_scratch() -> None:
    config = made(replace(SCRATCH, variables=(("PYTHONPATH", "/x"),)), {})["config"]
    assert config["Env"] == ["PYTHONPATH=/x"]


def test_nulls_in_a_base_s_configuration_are_nothing() -> None:
    base = {"config": {"Env": None, "Entrypoint": None, "Cmd": None}, "history": None}
    config = made(replace(ON_BASE, variables=()), base)["config"]
    assert config["Entrypoint"] == [START_GATE]
    assert not {"Env", "Cmd"} & set(config)


def test_a_variant_of_an_architecture_is_named() -> None:
    lock = replace(SCRATCH, target=replace(SCRATCH.target, platform="linux/arm64/v8"))
    document = made(lock, {})
    assert (document["architecture"], document["variant"]) == ("arm64", "v8")


def test_the_manifest_lists_the_base_s_layers_in_the_oci_s_words_then_ours() -> None:
    layers = [
        {
            "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
            "digest": "d",
            "size": 1,
        },
        {"mediaType": "application/vnd.oci.image.layer.v1.tar+zstd", "digest": "e"},
    ]
    config = b"{}"
    document = json.loads(manifest(ON_BASE, [MADE], config=config, base_layers=layers))
    assert [layer["mediaType"] for layer in document["layers"]] == [
        LAYER,
        "application/vnd.oci.image.layer.v1.tar+zstd",
        LAYER,
    ]
    assert document["config"]["digest"] == digest(config)
    assert document["annotations"]["org.opencontainers.image.base.name"] == "r.example/base:1"


def test_the_manifest_of_an_image_from_scratch_speaks_of_no_base_digest() -> None:
    document = json.loads(manifest(SCRATCH, [], config=b"{}", base_layers=[]))
    assert set(document["annotations"]) == {
        "org.opencontainers.image.base.name",
        "org.opencontainers.image.title",
    }


def test_layers_that_were_packed_otherwise_say_so_in_the_manifest_and_nowhere_else() -> None:
    zstd = "application/vnd.oci.image.layer.v1.tar+zstd"
    other = replace(MADE, digest="sha256:" + "3" * 64, media_type=zstd)
    config = configuration(SCRATCH, [MADE], lock_digest="sha256:l", base={})
    assert config == configuration(SCRATCH, [other], lock_digest="sha256:l", base={})
    said = "zstd 1.5.7, level 9"
    packed = json.loads(manifest(SCRATCH, [other], config=config, base_layers=[], compression=said))
    usual = json.loads(manifest(SCRATCH, [MADE], config=config, base_layers=[]))
    assert packed["layers"] == [{"mediaType": zstd, "digest": other.digest, "size": 7}]
    assert packed["annotations"]["io.mxenv.compression"] == said
    assert "io.mxenv.compression" not in usual["annotations"]
