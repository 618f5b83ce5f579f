from __future__ import annotations

import gzip
import hashlib
import json
import zlib

import pytest

from mxenv import base_record
from mxenv.base_record import Told, parse, render
from mxenv.errors import InvalidFile
from mxenv.listing import Place

MANIFEST = b'{"schemaVersion": 2}'
TOLD = Told(
    base=f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}",
    platform="linux/amd64",
    media_type="application/vnd.oci.image.manifest.v1+json",
    manifest=MANIFEST,
    configuration=b'{"os": "linux"}',
)
SNAPSHOT = '{"schema": "mxenv.snapshot/1", "facts": []}'
FOLDERS = {
    "/": {"usr": Place(kind="directory"), "lib": Place(kind="link", mode=0o777, target="usr/lib")},
    "/usr": {
        "a": Place(kind="file", mode=0o755, size=7, sha256="a" * 64),
        'b\udcff,["': Place(kind="file", mode=0o4755, size=0),
        "null": Place(kind="char", mode=0o666),
    },
    '/usr/x",[': {"é": Place(kind="directory", mode=0o1777)},
}


def written(folders: dict[str, dict[str, Place]] = FOLDERS, *, keys: str = "k") -> bytes:
    return render(TOLD, folders, keys=keys, snapshot=SNAPSHOT)


def many() -> dict[str, dict[str, Place]]:
    """Enough folders for several sections."""
    one = {f"file{number}.py": Place(kind="file", mode=0o644, size=number) for number in range(50)}
    return {f"/opt/{number:04}": one for number in range(300)}


def lines(content: bytes) -> list[bytes]:
    return gzip.decompress(content).splitlines()


def packed(*texts: bytes) -> bytes:
    return b"".join(base_record._packed(text) for text in texts)


def changed(**values: object) -> bytes:
    """The same file with something else in its first line."""
    first, second, *rest = lines(written())
    head = json.loads(first) | values
    return packed(json.dumps(head).encode(), second, b"\n".join(rest) + b"\n")


def test_what_was_written_is_read() -> None:
    record = parse(written(), context="f")
    assert record.told == TOLD
    assert (record.keys, json.loads(record.snapshot)) == ("k", json.loads(SNAPSHOT))
    assert {folder: dict(names) for folder, names in record.listing.folders.items()} == FOLDERS
    assert len(record.listing.folders) == len(FOLDERS)


def test_a_folder_that_is_not_there_holds_nothing() -> None:
    record = parse(written(), context="f")
    assert record.listing.names("/none") == {}
    assert record.listing.names("/usr") == record.listing.names("/usr") == FOLDERS["/usr"]
    assert record.listing.names("") == {}


def test_it_is_gzip_of_lines_of_json() -> None:
    text = lines(written())
    assert json.loads(text[0])["schema"] == "mxenv.base/1"
    assert json.loads(text[2]) == [
        "/",
        [["lib", "link", "777", "usr/lib"], ["usr", "directory", "755"]],
    ]


def test_the_digest_is_of_the_first_line_and_facts_are_no_part_of_it() -> None:
    record = parse(written(), context="f")
    first = gzip.decompress(written()).partition(b"\n")[0] + b"\n"
    assert record.digest == f"sha256:{hashlib.sha256(first).hexdigest()}"
    assert parse(written(keys="others"), context="f").digest == record.digest


def test_another_file_anywhere_is_another_digest() -> None:
    other = FOLDERS | {"/usr": FOLDERS["/usr"] | {"a": Place(kind="file", mode=0o755, size=8)}}
    assert parse(written(other), context="f").digest != parse(written(), context="f").digest


def test_the_order_of_folders_and_names_makes_no_difference() -> None:
    turned = {folder: dict(reversed(names.items())) for folder, names in reversed(FOLDERS.items())}
    assert written(turned) == written()


def test_an_image_without_files_has_a_record() -> None:
    record = parse(written({}), context="f")
    assert list(record.listing.folders) == []
    assert record.listing.names("/") == {}


def test_many_folders_lie_in_sections_and_only_those_asked_for_are_read() -> None:
    content = written(many())
    record = parse(content, context="f")
    members = base_record._Members(content, "f")
    assert len(members.places) > 5
    start, _ = members.places[-1]
    damaged = content[: start + 9] + bytes([content[start + 9] ^ 1]) + content[start + 10 :]
    assert parse(damaged, context="f").digest == record.digest
    assert len(parse(damaged, context="f").listing.names("/opt/0000")) == 50
    with pytest.raises(InvalidFile, match="is damaged"):
        parse(damaged, context="f").listing.names("/opt/0299")


def test_a_section_that_was_written_anew_is_found_out() -> None:
    first, second, *rest = lines(written())
    other = b"\n".join(rest).replace(b"755", b"777") + b"\n"
    record = parse(packed(first + b"\n", second, other), context="f")
    with pytest.raises(InvalidFile, match="was changed: a section is not the one that it lists"):
        record.listing.names("/")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "ends early"),
        (b"\x1f\x8b", "ends early"),
        (written()[:-1], "was not written by mxenv, or ends early"),
        (gzip.compress(b"{}\n" * 40, mtime=0), "was not written by mxenv"),
        (packed(b"{}\n"), "ends early"),
        (packed(b"[]\n", b"{}\n"), "is damaged"),
        (packed(b"{\n", b"{}\n"), "is damaged"),
        (packed(b"[" * 100_000, b"{}\n"), "is damaged"),
        (changed(schema="mxenv.base/2"), "'mxenv.base/2' is not a schema of this mxenv"),
        (changed(platform=3), "does not say which image it is of"),
        (changed(manifest="{}"), "its manifest is not sha256:"),
        (changed(sections=None), "does not say what it lists"),
        (changed(sections=[["/", "short"]]), "does not say what it lists"),
        (changed(sections=[7]), "does not say what it lists"),
        (changed(sections=[]), "does not hold what it lists"),
        (packed(lines(written())[0], b"{}\n"), "holds no facts"),
        (packed(lines(written())[0], b'{"keys": "k"}\n'), "holds no facts"),
    ],
)
def test_what_is_no_record_is_refused_and_named(content: bytes, message: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        parse(content, context="bases/x.json.gz")
    assert message in caught.value.message
    assert caught.value.context == "bases/x.json.gz"
    assert caught.value.hint


@pytest.mark.parametrize(
    "folder",
    [
        b'["/",7]\n',
        b'["/",[["a"]]]\n',
        b'["/",[["a","pipe","644"]]]\n',
        b'["/",[["a","file","9"]]]\n',
        b'["/",[["a","file","644",1,5]]]\n',
        b'["/",[]\n',
    ],
)
def test_a_folder_that_is_none_is_refused(folder: bytes) -> None:
    first, second, *_ = lines(written())
    head = json.loads(first) | {"sections": [["/", hashlib.sha256(folder).hexdigest()]]}
    record = parse(packed(json.dumps(head).encode(), second, folder), context="f")
    with pytest.raises(InvalidFile, match="holds a folder that is none"):
        record.listing.names("/")


def test_a_member_that_unpacks_to_too_much_is_refused() -> None:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    zeros = bytes(1 << 20)
    data = b"".join(deflater.compress(zeros) for _ in range(129)) + deflater.flush()
    header = base_record._MEMBER.pack(
        base_record._BEGIN, 0, 2, 255, 8, base_record._SUBFIELD, 4, len(data)
    )
    with pytest.raises(InvalidFile, match="is damaged"):
        parse(header + data + bytes(8), context="f")
