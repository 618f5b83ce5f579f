"""A build that ends in the middle of a push: the next one completes what it has left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from _locked import scratch_lock, write_lock

from mxenv.api import building, verifying
from mxenv.attachment import DOCUMENTS
from mxenv.stores import registry as registries
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from _registry import Registry

CUT = """
import os, signal, sys
from pathlib import Path
from mxenv.errors import RegistryError
from mxenv.stores._client import Client
from mxenv.api import building
lock, cache, reference, how, last = sys.argv[1:]
asked, call = 0, Client.call
def counted(self, *words, **more):
    global asked
    asked += 1
    if asked == int(last) and how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if asked >= int(last) and how == "refused":
        raise RegistryError("has had enough")
    return call(self, *words, **more)
Client.call = counted
try:
    building.build(Path(lock), push=reference, cache=Path(cache))
except RegistryError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
print(asked)
"""
"""A build that ends, one way or the other, at a request by its number."""


class Pushed:
    """A lock, and where its image goes."""

    def __init__(self, root: Path, registry: Registry) -> None:
        self.root, self.registry = root, registry
        lock = replace(scratch_lock(root), name="cut")
        self.lock = write_lock(root, lock)

    def reference(self, name: object) -> str:
        unique = sha256(f"{self.root}{name}".encode()).hexdigest()[:12]
        return f"{self.registry.address}/cut/{unique}:1"

    def start(self, reference: str, how: str, last: int, cache: str) -> subprocess.Popen[str]:
        words = [str(self.lock), str(self.root / cache), reference, how, str(last)]
        return subprocess.Popen(
            [sys.executable, "-c", CUT, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def cut(self, reference: str, how: str, last: int) -> int:
        """Build until the request with that number; return how the build ended."""
        with self.start(reference, how, last, f"cache-{last}") as process:
            process.communicate(timeout=120)
        return process.returncode

    def complete(self, reference: str, cache: str) -> None:
        """Build again, and see that all of it is there."""
        building.build(self.lock, push=reference, cache=self.root / cache)
        assert whole(reference)
        verdict = verifying.verify(self.lock, f"image:{reference}")
        assert all(one.outcome is not Outcome.INCOMPATIBLE for one in verdict.findings)


def whole(reference: str) -> bool:
    """Whether every document is attached once, and every blob is there."""
    source = registries.open_source(reference)
    image, content = source.manifest("linux/amd64")
    listed = source.referrers(image.digest)
    documents = [json.loads(source.manifest_of(one.digest)) for one in listed]
    kinds = sorted(one["artifactType"] for one in documents)
    named = [json.loads(content), *documents]
    parts = [part for one in named for part in (one["config"], *one["layers"])]
    return kinds == sorted(kind.media_type for kind in DOCUMENTS) and all(
        source.has(part["digest"]) for part in parts
    )


@pytest.fixture
def pushed(tmp_path: Path, registry: Registry) -> Pushed:
    return Pushed(tmp_path, registry)


@pytest.fixture
def requests(pushed: Pushed) -> int:
    """How many requests a whole build makes."""
    with pushed.start(pushed.reference("whole"), "not at all", 0, "cache-whole") as process:
        said, complaint = process.communicate(timeout=120)
    assert not process.returncode, complaint
    return int(said)


@pytest.mark.parametrize("how", ["killed", "refused"])
@pytest.mark.parametrize("part", [0.3, 0.55, 0.7, 0.85, 0.97])
def test_the_next_build_completes_it(pushed: Pushed, requests: int, how: str, part: float) -> None:
    last = max(2, int(requests * part))
    reference = pushed.reference(last)
    ended = pushed.cut(reference, how, last)
    assert ended == (-signal.SIGKILL if how == "killed" else 6)
    pushed.complete(reference, f"cache-{last}")


def test_two_at_once_to_one_place_leave_it_whole(pushed: Pushed) -> None:
    reference = pushed.reference("both")
    both = [pushed.start(reference, "not at all", 0, "cache-both") for _ in range(2)]
    complaints = []
    for process in both:
        with process:
            complaints.append(process.communicate(timeout=120)[1])
    assert [process.returncode for process in both] == [0, 0], complaints
    assert whole(reference)
    pushed.complete(reference, "cache-both")
