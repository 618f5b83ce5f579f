from __future__ import annotations

from dataclasses import replace

import pytest

from mxenv.errors import Incompatible
from mxenv.layers import Entry
from mxenv.listing import Listing, Place
from mxenv.lock import Base, Lock, Provided, Target
from mxenv.union import check

SITE = "/opt/conda/lib/python3.10/site-packages"
LOCK = Lock(
    name="demo",
    inputs="sha256:" + "0" * 64,
    accelerator="metax",
    base=Base(reference="r.example.com/base:1", digest="sha256:" + "1" * 64),
    target=Target(
        platform="linux/amd64",
        python="3.10",
        prefix="/opt/conda",
        interpreter="/opt/conda/bin/python3",
        purelib=SITE,
        platlib=SITE,
        scripts="/opt/conda/bin",
        data="/opt/conda",
    ),
    packages=(),
    provided=(Provided(name="torch", version="2.8.0+metax3.5.3.9"),),
)


def listing() -> Listing:
    """A base with torch, a link and a program."""
    folders: dict[str, dict[str, Place]] = {"/": {}}
    places = {
        f"{SITE}/torch/__init__.py": Place(kind="file", mode=0o644, size=1, sha256="a"),
        f"{SITE}/torch-2.8.0.dist-info/METADATA": Place(kind="file", mode=0o644, size=1),
        "/opt/conda/bin/tool": Place(kind="file", mode=0o755, size=9, sha256="a"),
        "/lib": Place(kind="link", mode=0o777, target="usr/lib"),
    }
    for path, place in places.items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder or "/", {})[name] = place
        while folder:
            above, _, name = folder.rpartition("/")
            folders.setdefault(above or "/", {})[name] = Place(kind="directory")
            folder = above
    return Listing(folders=folders)


def entry(path: str, *, sha256: str = "a", size: int = 1, mode: int = 0o644) -> Entry:
    return Entry(path=path, sha256=sha256, size=size, mode=mode)


def refused(entry: Entry, base: Listing | None = None) -> Incompatible:
    with pytest.raises(Incompatible) as caught:
        check([("evil==1", [entry])], base or listing(), LOCK)
    return caught.value


def test_what_the_base_does_not_have_is_nobody_elses() -> None:
    entries = [entry(f"{SITE}/new/__init__.py"), entry(f"{SITE}/torch/new.py"), entry("/new")]
    check([("a==1", entries), ("b==1", [entry(f"{SITE}/new/other.py")])], listing(), LOCK)


def test_a_file_of_a_package_of_the_base_is_refused_and_both_are_named() -> None:
    said = refused(entry(f"{SITE}/torch/__init__.py", sha256="b"))
    assert said.context == f"{SITE}/torch/__init__.py"
    assert "evil==1 brings it, and torch 2.8.0+metax3.5.3.9 of the base has it" in said.message
    assert "leave the package" in said.hint


def test_what_lies_in_the_metadata_of_a_package_is_of_that_package() -> None:
    said = refused(entry(f"{SITE}/torch-2.8.0.dist-info/METADATA", size=2))
    assert "torch 2.8.0+metax3.5.3.9 of the base has it" in said.message


def test_equal_bytes_are_let_through_whatever_the_group_may_do() -> None:
    check([("a==1", [entry(f"{SITE}/torch/__init__.py")])], listing(), LOCK)
    check([("a==1", [entry(f"{SITE}/torch/__init__.py", mode=0o664)])], listing(), LOCK)


@pytest.mark.parametrize(
    ("brought", "said"),
    [
        (entry("/opt/conda/bin/tool", size=8), "not the same: 8 bytes, and 9 there"),
        (entry("/opt/conda/bin/tool", size=9), "one may be executed, the other not"),
        (entry(f"{SITE}/torch-2.8.0.dist-info/METADATA"), "whether the bytes are the same is not"),
        (entry("/lib"), "there it is a link"),
        (entry(f"{SITE}/torch"), "there it is a directory"),
    ],
)
def test_in_what_they_differ_is_said(brought: Entry, said: str) -> None:
    assert said in refused(brought).message


def test_who_owns_a_file_elsewhere_is_the_base() -> None:
    assert "the base r.example.com/base:1 has it" in refused(entry("/lib")).message


@pytest.mark.parametrize("top", ["other", ".hidden", "six.py"])
def test_a_package_that_the_lock_does_not_name_is_the_bases(top: str) -> None:
    place = Place(kind="file", mode=0o644, size=3)
    base = listing()
    folders = dict(base.folders)
    folders[SITE] = {**folders[SITE], top: place}
    said = refused(entry(f"{SITE}/{top}"), Listing(folders=folders))
    assert "the base r.example.com/base:1 has it" in said.message


def test_a_directory_never_lands_on_a_link_of_the_base() -> None:
    said = refused(entry("/lib/new/file"))
    assert said.context == "/lib"
    assert "brings a file below it" in said.message
    assert "a link to usr/lib" in said.message
    assert "mxenv lock" in said.hint


def test_nor_on_a_file_of_the_base() -> None:
    said = refused(entry("/opt/conda/bin/tool/below"))
    assert (said.context, "is a file" in said.message) == ("/opt/conda/bin/tool", True)


def test_the_second_owner_is_looked_at_as_well() -> None:
    owners = [("a==1", [entry("/new/x")]), ("b==1", [entry("/lib/y")])]
    with pytest.raises(Incompatible, match="b==1"):
        check(owners, listing(), replace(LOCK, provided=()))


def test_what_mxenv_says_of_an_image_takes_the_place_of_what_it_said_of_the_base() -> None:
    gate = Place(kind="file", mode=0o755, size=3, sha256="a")
    folders = {
        "/": {"usr": Place(kind="directory")},
        "/usr": {"share": Place(kind="directory")},
        "/usr/share": {"mxenv": Place(kind="directory")},
        "/usr/share/mxenv": {"start-gate": gate},
    }
    check([("lock", [entry("/usr/share/mxenv/start-gate")])], Listing(folders=folders), LOCK)
    with pytest.raises(Incompatible):
        check([("lock", [entry("/usr/share/mxenv")])], Listing(folders=folders), LOCK)


def test_where_a_link_of_the_base_leads_moves_no_terminal() -> None:
    folders = {"/": {"x": Place(kind="link", mode=0o777, target="a\x1b[2Jb")}}
    with pytest.raises(Incompatible, match=r"a link to a\?\[2Jb"):
        check([("a==1", [entry("/x/y")])], Listing(folders=folders), LOCK)
