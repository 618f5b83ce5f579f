"""What a wheel becomes in a layer, and what no layer is made of."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import random
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
from base64 import urlsafe_b64encode
from dataclasses import replace
from typing import TYPE_CHECKING

import installer
import installer.destinations
import installer.sources
import pytest
from _wheels import Made, package_of, target
from installer.scripts import Script

from mxenv.engines import _blob
from mxenv.engines._inside import check
from mxenv.engines._layer import _content
from mxenv.engines._wheel import opened, shebang
from mxenv.errors import InvalidFile, WheelError
from mxenv.layers import STANDARD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mxenv.engines._blob import Blob
    from mxenv.lock import Package, Target

SITE = target().purelib
SCRIPTS = "[console_scripts]\ntool = pkg.cli:app.main\n[gui_scripts]\nwindow = pkg:show\n"
DATA = {
    "pkg/__init__.py": b"X = 1\n" * 100,
    "pkg/lib.so": bytes(range(256)) * 4000,
    "pkg/empty": b"",
    "pkg/a, b.txt": b"a comma",
    "pkg-1.0.data/scripts/run": b"#!python -x\nprint(1)\n",
    "pkg-1.0.data/scripts/run.sh": b"#!/bin/sh\n",
    "pkg-1.0.data/purelib/pure.py": b"pure\n",
    "pkg-1.0.data/platlib/plat.py": b"plat\n",
    "pkg-1.0.data/data/share/pkg/x.dat": b"data",
}
HEADERS = {"pkg-1.0.data/headers/pkg.h": b"#define X\n"}


def layer(
    folder: Path,
    package: Package,
    where: Target | None = None,
    skipped: frozenset[str] = frozenset(),
) -> tuple[bytes, Blob]:
    """Return the layer of one wheel."""
    file = io.BytesIO()
    with opened(folder / package.wheel.name, package, where or target()) as wheel:
        contents = [_content(wheel, installed) for installed in wheel.files]
        draft = _blob.write(file, contents, skipped=skipped)
        file.seek(0)
        at = where or target()
        sites = frozenset({at.purelib, at.platlib})
        blob = check(file, draft, packages=[package], sites=sites)
    return file.getvalue(), blob


def files_of(content: bytes) -> dict[str, tuple[bytes, int]]:
    """Return path, bytes and mode of each regular file."""
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as archive:
        return {
            f"/{member.name}": (archive.extractfile(member).read(), member.mode)
            for member in archive
            if member.isreg()
        }


def noise(size: int) -> bytes:
    """Return bytes that do not compress, the same each time."""
    return random.Random(size).randbytes(size)  # noqa: S311 - nothing is kept secret with it


def test_a_layer_holds_what_the_installer_library_installs(tmp_path: Path) -> None:
    executable = frozenset({"pkg/lib.so", "pkg-1.0.data/scripts/run"})
    package = Made(files=DATA, executable=executable, entry_points=SCRIPTS).write(tmp_path)
    found = files_of(layer(tmp_path, package)[0])
    where = target()
    destination = installer.destinations.SchemeDictionaryDestination(
        {
            "purelib": where.purelib,
            "platlib": where.platlib,
            "scripts": where.scripts,
            "data": where.data,
            "headers": f"{where.data}/include",
        },
        interpreter=where.interpreter,
        script_kind="posix",
        destdir=str(tmp_path / "root"),
    )
    with installer.sources.WheelFile.open(tmp_path / package.wheel.name) as source:
        source.validate_record()
        installer.install(source, destination, {"INSTALLER": b"mxenv\n"})
    root = tmp_path / "root"
    expected = {
        f"/{path.relative_to(root)}": path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
    assert set(found) == set(expected)
    own = {f"{where.scripts}/tool", f"{where.scripts}/window", f"{SITE}/pkg-1.0.dist-info/RECORD"}
    for path in set(expected) - own:
        assert found[path][0] == expected[path], path


def test_the_record_names_every_file_with_its_hash_and_itself_without(tmp_path: Path) -> None:
    package = Made(files=DATA | HEADERS, entry_points=SCRIPTS).write(tmp_path)
    found = files_of(layer(tmp_path, package)[0])
    record = f"{SITE}/pkg-1.0.dist-info/RECORD"
    rows = {path: hash_ for path, hash_, _ in csv.reader(io.StringIO(found[record][0].decode()))}
    assert rows.pop("pkg-1.0.dist-info/RECORD") == ""
    assert len(rows) == len(found) - 1
    for path, hash_ in rows.items():
        joined = (tmp_path / SITE[1:] / path).resolve()
        data, _ = found[f"/{joined.relative_to(tmp_path)}"]
        digest = urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert hash_ == f"sha256={digest}", path


def test_scripts_start_the_interpreter_of_the_target_and_can_be_run(tmp_path: Path) -> None:
    package = Made(files=DATA, entry_points=SCRIPTS).write(tmp_path)
    found = files_of(layer(tmp_path, package)[0])
    tool, mode = found["/opt/env/bin/tool"]
    assert tool.startswith(b"#!/opt/env/bin/python3\n")
    assert b"from pkg.cli import app\n" in tool
    assert b"app.main()" in tool
    assert mode == 0o755
    assert found["/opt/env/bin/run"] == (b"#!/opt/env/bin/python3\nprint(1)\n", 0o755)
    assert found["/opt/env/bin/run.sh"] == (b"#!/bin/sh\n", 0o755)


def test_headers_go_below_the_include_folder_of_the_python(tmp_path: Path) -> None:
    package = Made(files=HEADERS).write(tmp_path)
    assert "/opt/env/include/python3.11/pkg/pkg.h" in files_of(layer(tmp_path, package)[0])


def test_a_wheel_with_compiled_parts_goes_to_platlib(tmp_path: Path) -> None:
    wheel = "Wheel-Version: 1.9\nRoot-Is-Purelib: false\n"
    package = Made(wheel=wheel).write(tmp_path)
    where = replace(target(), platlib="/opt/env/lib64")
    assert "/opt/env/lib64/pkg/__init__.py" in files_of(layer(tmp_path, package, where)[0])


def test_bytecode_signatures_and_another_installer_s_files_are_left_out(tmp_path: Path) -> None:
    info = "pkg-1.0.dist-info"
    files = {
        "pkg/__pycache__/x.cpython-311.pyc": b"code",
        f"{info}/INSTALLER": b"pip\n",
        f"{info}/direct_url.json": b"{}",
        f"{info}/RECORD.jws": b"{}",
    }
    package = Made(files=files, unrecorded=frozenset({f"{info}/RECORD.jws"})).write(tmp_path)
    found = files_of(layer(tmp_path, package)[0])
    names = {path.rpartition("/")[2] for path in found}
    assert names == {"INSTALLER", "METADATA", "RECORD", "WHEEL"}
    assert found[f"{SITE}/{info}/INSTALLER"][0] == b"mxenv\n"


def test_entries_are_sorted_owned_by_root_and_of_one_age(tmp_path: Path) -> None:
    package = Made(files=DATA, entry_points=SCRIPTS).write(tmp_path)
    content, blob = layer(tmp_path, package)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as archive:
        members = archive.getmembers()
    names = [member.name for member in members]
    assert names == sorted(names)
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {
        (0, 0, "", "", 315532800)
    }
    assert {m.mode for m in members if m.isdir()} == {0o755}
    assert blob.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert blob.diff_id == f"sha256:{hashlib.sha256(gzip.decompress(content)).hexdigest()}"
    assert blob.size == len(content)


def test_directories_of_the_base_have_no_entry(tmp_path: Path) -> None:
    package = Made().write(tmp_path)
    content, _ = layer(tmp_path, package, skipped=STANDARD | {"/opt/env", "/opt"})
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as archive:
        folders = [member.name for member in archive if member.isdir()]
    assert folders[0] == "opt/env/lib"


def test_what_lies_deflated_in_the_wheel_is_carried_over_as_it_is(tmp_path: Path) -> None:
    text = noise(1000) * 200
    package = Made(files={"pkg/big": text}).write(tmp_path)
    wheel = (tmp_path / package.wheel.name).read_bytes()
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        info = archive.getinfo("pkg/big")
    start = info.header_offset + 30 + len("pkg/big")
    packed = wheel[start : start + info.compress_size]
    content, _ = layer(tmp_path, package)
    assert packed in content
    assert len(content) < len(text) / 10


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_large_members_come_through_whole(tmp_path: Path, compression: int) -> None:
    data = noise(3_000_000) + bytes(20_000_000)
    package = Made(files={"pkg/big": data}, compression=compression).write(tmp_path)
    assert files_of(layer(tmp_path, package)[0])[f"{SITE}/pkg/big"][0] == data


def test_a_record_with_a_longer_hash_is_taken(tmp_path: Path) -> None:
    package = Made(algorithm="sha512").write(tmp_path)
    _, blob = layer(tmp_path, package)
    assert all(len(entry.sha256) == 64 for entry in blob.entries)


def test_the_hash_of_a_record_is_compared_whatever_its_algorithm(tmp_path: Path) -> None:
    made = Made(algorithm="sha512", misrecorded=frozenset({"pkg/__init__.py"}))
    with pytest.raises(InvalidFile, match="hash that was recorded"):
        layer(tmp_path, made.write(tmp_path))


REFUSED: dict[str, tuple[Made, str, str]] = {
    "a path that climbs out": (Made(files={"../x.py": b""}), "../x.py", "no path below"),
    "a path that climbs inside": (Made(files={"pkg/../../x": b""}), "pkg/../../x", "no path"),
    "an absolute path": (Made(files={"/etc/x": b""}), "/etc/x", "no path below"),
    "a data path that climbs out": (
        Made(files={"pkg-1.0.data/data/../../x": b""}),
        "pkg-1.0.data/data/../../x",
        "no path below",
    ),
    "a backslash": (Made(files={"pkg\\x": b""}), "pkg\\x", "no path below"),
    **{
        f"what would delete or not unpack: {name[:30]}": (
            Made(files={name: b""}),
            name,
            "no path below",
        )
        for name in (
            ".wh.pip",
            "pkg/.wh..wh..opq",
            "pkg-1.0.data/data/.wh.lib",
            "pkg/" + "n" * 256,
            "pkg/" + "f/" * 2050 + "n",
        )
    },
    "a script whose name deletes another": (
        Made(files={"pkg-1.0.dist-info/entry_points.txt": b"[console_scripts]\n.wh.sh = pkg:m\n"}),
        "entry_points.txt",
        "no name for a script",
    ),
    **{
        f"another distribution: {name}": (
            Made(files={name: b"Name: pip\nVersion: 99\n"}),
            ".egg-info" if "egg" in name else "pip-99.dist-info",
            "metadata of another distribution",
        )
        for name in (
            "pip.egg-info/PKG-INFO",
            "pip.egg-info",
            "pkg-1.0.data/purelib/pip-99.dist-info/METADATA",
        )
    },
    "a control character": (Made(files={"pkg/\x1b[31m": b""}), "pkg/", "no path below"),
    "a wrong hash": (
        Made(misrecorded=frozenset({"pkg/__init__.py"})),
        "pkg/__init__.py",
        "hash that was recorded",
    ),
    "a wrong hash of a script": (
        Made(
            files={"pkg-1.0.data/scripts/x": b"#!python\n"},
            misrecorded=frozenset({"pkg-1.0.data/scripts/x"}),
        ),
        "pkg-1.0.data/scripts/x",
        "hash that RECORD says",
    ),
    "a file that is not recorded": (
        Made(unrecorded=frozenset({"pkg/__init__.py"})),
        "pkg/__init__.py",
        "not in RECORD",
    ),
    "a weak hash": (Made(algorithm="md5"), "pkg/__init__.py", "SHA-256 or better"),
    "no scheme": (Made(files={"pkg-1.0.data/x": b""}), "pkg-1.0.data/x", "lies in none of"),
    "an unknown scheme": (Made(files={"pkg-1.0.data/etc/x": b""}), "etc/x", "lies in none of"),
    "another format": (Made(wheel="Wheel-Version: 2.0\n"), "WHEEL", "Wheel-Version '2.0'"),
    "another distribution": (
        Made(metadata="Name: other\nVersion: 1.0\n"),
        "METADATA",
        "is other 1.0, but pkg 1.0 was locked",
    ),
    "another version": (Made(metadata="Name: pkg\nVersion: 1.1\n"), "METADATA", "pkg 1.1"),
    "no version": (Made(metadata="Name: pkg\nVersion: ?\n"), "METADATA", "pkg ?"),
    "two metadata folders": (Made(files={"b-1.dist-info/x": b""}), "dist-info", "there once"),
    "a script with a path": (
        Made(entry_points="[console_scripts]\n../../etc/x = pkg:main\n"),
        "entry_points.txt",
        "no name for a script",
    ),
    "an entry point without a function": (
        Made(entry_points="[console_scripts]\nx = pkg\n"),
        "entry_points.txt",
        "not understood",
    ),
    "entry points that are no table": (
        Made(entry_points="x = pkg:main\n"),
        "entry_points.txt",
        "not understood",
    ),
    "two scripts of one name": (
        Made(
            entry_points="[console_scripts]\nx = pkg:main\n",
            files={"pkg-1.0.data/scripts/x": b""},
        ),
        "/opt/env/bin/x",
        "written twice",
    ),
    "the folder of another distribution": (
        Made(version="2.0", metadata="Name: pkg\nVersion: 1.0\n"),
        "pkg-2.0.dist-info",
        "is not named after pkg 1.0",
    ),
    "data of another distribution": (
        Made(files={"other-1.0.data/scripts/x": b""}),
        "other-1.0.data",
        "and not pkg-1.0.data",
    ),
    "two modules whose names differ in case alone": (
        Made(files={"pkg/Module.py": b"1", "pkg/module.py": b"2"}),
        "pkg/module.py",
        "there twice, as pkg/Module.py",
    ),
    "two names that look the same": (
        Made(files={"pkg/\u00e9.txt": b"1", "pkg/e\u0301.txt": b"2"}),
        "pkg/e\u0301.txt",
        "there twice",
    ),
    "a file that is a folder as well": (
        Made(files={"pkg/a": b"", "pkg/a/b": b""}),
        "pkg/a",
        "written twice",
    ),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_wheel_is_refused_and_the_member_named(tmp_path: Path, case: str) -> None:
    made, member, message = REFUSED[case]
    package = made.write(tmp_path)
    with pytest.raises(InvalidFile) as caught:
        layer(tmp_path, package)
    assert package.wheel.name in caught.value.context
    assert member in caught.value.context
    assert message in caught.value.message


def with_members(change: Callable[[zipfile.ZipFile], None], folder: Path) -> Package:
    """Return a right wheel to which something was added."""
    package = Made().write(folder)
    path = folder / package.wheel.name
    with zipfile.ZipFile(path, "a") as archive:
        change(archive)
    return package_of(path, "pkg", "1.0")


def special(name: str, kind: int) -> Callable[[zipfile.ZipFile], None]:
    """Return what adds a member that is no regular file."""

    def add(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo(name)
        info.external_attr = (kind | 0o777) << 16
        archive.writestr(info, "/etc/passwd")

    return add


@pytest.mark.parametrize(
    ("kind", "message"),
    [(stat.S_IFLNK, "is a link"), (stat.S_IFIFO, "no regular"), (stat.S_IFCHR, "no regular")],
)
def test_links_and_devices_are_refused(tmp_path: Path, kind: int, message: str) -> None:
    package = with_members(special("pkg/link", kind), tmp_path)
    with pytest.raises(WheelError, match=message):
        layer(tmp_path, package)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    package = with_members(lambda archive: archive.writestr("pkg/__init__.py", "2"), tmp_path)
    with pytest.raises(WheelError, match="twice"):
        layer(tmp_path, package)


def test_other_ways_of_packing_are_refused(tmp_path: Path) -> None:
    package = Made(compression=zipfile.ZIP_LZMA).write(tmp_path)
    with pytest.raises(WheelError, match="method 14"):
        layer(tmp_path, package)


def test_a_wheel_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path) -> None:
    package = Made(files={"pkg/zeros": bytes(80_000_000)}).write(tmp_path)
    with pytest.raises(WheelError, match="200 times"):
        layer(tmp_path, package)


def damaged(folder: Path, old: bytes, new: bytes, *, last: bool = False) -> Package:
    """Return a wheel in which some bytes were replaced, locked as it is."""
    package = Made().write(folder)
    path = folder / package.wheel.name
    content = path.read_bytes()
    place = content.rindex(old) if last else content.index(old)
    path.write_bytes(content[:place] + new + content[place + len(old) :])
    return package_of(path, "pkg", "1.0")


def test_a_name_that_differs_between_the_two_headers_is_refused(tmp_path: Path) -> None:
    package = damaged(tmp_path, b"pkg/__init__.py", b"pkg/__evil__.py")
    with pytest.raises(WheelError, match="its own header"):
        layer(tmp_path, package)


def test_a_size_that_is_not_the_real_one_is_refused(tmp_path: Path) -> None:
    package = damaged(tmp_path, struct.pack("<I", 300), struct.pack("<I", 299), last=True)
    with pytest.raises(InvalidFile, match=r"damaged|RECORD says"):
        layer(tmp_path, package)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + bytes(10)])
def test_what_is_no_zip_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pkg-1.0-py3-none-any.whl"
    path.write_bytes(content)
    with pytest.raises(WheelError, match="no zip file"):
        layer(tmp_path, package_of(path, "pkg", "1.0"))


@pytest.mark.parametrize("percent", range(5, 100, 5))
def test_a_wheel_that_was_cut_short_is_refused(tmp_path: Path, percent: int) -> None:
    package = Made().write(tmp_path)
    path = tmp_path / package.wheel.name
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * percent // 100])
    with pytest.raises(WheelError):
        layer(tmp_path, package_of(path, "pkg", "1.0"))


def test_every_flipped_byte_is_found_or_makes_no_difference(tmp_path: Path) -> None:
    package = Made(files={"pkg/__init__.py": b"X = 1\n" * 9}).write(tmp_path)
    path = tmp_path / package.wheel.name
    content = bytearray(path.read_bytes())
    right = hashes(layer(tmp_path, package)[1])
    refused = 0
    for place in range(0, len(content), 3):
        content[place] ^= 0x41
        path.write_bytes(content)
        content[place] ^= 0x41
        try:
            _, blob = layer(tmp_path, package_of(path, "pkg", "1.0"))
        except InvalidFile:
            refused += 1
        else:
            assert hashes(blob) == right, place
    assert refused > len(content) / 6


def hashes(blob: Blob) -> dict[str, str]:
    """Return what lies at each path; modes and times in a zip file have no checksum."""
    return {entry.path: entry.sha256 for entry in blob.entries}


def test_a_wheel_with_another_hash_than_was_locked_is_refused(tmp_path: Path) -> None:
    package = Made().write(tmp_path)
    other = replace(package, wheel=replace(package.wheel, sha256="0" * 64))
    with pytest.raises(WheelError, match=package.wheel.sha256) as caught:
        layer(tmp_path, other)
    assert "mxenv fetch" in caught.value.hint


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused_and_nobody_waits_for_it(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    package = Made().write(tmp_path)
    path = tmp_path / package.wheel.name
    path.unlink()
    make(path)
    with pytest.raises(WheelError, match="is not a file"), opened(path, package, target()):
        pass


def test_an_entry_point_that_is_no_reference_is_said_in_words(tmp_path: Path) -> None:
    package = Made(entry_points="[console_scripts]\nx = pkg:main);import os;(\n").write(tmp_path)
    path = tmp_path / package.wheel.name
    with pytest.raises(WheelError, match="no name and module:function"):
        opened(path, package, target()).__enter__()


def test_a_wheel_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    package = Made().write(tmp_path)
    (tmp_path / package.wheel.name).unlink()
    with pytest.raises(WheelError, match="not in the wheelhouse") as caught:
        layer(tmp_path, package)
    assert "mxenv fetch" in caught.value.hint


@pytest.mark.parametrize("folder", ["my env", "it's", "long" * 40, "é" * 60, "plain"])
def test_scripts_run_wherever_the_interpreter_lies(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    interpreter = tmp_path / folder / "python"
    interpreter.symlink_to(sys.executable)
    main = b"import sys\ndef main():\n    print(sys.argv[1:])\n"
    files = {"pkg/__init__.py": main}
    for name, first in (("a", b"#!python"), ("b", b"#!pythonw -x\r")):
        files[f"pkg-1.0.data/scripts/{name}"] = first + b"\nimport pkg\npkg.main()\n"
    made = Made(files=files, entry_points="[console_scripts]\nc = pkg:main [extra, more]\n")
    where = replace(target(), interpreter=str(interpreter))
    for path, (data, mode) in files_of(layer(tmp_path, made.write(tmp_path), where)[0]).items():
        file = tmp_path / "root" / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)
    for name in "abc":
        done = subprocess.run(
            [tmp_path / "root" / where.scripts[1:] / name, "one", "two words"],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": str(tmp_path / "root" / SITE[1:])},
        )
        assert done.stdout == "['one', 'two words']\n"


def test_a_first_line_is_as_the_installer_library_writes_it() -> None:
    for interpreter in ("/usr/bin/python3", "/opt/my env/python", "/" + "x" * 123, "/" + "x" * 124):
        script = Script(name="x", module="m", attr="f", section="console")
        _, data = script.generate(interpreter, "posix")
        assert data.startswith(shebang(interpreter).encode() + b"\n")


def test_names_that_differ_in_case_alone_are_two_where_python_does_not_look_for_them(
    tmp_path: Path,
) -> None:
    # Linux' own headers have such names, and packages carry them.
    package = Made(files={"pkg/xt_MARK.h": b"1", "pkg/xt_mark.h": b"2"}).write(tmp_path)
    found = files_of(layer(tmp_path, package)[0])
    assert found[f"{SITE}/pkg/xt_MARK.h"][0] == b"1"
    assert found[f"{SITE}/pkg/xt_mark.h"][0] == b"2"


def test_a_zip64_file_is_read_like_another(tmp_path: Path) -> None:
    package = Made().write(tmp_path)
    path = tmp_path / package.wheel.name
    with zipfile.ZipFile(path) as old:
        files = {info.filename: old.read(info) for info in old.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(data)
    found = files_of(layer(tmp_path, package_of(path, "pkg", "1.0"))[0])
    assert found[f"{SITE}/pkg/__init__.py"][0] == files["pkg/__init__.py"]


def test_a_member_whose_sizes_follow_it_is_read_like_another(tmp_path: Path) -> None:
    package = Made().write(tmp_path)
    path = tmp_path / package.wheel.name
    with zipfile.ZipFile(path) as old:
        files = {info.filename: old.read(info) for info in old.infolist()}

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

    stream = Pipe()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    path.write_bytes(stream.getvalue())
    found = files_of(layer(tmp_path, package_of(path, "pkg", "1.0"))[0])
    assert found[f"{SITE}/pkg/__init__.py"][0] == files["pkg/__init__.py"]


@pytest.mark.parametrize(
    ("before", "after"), [(b"#!/bin/sh\n", b""), (b"", b"more"), (b"", bytes(99))]
)
def test_bytes_before_or_after_the_zip_file_are_refused(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    package = Made().write(tmp_path)
    path = tmp_path / package.wheel.name
    path.write_bytes(before + path.read_bytes() + after)
    with pytest.raises(WheelError, match=r"before its first|after its end"):
        layer(tmp_path, package_of(path, "pkg", "1.0"))


def test_a_zip_file_s_comment_is_no_harm(tmp_path: Path) -> None:
    def comment(archive: zipfile.ZipFile) -> None:
        archive.comment = b"made on a Monday"

    layer(tmp_path, with_members(comment, tmp_path))


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    package = Made().write(tmp_path)
    path = tmp_path / package.wheel.name
    content = bytearray(path.read_bytes())
    # The flags in the directory and in the member's own header.
    content[content.index(b"PK\1\2") + 8] |= 1
    content[6] |= 1
    path.write_bytes(content)
    with pytest.raises(WheelError, match="is encrypted"):
        layer(tmp_path, package_of(path, "pkg", "1.0"))


def rewritten(folder: Path, change: Callable[[str], str]) -> Package:
    """Return a right wheel but for its RECORD."""
    package = Made().write(folder)
    path = folder / package.wheel.name
    with zipfile.ZipFile(path) as old:
        files = {info.filename: old.read(info) for info in old.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            record = name.endswith("RECORD")
            archive.writestr(name, change(data.decode()) if record else data)
    return package_of(path, "pkg", "1.0")


def test_a_record_with_another_size_or_two_rows_for_one_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="RECORD says 299"):
        layer(tmp_path, rewritten(tmp_path, lambda text: text.replace(",300\n", ",299\n")))
    more = "pkg/__init__.py,sha256=AAAA,300\n"
    with pytest.raises(WheelError, match=r"says two things of .pkg/__init__\.py."):
        layer(tmp_path, rewritten(tmp_path, lambda text: text + more))


def test_a_record_without_sizes_or_with_a_row_twice_is_taken(tmp_path: Path) -> None:
    layer(tmp_path, rewritten(tmp_path, lambda text: text.replace(",300\n", ",\n")))
    layer(tmp_path, rewritten(tmp_path, lambda text: text + text))
