"""What speaks of an image is found again, and nobody's is lost that can be kept."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest
from _layouts import describe, file, image, sha256
from _misbehaving import MANIFEST, Answer, serving

from mxenv.errors import LayoutError, RegistryError
from mxenv.stores import OCI_INDEX, OCI_MANIFEST, Descriptor, layout
from mxenv.stores.places import below, pinned, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _misbehaving import Server

SUBJECT = Descriptor(media_type=OCI_MANIFEST, digest=sha256(MANIFEST), size=len(MANIFEST))
EMPTY = describe("application/vnd.oci.empty.v1+json", b"{}")
SBOM = "application/vnd.cyclonedx+json"


def speaking(of: Descriptor = SUBJECT, kind: str = SBOM, **more: object) -> bytes:
    """A manifest that speaks of an image."""
    subject = {"mediaType": of.media_type, "digest": of.digest, "size": of.size}
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "artifactType": kind,
        "config": EMPTY,
        "layers": [EMPTY],
        "subject": subject,
        **more,
    }
    return json.dumps({name: value for name, value in document.items() if value}).encode()


ONE = speaking()
TAG = SUBJECT.digest.replace(":", "-")


def listed(*manifests: bytes, **more: object) -> bytes:
    """A list of referrers, as another client would have written it."""
    entries = [describe(OCI_MANIFEST, one, artifactType=SBOM) for one in manifests]
    document = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries, **more}
    return json.dumps(document).encode()


def digests(content: bytes) -> list[str]:
    return [entry["digest"] for entry in json.loads(content)["manifests"]]


class TestALayout:
    """Its index names what speaks of an image beside the images, and keeps them apart."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return image(tmp_path / "i", [file("a")])

    def subject(self, folder: Path) -> Descriptor:
        return layout.open_source(str(folder)).manifest("linux/amd64")[0]

    def test_what_was_attached_is_listed_and_can_be_read(self, folder: Path) -> None:
        subject = self.subject(folder)
        manifest = speaking(subject, annotations={"org.example": "1"})
        digest = layout.open_sink(folder).attach(manifest, subject)
        source = layout.open_source(str(folder))
        assert source.referrers(subject.digest) == (
            Descriptor(
                media_type=OCI_MANIFEST,
                digest=digest,
                size=len(manifest),
                annotations=(("org.example", "1"),),
                artifact_type=SBOM,
            ),
        )
        assert source.manifest_of(digest) == manifest
        assert source.referrers(sha256(b"another")) == ()

    def test_the_only_image_still_needs_no_tag(self, folder: Path) -> None:
        subject = self.subject(folder)
        for kind in ("a/b", "c/d"):
            layout.open_sink(folder).attach(speaking(subject, kind), subject)
        assert self.subject(folder) == subject
        assert len(layout.open_source(str(folder)).referrers(subject.digest)) == 2

    def test_attaching_the_same_again_changes_nothing(self, folder: Path) -> None:
        subject = self.subject(folder)
        layout.open_sink(folder).attach(speaking(subject), subject)
        before = (folder / "index.json").read_bytes()
        layout.open_sink(folder).attach(speaking(subject), subject)
        assert (folder / "index.json").read_bytes() == before

    def test_an_image_that_is_written_anew_takes_no_place_of_what_speaks_of_one(
        self, folder: Path
    ) -> None:
        subject = self.subject(folder)
        digest = layout.open_sink(folder).attach(speaking(subject), subject)
        layout.open_sink(folder).tag(MANIFEST, OCI_MANIFEST, "")
        source = layout.open_source(str(folder))
        assert [one.digest for one in source.referrers(subject.digest)] == [digest]
        assert source.manifest("linux/amd64")[0].digest == sha256(MANIFEST)

    def test_one_that_is_gone_is_not_listed_and_a_damaged_one_is_named(self, folder: Path) -> None:
        subject = self.subject(folder)
        digest = layout.open_sink(folder).attach(speaking(subject), subject)
        path = folder / "blobs" / "sha256" / digest.removeprefix("sha256:")
        path.write_bytes(b"{}")
        source = layout.open_source(str(folder))
        with pytest.raises(LayoutError, match=rf"{digest[7:]}.*hashes to"):
            source.referrers(subject.digest)
        path.unlink()
        assert source.referrers(subject.digest) == ()


