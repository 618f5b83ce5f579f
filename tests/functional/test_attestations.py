"""What goes with an image is attached, signed, checked, and believed no further than that."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _attested import key_pair
from _layouts import sha256
from _locked import debian_lock, scratch_lock, write_lock
from _referrers import in_front_of
from click.testing import CliRunner
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from mxenv import attachment, envelope
from mxenv.api import _attached, attesting, building, verifying
from mxenv.attachment import DOCUMENTS, EMPTY, KEY, SBOM, SIGNATURE, Subject
from mxenv.cli._front import FRONT
from mxenv.configuration import digest
from mxenv.errors import LockError, UsageError
from mxenv.image import AddedFile
from mxenv.snapshot import from_json
from mxenv.stores import Descriptor, layout, places, registry
from mxenv.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _registry import Registry

    from mxenv.attachment import Kind
    from mxenv.lock import Lock
    from mxenv.stores import Sink

PLACES = ("layout", "registry", "registry with the referrers API")


class Image:
    """A lock, and the image that is built from it into a layout or a registry."""

    def __init__(self, root: Path, lock: Lock, place: str = "") -> None:
        self.root = root
        self.lock = write_lock(root, lock)
        self.place = place
        self.manifest = ""

    def build(self, sign: Path | None = None) -> None:
        where: dict[str, object] = {"push": self.place, "with_base": True}
        if not self.place:
            where = {"out": self.root / "dist", "with_base": True}
        made = building.build(self.lock, cache=self.root / "cache", sign=sign, **where)  # type: ignore[arg-type]
        self.manifest = made.manifest

    @property
    def address(self) -> str:
        return f"image:{self.place}" if self.place else f"oci:{self.root / 'dist'}"

    def verify(self, *keys: Path, alone: bool = False) -> Verdict:
        return verifying.verify(None if alone else self.lock, self.address, keys=keys)

    @property
    def sink(self) -> Sink:
        if self.place:
            return registry.open_sink(self.place)
        return layout.open_sink(self.root / "dist")

    @property
    def subject(self) -> Descriptor:
        return places.source_of(self.address).manifest("linux/amd64")[0]

    def referrers(self) -> tuple[Descriptor, ...]:
        return places.source_of(self.address).referrers(self.manifest)

    def documents(self) -> dict[str, list[bytes]]:
        found = _attached.read(places.source_of(self.address), self.manifest).documents
        return {name: [one.content for one in ones] for name, ones in found.items()}

    def attach(self, kind: Kind, content: bytes, **changes: object) -> None:
        """Attach anything, as anybody can who may write."""
        image = self.subject
        subject = Subject(media_type=image.media_type, digest=image.digest, size=image.size)
        manifest = json.loads(attachment.manifest(kind, content, subject, key="sha256:aa"))
        body = json.dumps(manifest | changes).encode()
        for blob in (EMPTY, content):
            told = Descriptor(media_type="x", digest=digest(blob), size=len(blob))
            self.sink.write(told, lambda blob=blob: io.BytesIO(blob))  # type: ignore[misc]
        self.sink.attach(body, image)


def found(verdict: Verdict, code: str) -> str:
    return "\n".join(f"{f.subject}: {f.found}" for f in verdict.findings if f.code == code)


def codes(verdict: Verdict) -> set[str]:
    return {f.code for f in verdict.findings if f.outcome is not Outcome.COMPATIBLE}


@pytest.fixture(params=PLACES)
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Image]:
    """An image that was not built yet, in each kind of place."""
    lock = replace(scratch_lock(tmp_path), name="attested")
    if request.param == "layout":
        yield Image(tmp_path, lock)
        return
    running: Registry = request.getfixturevalue("registry")
    repository = f"attested/{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:12]}:1"
    if request.param == "registry":
        yield Image(tmp_path, lock, f"{running.address}/{repository}")
        return
    with in_front_of(running.address) as address:
        yield Image(tmp_path, lock, f"{address}/{repository}")


@pytest.fixture
def local(tmp_path: Path) -> Image:
    """An image that was not built yet, in a layout."""
    return Image(tmp_path, replace(scratch_lock(tmp_path), name="attested"))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return key_pair(tmp_path_factory.mktemp("keys"), "site")


@pytest.fixture(scope="module")
def other_keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return key_pair(tmp_path_factory.mktemp("keys"), "other")


class TestEveryPlace:
    """A layout, a registry without the referrers API, and one that has it."""

    def test_has_every_document_once_and_attaching_again_changes_nothing(
        self, image: Image, keys: tuple[Path, Path]
    ) -> None:
        image.build(keys[0])
        before = image.referrers()
        assert sorted(one.artifact_type for one in before) == sorted(
            [kind.media_type for kind in DOCUMENTS] + [SIGNATURE.media_type] * 2
        )
        image.build(keys[0])
        assert image.referrers() == before

    def test_passes_signed_with_its_lock_or_its_own(
        self, image: Image, keys: tuple[Path, Path]
    ) -> None:
        image.build(keys[0])
        for alone in (False, True):
            verdict = image.verify(keys[1], alone=alone)
            assert codes(verdict) == set()
            assert str(keys[1]) in found(verdict, "MX350")
            assert "sbom" in found(verdict, "MX340")

    def test_unsigned_fails_if_a_key_is_named(self, image: Image, keys: tuple[Path, Path]) -> None:
        image.build()
        assert codes(image.verify()) == set()
        verdict = image.verify(keys[1])
        assert verdict.outcome is Outcome.INCOMPATIBLE
        assert codes(verdict) == {"MX351"}

    def test_signed_by_another_key_fails_and_names_it(
        self, image: Image, keys: tuple[Path, Path], other_keys: tuple[Path, Path]
    ) -> None:
        image.build(other_keys[0])
        verdict = image.verify(keys[1])
        assert codes(verdict) == {"MX352"}
        assert key_name(other_keys[1]) in found(verdict, "MX352")

    def test_one_good_signature_of_several_is_enough_and_the_others_are_named(
        self, image: Image, keys: tuple[Path, Path], other_keys: tuple[Path, Path]
    ) -> None:
        image.build(other_keys[0])
        image.build(keys[0])
        verdict = image.verify(keys[1])
        assert verdict.outcome is Outcome.COMPATIBLE
        assert key_name(other_keys[1]) in found(verdict, "MX353")
        assert image.verify(other_keys[1], keys[1]).outcome is Outcome.COMPATIBLE


def key_name(public: Path) -> str:
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", public, "-outform", "DER"],
        check=True,
        capture_output=True,
    ).stdout
    return f"sha256:{hashlib.sha256(der).hexdigest()}"


def test_what_a_cache_remembers_is_bounded_and_counts_only_if_it_is_there(local: Image) -> None:
    folder = local.root / "cache" / attesting.MEMORY
    folder.mkdir(parents=True)
    for number in range(attesting.REMEMBERED + 5):
        (folder / f"old-{number}").write_text("x")
    local.build()
    kept = {path.name for path in folder.iterdir()}
    assert len(kept) == attesting.REMEMBERED
    before = local.referrers()
    (memory,) = (path for path in folder.iterdir() if not path.name.startswith("old-"))
    for text in ("", "sha256:" + "0" * 64, "\x00"):
        # Whatever it says, what is missing from the list is attached again.
        TestWhatAnybodyMayAttach.forget(local, SBOM)
        memory.write_text(text)
        local.build()
        assert local.referrers() == before


class TestTheDocuments:
    """They are what everybody's tools read, and say what is so."""

    def test_are_valid_and_of_this_image(self, local: Image) -> None:
        local.build()
        documents = local.documents()
        assert documents["lock"][0] == inside(local, "lock/pylock.attested.toml")
        assert documents["verdict"][0] == inside(local, "verdict.json")
        assert (
            JsonStrictValidator(SchemaVersion.V1_6).validate_str(documents["sbom"][0].decode())
            is None
        )
        snapshot = from_json(documents["snapshot"][0].decode(), context="snapshot")
        assert [f.instance for f in snapshot.of("python.package")] == [
            "/opt/mxenv/alpha",
            "/opt/mxenv/beta",
        ]
        statement = json.loads(documents["provenance"][0])
        assert statement["subject"][0]["digest"] == {
            "sha256": local.manifest.removeprefix("sha256:")
        }

    def test_are_the_same_bytes_wherever_the_image_is_built(self, tmp_path: Path) -> None:
        made = []
        lock = debian_lock(tmp_path / "one")
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        for name in ("one", "two"):
            image = Image(tmp_path / name, lock)
            image.build()
            made.append({one.digest for one in image.referrers()})
        assert made[0] == made[1]
        assert len(made[0]) == len(DOCUMENTS)


