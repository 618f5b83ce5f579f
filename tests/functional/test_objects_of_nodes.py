"""Shared objects of a whole node: the same from a directory, from an image, from a recording."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from string import ascii_letters
from typing import TYPE_CHECKING

import pytest
from _elf_files import shared
from _layouts import file, image, link

from mxenv.api import checking, nodes
from mxenv.facts import Absent, Observed, Snapshot, Unreadable
from mxenv.probes import _undefined
from mxenv.question import Symbols
from mxenv.stores import layout
from mxenv.transports import Terms, _layers, local, oci

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import BinaryIO

    from mxenv.stores import Descriptor, Source

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SITE = "opt/conda/lib/python3.10/site-packages"
OP = f"/{SITE}/mcoplib/_C.so"
CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb"
LIBS = "usr/lib/x86_64-linux-gnu"


def dist(name: str, version: str) -> dict[str, bytes]:
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n"
    return {f"{SITE}/{name}-{version}.dist-info/METADATA": text.encode()}


def stack(*defines: str) -> dict[str, bytes]:
    """The files of an image with an SDK, a torch that defines this, and an extension."""
    return {
        **dist("torch", "2.8.0+metax3.5.3.9"),
        **dist("mcoplib", "0.4.2+maca3.5.3.20.torch2.8"),
        "opt/maca-3.5.3/Version.txt": b"Version:3.5.3.20\n",
        "opt/maca-3.5.3/lib/libmcruntime.so": shared(
            soname="libmcruntime.so", needed=("libc.so.6",), defines=("mcMalloc",)
        ),
        "opt/conda/bin/python3.10": shared(needed=("libc.so.6",), defines=("PyList_New",)),
        f"{LIBS}/libc.so.6": shared(provides=("GLIBC_2.35",), defines=("puts@GLIBC_2.35",)),
        "lib64/ld-linux-x86-64.so.2": shared(defines=("__tls_get_addr",)),
        f"{LIBS}/libstdc++.so.6": shared(provides=("GLIBCXX_3.4.30",), defines=("_Znwm",)),
        f"{SITE}/setuptools.pth": b"import os\n",
        f"{SITE}/torch/lib/libc10_cuda.so": shared(
            soname="libc10_cuda.so",
            needed=("libmcruntime.so", "libc.so.6", "libstdc++.so.6"),
            needs={"libc.so.6": ("GLIBC_2.28",)},
            undefined=("mcMalloc",),
            defines=("init", *defines),
        ),
        OP[1:]: shared(
            needed=("libc10_cuda.so",), undefined=(CHECK, "PyList_New"), defines=("PyInit__C",)
        ),
    }


LINKS = {"opt/maca": "maca-3.5.3", "opt/conda/bin/python3": "python3.10", "lib": "usr/lib"}


def lay(top: Path, files: dict[str, bytes]) -> str:
    for path, data in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(data)
    for path, target in LINKS.items():
        (top / path).symlink_to(target)
    return f"root:{top}"


def layers(top: Path, files: dict[str, bytes]) -> str:
    entries = [file(path, data) for path, data in files.items()]
    links = [link(path, target) for path, target in LINKS.items()]
    image(top, [*entries[:4], *links], [file("etc/x", "1")], entries[4:])
    return f"oci:{top}"


def told(snapshot: Snapshot) -> dict[str, object]:
    return {fact.label: fact.reading for fact in snapshot.facts if fact.key.startswith("elf.")}


@pytest.mark.parametrize("place", [lay, layers])
def test_an_extension_of_another_torch_is_found_from_everywhere(
    tmp_path: Path, place: object
) -> None:
    address = place(tmp_path / "older", stack())  # type: ignore[operator]
    snapshot = nodes.record(address, tmp_path / "recording", now=NOW)
    assert told(snapshot)[f"elf.undefined[{OP}]"] == Observed((CHECK,))
    verdict = checking.check(snapshot, checking.load_matrix(), today=NOW.date())
    (finding,) = [f for f in verdict.findings if f.code == "MX123"]
    assert finding.subject == OP
    assert CHECK in finding.found


@pytest.mark.parametrize("place", [lay, layers])
def test_its_own_torch_has_all_that_it_needs(tmp_path: Path, place: object) -> None:
    address = place(tmp_path / "right", stack(CHECK))  # type: ignore[operator]
    readings = told(nodes.probe(address, now=NOW))
    assert readings["elf.undefined"] == readings["elf.missing"] == Absent()
    assert readings["elf.provides[libc.so.6]"] == Observed("2.35")
    assert readings["elf.objects[/opt/conda/torch]"] == Observed(1)
    assert readings["elf.objects[/opt/maca/lib]"] == Observed(1)


@pytest.mark.parametrize("place", [lay, layers])
@pytest.mark.parametrize("defines", [(), (CHECK,)])
def test_a_recording_replays_to_the_same_facts(
    tmp_path: Path, place: object, defines: tuple[str, ...]
) -> None:
    files = {**stack(*defines), f"{SITE}/torch/lib/libbroken.so": shared()[:99]}
    address = place(tmp_path / "node", files)  # type: ignore[operator]
    recorded = nodes.record(address, tmp_path / "recording", now=NOW)
    replayed = nodes.probe(f"recording:{tmp_path}/recording", now=NOW)
    assert replayed.facts == recorded.facts
    again = nodes.record(f"recording:{tmp_path}/recording", tmp_path / "again", now=NOW)
    assert again.facts == recorded.facts
    for name in ("objects.json", "symbols.json"):
        kept = [(tmp_path / out / name).read_bytes() for out in ("recording", "again")]
        assert kept[0] == kept[1]


def test_directories_and_images_of_the_same_files_tell_the_same(tmp_path: Path) -> None:
    one = nodes.probe(lay(tmp_path / "a", stack()), now=NOW)
    other = nodes.probe(layers(tmp_path / "b", stack()), now=NOW)
    assert told(one) == told(other)


@dataclass(frozen=True)
class Counted:
    """An image that counts how often each of its blobs is read."""

    source: Source
    blobs: list[str]

    @property
    def name(self) -> str:
        return self.source.name

    def manifest(self, platform: str) -> tuple[Descriptor, bytes]:
        return self.source.manifest(platform)

    def has(self, digest: str) -> bool:
        return self.source.has(digest)

    def blob(self, descriptor: Descriptor) -> AbstractContextManager[BinaryIO]:
        self.blobs.append(descriptor.digest)
        return self.source.blob(descriptor)


def test_each_layer_of_an_image_passes_by_once(tmp_path: Path) -> None:
    address = layers(tmp_path / "i", stack())
    source = Counted(layout.open_source(address.removeprefix("oci:")), [])
    with _layers.opened(source, Terms()) as host:
        answers = nodes.ask(host)
        digests = [layer.digest for layer in host.description.layers]
    assert any(isinstance(question, Symbols) for question in answers)
    assert [source.blobs.count(digest) for digest in digests] == [1, 1, 1]


def test_what_was_spooled_is_gone_when_the_image_is_closed(tmp_path: Path) -> None:
    address = layers(tmp_path / "i", stack())
    with oci.TRANSPORT.open(address.removeprefix("oci:"), Terms()) as host:
        nodes.ask(host)
        spool = host.files.spool  # type: ignore[attr-defined]
        assert spool.holds(host.files.at(OP).origin)  # type: ignore[attr-defined]
    assert not spool.holds((2, 0))


def test_what_only_a_variable_led_to_is_in_no_stack(tmp_path: Path) -> None:
    for path, data in stack().items():
        place = tmp_path / path.replace("opt/conda", "apps/conda")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    for path, target in LINKS.items():
        (tmp_path / path.replace("opt/conda", "apps/conda")).symlink_to(target)

    def look(environment: dict[str, str]) -> Snapshot:
        terms = Terms(allowed=frozenset(), seconds=60)
        machine = local.host(terms, environment, root=str(tmp_path), directories=())
        return nodes.look(machine, now=NOW)

    led, alone = look({"CONDA_PREFIX": "/apps/conda"}), look({})
    place = OP.replace("opt/conda", "apps/conda")
    assert isinstance(led.reading("elf.undefined", place), Observed)
    assert nodes.fingerprint_of(led).stack == nodes.fingerprint_of(alone).stack
    assert nodes.fingerprint_of(led).stack is not None


def test_of_more_objects_than_are_looked_at_nobody_knows(tmp_path: Path) -> None:
    good = shared(needed=("libc10_cuda.so",), undefined=(CHECK,), defines=("PyInit__C",))
    names = [f"{SITE}/mcoplib/_{one}{two}.so" for one in ascii_letters for two in "abcd"]
    files = stack(CHECK) | dict.fromkeys(names[: _undefined.CHECKED], good)
    snapshot = nodes.probe(lay(tmp_path, files), now=NOW)
    assert isinstance(snapshot.reading("elf.undefined", ""), Unreadable)