@pytest.mark.parametrize(
    ("manifest", "word"),
    [
        (speaking(subject=None), f"speaks of nothing, not of {SUBJECT.digest}"),
        (speaking(kind="", config=None), "artifactType is missing"),
        (speaking(subject={"digest": "sha512:12"}), "subject.digest is not sha256"),
        (b"rubbish", "is not JSON"),
    ],
)
def test_a_manifest_that_speaks_of_nothing_is_not_attached(
    tmp_path: Path, manifest: bytes, word: str
) -> None:
    with pytest.raises(LayoutError, match=word):
        layout.open_sink(tmp_path / "new").attach(manifest, SUBJECT)
    assert not (tmp_path / "new").exists()


def test_what_says_nothing_of_its_kind_is_of_the_kind_of_its_configuration(tmp_path: Path) -> None:
    config = describe("application/x.config+json", b"{}")
    layout.open_sink(tmp_path).attach(speaking(kind="", config=config), SUBJECT)
    (one,) = layout.open_source(str(tmp_path)).referrers(SUBJECT.digest)
    assert one.artifact_type == "application/x.config+json"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def with_tag(server: Server) -> bytes:
    return server.stored[TAG]


class TestARegistryThatListsByItself:
    """It says so when the manifest is put, and nobody need keep a tag."""

    def test_no_tag_is_written(self, server: Server) -> None:
        server.script = [Answer(201, headers={"OCI-Subject": SUBJECT.digest})]
        assert server.sink().attach(ONE, SUBJECT) == sha256(ONE)
        assert [method for method, _, _ in server.asked] == ["PUT"]

    def test_its_list_is_read_over_all_pages(self, server: Server) -> None:
        two = speaking(kind="a/b")
        link = {"Link": '</v2/team/image/referrers/x?n=1>; rel="next"'}
        server.script = [Answer(body=listed(ONE), headers=link), Answer(body=listed(two))]
        found = server.source().referrers(SUBJECT.digest)
        assert {one.digest for one in found} == {sha256(ONE), sha256(two)}
        assert server.asked[1][1] == "/v2/team/image/referrers/x?n=1"

    def test_a_list_without_end_is_an_error(self, server: Server) -> None:
        link = {"Link": '</v2/team/image/referrers/x>; rel="next"'}
        server.script = [Answer(body=listed(ONE), headers=link)] * 200
        with pytest.raises(RegistryError, match="goes on after 100 pages"):
            server.source().referrers(SUBJECT.digest)

    def test_a_refusal_is_an_error_and_no_empty_list(self, server: Server) -> None:
        server.script = [Answer(403)]
        with pytest.raises(RegistryError, match="403 Forbidden"):
            server.source().referrers(SUBJECT.digest)