def inside(image: Image, path: str) -> bytes:
    """A file of the uppermost layer of an image in a layout."""
    source = places.source_of(image.address)
    manifest = json.loads(source.manifest("linux/amd64")[1])
    name = manifest["layers"][-1]["digest"].removeprefix("sha256:")
    blob = (image.root / "dist" / "blobs" / "sha256" / name).read_bytes()
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob))) as archive:
        member = archive.extractfile(f"usr/share/mxenv/{path}")
        assert member is not None
        return member.read()


def test_a_signature_is_verified_by_openssl_alone(
    local: Image, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """The very commands of docs/how-to/sign-and-attest.md."""
    local.build(keys[0])
    signed = local.documents()["signature"]
    assert len(signed) == 2
    for number, content in enumerate(signed):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "signature.dsse.json").write_bytes(content)
        script = openssl_script()
        assert "openssl pkeyutl -verify" in script
        run = ["sh", "-euc", script.replace("site.pub.pem", str(keys[1]))]
        told = subprocess.run(run, cwd=folder, check=False, capture_output=True, text=True)
        assert "Signature Verified Successfully" in told.stdout, told.stderr
        (folder / "signature.dsse.json").write_bytes(
            content.replace(b'"payload":"e', b'"payload":"f')
        )
        told = subprocess.run(run, cwd=folder, check=False, capture_output=True, text=True)
        assert told.returncode != 0


def test_keys_of_ssh_keygen_sign_and_verify(local: Image, tmp_path: Path) -> None:
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"]
    subprocess.run(make, check=True)
    local.build(tmp_path / "key")
    assert local.verify(tmp_path / "key.pub").outcome is Outcome.COMPATIBLE


def openssl_script() -> str:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "sign-and-attest.md"
    _, _, rest = page.read_text().partition("<!-- openssl -->\n```sh\n")
    return rest.partition("```")[0]


class TestWhatAnybodyMayAttach:
    """It is read within bounds, named, and changes no verdict."""

    def test_garbage_is_named_and_passes_by(self, local: Image, keys: tuple[Path, Path]) -> None:
        local.build(keys[0])
        local.attach(SBOM, b"{}")
        local.attach(SBOM, b"not even JSON", layers=[])
        local.attach(SIGNATURE, b'{"payload": 7}')
        verdict = local.verify(keys[1])
        assert verdict.outcome is Outcome.COMPATIBLE
        told = found(verdict, "MX343")
        assert "does not hold one document" in told
        assert "payloadType" in told

    def test_a_wrong_sbom_alone_is_refused(self, local: Image) -> None:
        local.build()
        content = local.documents()["sbom"][0].replace(b'"alpha"', b'"omega"')
        self.forget(local, SBOM)
        local.attach(SBOM, content)
        verdict = local.verify()
        assert codes(verdict) == {"MX342"}
        assert "it does not have alpha 1.0" in found(verdict, "MX342")

    def test_a_wrong_sbom_beside_the_signed_one_is_named_and_changes_nothing(
        self, local: Image, keys: tuple[Path, Path]
    ) -> None:
        local.build(keys[0])
        self.forget(local, SBOM)
        local.attach(SBOM, b'{"bomFormat": "CycloneDX"}')
        verdict = local.verify(keys[1])
        assert verdict.outcome is Outcome.COMPATIBLE, "the signed one is had by digest"
        assert "another sbom than the signed one" in found(verdict, "MX343")

    def test_an_unsigned_lock_that_is_not_the_image_s_is_refused(self, local: Image) -> None:
        local.build()
        content = local.documents()["lock"][0]
        self.forget(local, DOCUMENTS[0])
        local.attach(DOCUMENTS[0], gzip.compress(content + b"# more\n"))
        assert "the image was made from" in found(local.verify(), "MX342")

    def test_what_is_missing_is_not_known(self, local: Image) -> None:
        local.build()
        self.forget(local, SBOM)
        verdict = local.verify()
        assert codes(verdict) == {"MX341"}
        assert verdict.outcome is Outcome.UNKNOWN

    def test_what_was_signed_for_another_image_does_not_count(
        self, tmp_path: Path, local: Image, keys: tuple[Path, Path]
    ) -> None:
        lock = scratch_lock(tmp_path / "other")
        other = Image(tmp_path / "other", replace(lock, packages=lock.packages[:1]))
        other.build(keys[0])
        local.build()
        for content in other.documents()["signature"]:
            local.attach(SIGNATURE, content)
        verdict = local.verify(keys[1])
        assert codes(verdict) == {"MX352"}
        assert "for another image" in found(verdict, "MX352")

    def test_one_of_another_image_in_the_list_is_named(self, tmp_path: Path, local: Image) -> None:
        lock = scratch_lock(tmp_path / "other")
        other = Image(tmp_path / "other", replace(lock, packages=lock.packages[:1]))
        other.build()
        local.build()
        (sbom,) = (one for one in other.referrers() if one.artifact_type == SBOM.media_type)
        source = places.source_of(other.address)
        replayed = source.manifest_of(sbom.digest)

        class Listing:
            """A registry that lists a manifest of another image as one of this."""

            name = "listing"

            def referrers(self, _: str) -> tuple[Descriptor, ...]:
                return (sbom,)

            def manifest_of(self, _: str) -> bytes:
                return replayed

        found_there = _attached.read(Listing(), local.manifest)  # type: ignore[arg-type]
        assert not found_there.documents
        assert other.manifest in found_there.odd[0]

    def test_what_is_too_large_is_not_read(self, local: Image) -> None:
        local.build()
        local.attach(SBOM, b"{}", annotations={"x": "y" * (1 << 17)})
        many = [{"mediaType": SBOM.media_type, "digest": digest(b"{}"), "size": 1 << 40}]
        local.attach(SBOM, b"{}", layers=many)
        verdict = local.verify()
        assert verdict.outcome is Outcome.COMPATIBLE
        assert "its manifest has 131" in found(verdict, "MX343")
        assert "more than 16777216 bytes" in found(verdict, "MX343")

    def test_thousands_of_signatures_are_counted_and_the_right_one_is_found(
        self, local: Image, keys: tuple[Path, Path]
    ) -> None:
        local.build(keys[0])
        source = places.source_of(local.address)
        real = source.referrers(local.manifest)
        read: list[str] = []

        class Crowd:
            """A list in which thousands of others come first."""

            name = source.name
            blob, has = source.blob, source.has

            def referrers(self, _: str) -> tuple[Descriptor, ...]:
                fake = Descriptor(
                    media_type=attachment.MANIFEST,
                    digest="sha256:" + "0" * 64,
                    size=900,
                    artifact_type=SIGNATURE.media_type,
                    annotations=((KEY, "sha256:" + "f" * 64),),
                )
                return (*[fake] * 5000, *real)

            def manifest_of(self, digest: str) -> bytes:
                read.append(digest)
                return source.manifest_of(digest)

        crowd = Crowd()
        there = _attached.read(crowd, local.manifest, [key_name(keys[1])])  # type: ignore[arg-type]
        assert len(there.documents["signature"]) == 2
        assert there.passed_over == 5002 - _attached.SIGNATURES
        assert len(read) <= _attached.SIGNATURES + len(DOCUMENTS)

    def test_thousands_in_a_layout_hide_nothing_that_was_signed(
        self, local: Image, keys: tuple[Path, Path]
    ) -> None:
        local.build(keys[0])
        image = local.subject
        subject = Subject(media_type=image.media_type, digest=image.digest, size=image.size)
        blobs = local.root / "dist" / "blobs" / "sha256"
        path = local.root / "dist" / "index.json"
        index = json.loads(path.read_text())
        for number in range(2000):
            manifest = attachment.manifest(SBOM, f"{{{number}".encode(), subject)
            name = digest(manifest)
            (blobs / name.removeprefix("sha256:")).write_bytes(manifest)
            entry = {"mediaType": attachment.MANIFEST, "digest": name, "size": len(manifest)}
            index["manifests"].insert(0, entry | {"artifactType": SBOM.media_type})
        path.write_text(json.dumps(index))
        verdict = local.verify(keys[1])
        assert verdict.outcome is Outcome.COMPATIBLE
        assert "1969 more, not read" in found(verdict, "MX343")
        # Nobody says which of them is meant, and of 2000 only some are read.
        assert local.verify().outcome is not Outcome.INCOMPATIBLE

    def test_a_signature_with_a_word_changed_is_refused(
        self, local: Image, keys: tuple[Path, Path]
    ) -> None:
        local.build(keys[0])
        (content, *_) = local.documents()["signature"]
        self.forget(local, SIGNATURE)
        signed = envelope.parse(content)
        altered = replace(signed, payload=signed.payload.replace(b"attested", b"detested"))
        local.attach(SIGNATURE, envelope.render(altered))
        assert codes(local.verify(keys[1])) == {"MX352"}

    @staticmethod
    def forget(image: Image, kind: Kind) -> None:
        """Take all of one kind out of the list of a layout."""
        path = image.root / "dist" / "index.json"
        index = json.loads(path.read_text())
        index["manifests"] = [
            one for one in index["manifests"] if one.get("artifactType") != kind.media_type
        ]
        path.write_text(json.dumps(index))