class TestARegistryThatDoesNot:
    """A tag lists what speaks of an image; it is written as carefully as that can be done."""

    def test_what_was_attached_is_listed_and_can_be_read(self, server: Server) -> None:
        assert server.sink().attach(ONE, SUBJECT) == sha256(ONE)
        (found,) = server.source().referrers(SUBJECT.digest)
        assert found.digest == sha256(ONE)
        assert found.artifact_type == SBOM
        assert server.source().manifest_of(sha256(ONE)) == ONE

    @pytest.mark.parametrize("status", [404, 405, 501])
    def test_nothing_attached_is_an_empty_list(self, server: Server, status: int) -> None:
        server.script = [Answer(status)]
        assert server.source().referrers(SUBJECT.digest) == ()

    def test_what_others_wrote_stays_as_they_wrote_it(self, server: Server) -> None:
        other = speaking(kind="a/b")
        server.stored[TAG] = listed(other, annotations={"kept": "yes"})
        server.sink().attach(ONE, SUBJECT)
        assert digests(with_tag(server)) == [sha256(other), sha256(ONE)]
        assert json.loads(with_tag(server))["annotations"] == {"kept": "yes"}

    def test_the_same_again_is_not_written_again(self, server: Server) -> None:
        server.sink().attach(ONE, SUBJECT)
        before = with_tag(server)
        server.asked.clear()
        server.sink().attach(ONE, SUBJECT)
        assert with_tag(server) == before
        assert [path for method, path, _ in server.asked if method == "PUT"] == [
            f"/v2/team/image/manifests/{sha256(ONE)}"
        ]

    @pytest.mark.parametrize(
        "content",
        [
            *(b"", b"[]", b"rubbish", b'{"manifests": 3}', b'{"manifests": [3]}'),
            MANIFEST,
            listed(ONE).replace(b'"size"', b'"length"'),
            listed(ONE).replace(b"sha256:", b"sha512:"),
        ],
    )
    def test_what_is_no_list_is_refused_and_not_overwritten(
        self, server: Server, content: bytes
    ) -> None:
        server.stored[TAG] = content
        with pytest.raises(RegistryError, match=f"team/image:{TAG}: "):
            server.sink().attach(ONE, SUBJECT)
        assert with_tag(server) == content
        with pytest.raises(RegistryError, match=f"team/image:{TAG}: "):
            server.source().referrers(SUBJECT.digest)

    def test_what_another_wrote_over_it_is_put_right(self, server: Server) -> None:
        other = listed(speaking(kind="a/b"))
        overwritten = []

        def late(seconds: float) -> None:
            if not overwritten:
                overwritten.append(seconds)
                server.stored[TAG] = other

        sink = server.sink()
        sink.client.sleep = late
        sink.attach(ONE, SUBJECT)
        assert overwritten
        assert set(digests(with_tag(server))) == {sha256(speaking(kind="a/b")), sha256(ONE)}

    def test_it_is_looked_at_until_nobody_changes_it(self, server: Server) -> None:
        more = [listed(ONE, speaking(kind=f"a/b{n}")) for n in range(3)]
        overwriting = [*more, listed(speaking(kind="a/b"))]

        def late(_: float) -> None:
            if overwriting:
                server.stored[TAG] = overwriting.pop(0)

        sink = server.sink()
        sink.client.sleep = late
        sink.attach(ONE, SUBJECT)
        assert set(digests(with_tag(server))) == {sha256(speaking(kind="a/b")), sha256(ONE)}

    def test_what_was_attached_before_is_put_right_as_well(self, server: Server) -> None:
        sink = server.sink()
        sink.attach(ONE, SUBJECT)
        server.stored[TAG] = listed()
        sink.attach(speaking(kind="a/b"), SUBJECT)
        assert digests(with_tag(server)) == [sha256(ONE), sha256(speaking(kind="a/b"))]

    def test_it_is_written_only_over_what_was_read_where_that_can_be_asked(
        self, server: Server
    ) -> None:
        server.stored[TAG] = listed()
        server.etags = True
        other = speaking(kind="a/b")
        server.before_put = lambda: server.stored.update({TAG: listed(other)})
        server.sink().attach(ONE, SUBJECT)
        assert digests(with_tag(server)) == [sha256(other), sha256(ONE)]
        assert any("If-Match" in headers for _, _, headers in server.asked)

    def test_a_state_that_is_only_much_the_same_is_no_condition(self, server: Server) -> None:
        weak = Answer(body=listed(), headers={"ETag": 'W/"x"'})
        server.script = [Answer(201), weak]
        server.sink().attach(ONE, SUBJECT)
        assert not any("If-Match" in headers for _, _, headers in server.asked)
        assert digests(with_tag(server)) == [sha256(ONE)]

    def test_somebody_who_never_stops_writing_is_named_in_the_end(self, server: Server) -> None:
        sink = server.sink()
        sink.client.sleep = lambda _: server.stored.update({TAG: listed()})
        with pytest.raises(RegistryError, match="others write the list"):
            sink.attach(ONE, SUBJECT)

    def test_many_at_once_lose_nothing(self, server: Server) -> None:
        # Conditions make it certain; without them it is a matter of time.
        server.etags = True
        server.stored[TAG] = listed()
        manifests = [speaking(kind=f"a/b{n}") for n in range(6)]

        def attach(manifest: bytes) -> None:
            server.sink().attach(manifest, SUBJECT)

        threads = [threading.Thread(target=attach, args=(one,)) for one in manifests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(digests(with_tag(server))) == {sha256(one) for one in manifests}


class TestAnAddress:
    """It says by its scheme which kind of place it names."""

    def test_names_a_layout_or_a_registry(self, tmp_path: Path) -> None:
        folder = image(tmp_path / "i", [file("a")])
        for address in (f"oci:{folder}", f"oci://{folder}"):
            assert source_of(address).name == str(folder)
        for address in ("image:r.example/a:1", "image://r.example/a:1", "r.example/a:1"):
            assert source_of(address).name == "r.example/a:1"
        assert source_of("localhost:5000/oci:1").name == "localhost:5000/oci:1"

    def test_names_the_same_place_at_a_digest(self, tmp_path: Path) -> None:
        digest = sha256(b"")
        assert pinned("r.example/a:1", digest) == f"image:r.example/a:1@{digest}"
        assert pinned(f"r.example/a@{sha256(b'x')}", digest) == f"image:r.example/a@{digest}"
        assert pinned(f"oci:{tmp_path}/i:tag", digest) == f"oci:{tmp_path}/i@{digest}"

    def test_is_seen_from_a_folder_if_it_is_a_path(self, tmp_path: Path) -> None:
        assert below("oci:i:tag", tmp_path) == f"oci:{tmp_path}/i:tag"
        assert below("r.example/a", tmp_path) == "r.example/a"