class TestTheLockThatAnImageBrings:
    """It counts if its digest is the one that the image itself names."""

    def test_vouches_for_a_signed_image_with_added_files(
        self, tmp_path: Path, keys: tuple[Path, Path]
    ) -> None:
        locked = (AddedFile(source="x.txt", target="/opt/mxenv/x.txt"), sha256(b"x")[7:])
        (tmp_path / "images" / "attested").mkdir(parents=True)
        (tmp_path / "images" / "attested" / "x.txt").write_text("x")
        lock = replace(scratch_lock(tmp_path), name="attested", files=(locked,))
        image = Image(tmp_path, lock)
        image.build(keys[0])
        shutil.rmtree(tmp_path / "lockfiles" / "wheelhouse")
        assert codes(image.verify(keys[1], alone=True)) == set()

    def test_is_read_from_inside_if_none_is_attached(
        self, local: Image, keys: tuple[Path, Path]
    ) -> None:
        local.build(keys[0])
        TestWhatAnybodyMayAttach.forget(local, DOCUMENTS[0])
        verdict = local.verify(keys[1], alone=True)
        assert verdict.outcome is Outcome.COMPATIBLE
        assert "the lock that it carries" in verdict.subject

    def test_of_an_unsigned_image_vouches_for_no_more_than_it_can(self, local: Image) -> None:
        local.build()
        house = local.root / "lockfiles" / "wheelhouse"
        held = verifying.verify(None, local.address, wheelhouse=house)
        assert held.outcome is Outcome.COMPATIBLE, "the wheels are at hand"
        assert codes(held) == {"MX354"}, "which is advice: the lock is the image's own"
        bare = local.verify(alone=True)
        assert bare.outcome is Outcome.UNKNOWN
        assert codes(bare) == {"MX324", "MX354"}, "nobody says what the wheels brought"

    def test_is_missing_in_an_image_of_somebody_else(self, tmp_path: Path) -> None:
        debian_lock(tmp_path)
        with pytest.raises(UsageError, match="carries no lock"):
            verifying.verify(None, f"oci:{tmp_path / 'base'}")

    def test_is_missing_if_it_is_neither_attached_nor_inside(self, local: Image) -> None:
        local.build()
        path = local.root / "dist" / "index.json"
        index = json.loads(path.read_text())
        index["manifests"] = [one for one in index["manifests"] if "artifactType" not in one]
        path.write_text(json.dumps(index))
        source = places.source_of(local.address)
        manifest = json.loads(source.manifest("linux/amd64")[1])
        for layer in manifest["layers"]:
            name = layer["digest"].removeprefix("sha256:")
            (local.root / "dist" / "blobs" / "sha256" / name).unlink()
        with pytest.raises(LockError, match="neither attached"):
            local.verify(alone=True)


def test_keys_are_for_images_only(local: Image, keys: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match="only images are signed"):
        verifying.verify(local.lock, "local:", keys=keys[1:])
    with pytest.raises(UsageError, match="no lock is named"):
        verifying.verify(None, "local:")


def test_the_command_line_signs_and_verifies(local: Image, keys: tuple[Path, Path]) -> None:
    out = local.root / "dist"
    environment = {"MXENV_SIGN_KEY": str(keys[0]), "MXENV_CACHE_DIR": str(local.root / "cache")}
    run = CliRunner(env=environment)
    built = run.invoke(FRONT, ["build", str(local.lock), "--out", str(out)])
    assert built.exit_code == 0, built.output
    good = run.invoke(FRONT, ["verify", "--on", f"oci:{out}", "--key", str(keys[1])])
    assert good.exit_code == 0, good.output
    no_key = run.invoke(FRONT, ["build", str(local.lock), "--out", str(out), "--sign", "none.pem"])
    assert no_key.exit_code == 2
