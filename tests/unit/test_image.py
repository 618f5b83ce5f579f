from __future__ import annotations

import hashlib
from datetime import date

import pytest

from mxenv import image
from mxenv.errors import ImageError
from mxenv.image import AddedFile, Image

SCRATCH = """\
schema = "mxenv.image/1"
name = "demo"
base = "scratch"
accelerator = "none"
[python]
version = "3.11"
"""
VENDOR = """\
schema = "mxenv.image/1"
name = "llm"
base = "registry.example.com/team/base:1"
"""
WHOLE = """\
schema = "mxenv.image/1"
name = "llm-serving"
base = "registry.example.com:5000/team/base:1@sha256:{digest}"
accelerator = "metax"
platform = "linux/arm64"
models = ["models/a.json"]
[python]
version = "3.10"
environment = "/opt/conda"
bytecode = true
requires = ["click >=8", "psutil; python_version < '4'"]
[system]
packages = ["libibverbs1", "jq=1.6-2.1"]
[[run]]
command = "ldconfig"
[variables]
TOKENIZERS_PARALLELISM = "false"
A = ""
[[files]]
source = "conf/a.sh"
target = "/opt/a.sh"
mode = 0o755
[[files]]
source = "b"
target = "/opt/b"
[host]
requires = ["metax.kmd >= 3.8"]
[[waivers]]
code = "MX105"
reason = "seen working in the pilot"
owner = "Ada"
expires = 2027-01-31
""".format(digest="0" * 64)


def parse(text: str) -> Image:
    return image.parse(text, context="images/x/image.toml")


def test_everything_that_can_be_said_is_read() -> None:
    read = parse(WHOLE)
    assert read.name == "llm-serving"
    assert read.platform == "linux/arm64"
    assert read.environment == "/opt/conda"
    assert read.bytecode
    assert read.requires == ("click >=8", "psutil; python_version < '4'")
    assert read.system == ("libibverbs1", "jq=1.6-2.1")
    assert read.run == ("ldconfig",)
    assert read.variables == (("A", ""), ("TOKENIZERS_PARALLELISM", "false"))
    assert read.files == (
        AddedFile(source="conf/a.sh", target="/opt/a.sh", mode=0o755),
        AddedFile(source="b", target="/opt/b", mode=0o644),
    )
    assert read.models == ("models/a.json",)
    assert read.host == ("metax.kmd >= 3.8",)
    assert read.waivers[0].expires == date(2027, 1, 31)
    assert read.waivers[0].subject == ""


def test_what_is_not_said_has_a_default() -> None:
    read = parse(VENDOR)
    assert (read.accelerator, read.platform, read.python) == ("metax", "linux/amd64", "")


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ('schema = "mxenv.image/9"', "schema", "is not a schema of this mxenv"),
        ("schema = 1", "schema", "a number where a string belongs"),
        ('name = "a.b"', "name", "cannot be part of a lockfile's name"),
        ('name = "../a"', "name", "cannot be part of a lockfile's name"),
        ('base = "ubuntu:22.04"', "base", "is no image reference"),
        ('base = "team/image"', "base", "is no image reference"),
        ('base = "oci:"', "base", "is no image reference"),
        ('base = "r.example.com/A"', "base", "is no image reference"),
        ('base = "me:secret@r.example.com/a"', "base", r"'\*\*\*@r\.example\.com/a' is no"),
        ('base = "r.example.com/a@sha256:12"', "base", "is no image reference"),
        ('platform = "windows/amd64"', "platform", "is not known"),
        ("[python]\nversion = 3.11", "python.version", "a number where a string belongs"),
        ('[python]\nversion = "3.11.2"', "python.version", "is no Python version"),
        ('[python]\nenvironment = "opt"', "python.environment", "is not an absolute"),
        ('[python]\nenvironment = "/opt/../a"', "python.environment", "is not an absolute"),
        (
            '[python]\nrequires = ["click", "rich", ">=3"]',
            r"python\.requires\[2\]",
            "'>=3': Expected package name",
        ),
        (
            '[python]\nrequires = ["-r x.txt"]',
            r"python\.requires\[0\]",
            "Expected package name",
        ),
        (
            '[python]\nrequires = ["a @ https://x.example.com/a-1-py3-none-any.whl"]',
            r"python\.requires\[0\]",
            "'a' is asked for by URL",
        ),
        ("[python]\nrequirez = []", "python.requirez", "unknown field"),
        ('[system]\npackages = ["a b"]', r"system\.packages\[0\]", "is no package's name"),
        ("[system]\npackage = []", "system.package", "unknown field"),
        ('[system]\npackages = ["jq-"]', r"system\.packages\[0\]", "is no package's name"),
        ('[system]\npackages = ["--x"]', r"system\.packages\[0\]", "is no package's name"),
        ('[[run]]\ncommand = " "', r"run\[0\]\.command", "is no script"),
        ('[[run]]\ncommand = "a\\u0000"', r"run\[0\]\.command", "is no script"),
        ('[[run]]\nuser = "a"', r"run\[0\]\.user", "unknown field"),
        ('[variables]\n"A-B" = "1"', "variables.A-B", "not the name of"),
        ('[variables]\nA = "1\\n2"', "variables.A", "holds a line break"),
        ('[variables]\nHF_TOKEN = "x"', "variables.HF_TOKEN", "looks like a credential"),
        ('[variables]\nP = "http://u:p@h"', "variables.P", "looks like a credential"),
        (
            '[[files]]\nsource = "../a"\ntarget = "/a"',
            r"files\[0\]\.source",
            "leaves the folder",
        ),
        (
            '[[files]]\nsource = "/etc/passwd"\ntarget = "/a"',
            r"files\[0\]\.source",
            "leaves the folder",
        ),
        ('[[files]]\nsource = "a"\ntarget = "b"', r"files\[0\]\.target", "is not an absolute"),
        ('[[files]]\nsource = "a"\ntarget = "/"', r"files\[0\]\.target", "is not an absolute"),
        (
            '[[files]]\nsource = "a"\ntarget = "/a\\u0001"',
            r"files\[0\]\.target",
            "is not an absolute",
        ),
        (
            '[[files]]\nsource = "a"\ntarget = "/a"\nmode = 0o4755',
            r"files\[0\]\.mode",
            "more than permission bits",
        ),
        (
            '[[files]]\nsource = "a"\ntarget = "/a"\n[[files]]\nsource = "b"\ntarget = "/a"',
            r"files\[1\]\.target",
            "the target of two files",
        ),
        *(
            (f'[[files]]\nsource = "a"\ntarget = "{target}"', r"files\[0\]\.target", message)
            for target, message in (
                ("/etc/.wh.passwd", "no layer can hold '/etc/.wh.passwd'"),
                ("/etc/.wh..wh..opq", "no layer can hold"),
                ("/" + "a" * 256, "no layer can hold"),
                ("/" + "é" * 128, "no layer can hold"),
                ("/a" * 2048, "no layer can hold"),
                ("/proc/x", "what lies in /proc is for a container's kernel to say"),
                ("/usr/share/mxenv/start-gate", "is for mxenv to say"),
            )
        ),
        ('[python]\nenvironment = "/opt/.wh.a"', r"python\.environment", "no layer can hold"),
        (
            '[[waivers]]\ncode = "MX1O5"\nreason = "r"\nowner = "o"\nexpires = 2027-01-31',
            r"waivers\[0\]\.code",
            "is the code of no finding",
        ),
        ("[[files]]\nfrom = 1", r"files\[0\]\.from", "unknown field"),
        ("[host]\nrequire = []", "host.require", "unknown field"),
        (
            '[[waivers]]\ncode = "MX105"\nreason = "r"\nowner = "o"',
            r"waivers\[0\]\.expires",
            "missing",
        ),
        ('[[waivers]]\ncode = "MX105"', r"waivers\[0\]\.reason", "missing"),
        ("base_image = 1", "base_image", "unknown field"),
    ],
)
def test_what_is_wrong_is_refused_and_its_place_is_named(
    line: str, place: str, message: str
) -> None:
    key = line.partition(" ")[0]
    kept = [entry for entry in VENDOR.splitlines() if not entry.startswith(f"{key} ")]
    text = "\n".join([*kept, line])
    with pytest.raises(ImageError, match=rf"^images/x/image\.toml: {place}: .*{message}"):
        parse(text)


@pytest.mark.parametrize(
    "base",
    [
        "oci:../base",
        "localhost/a",
        "localhost:5000/a/b_c/d__e:1.0",
        "docker.io/library/debian:12-slim",
        "[::1]:5000/a@sha256:" + "a" * 64,
        "host:5000/a",
    ],
)
def test_a_base_is_a_layout_or_a_reference_with_its_host(base: str) -> None:
    assert parse(VENDOR.replace("registry.example.com/team/base:1", base)).base == base


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('environment = "/opt/x"', "'scratch' has no environment"),
        ('[system]\npackages = ["jq"]', "nothing can be installed on 'scratch'"),
        ('[[run]]\ncommand = "true"', "nothing can be run on 'scratch'"),
    ],
)
def test_scratch_has_nothing_to_take_anything_from(more: str, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        parse(SCRATCH + more)


def test_on_scratch_the_python_version_has_to_be_said() -> None:
    with pytest.raises(ImageError, match=r"python\.version: missing"):
        parse(SCRATCH.replace('version = "3.11"', ""))


def test_the_digest_is_that_of_what_is_said() -> None:
    """A later mxenv must find the locks of this one fresh: the canonical form never changes."""
    said = (
        '{"accelerator":"none","base":"scratch","name":"demo","platform":"linux/amd64",'
        '"python":"3.11","schema":"mxenv.image/1"}'
    )
    expected = hashlib.sha256(said.encode()).hexdigest()
    assert image.digest(parse(SCRATCH), {}) == f"sha256:{expected}"


def test_comments_and_order_do_not_change_the_digest() -> None:
    shuffled = "# a comment\n" + SCRATCH.replace(
        'name = "demo"\nbase = "scratch"', 'base = "scratch"\nname = "demo"'
    )
    assert image.digest(parse(shuffled), {}) == image.digest(parse(SCRATCH), {})


def test_another_content_of_a_file_is_another_digest() -> None:
    read = parse(WHOLE)
    one = image.digest(read, {"conf/a.sh": "1", "b": "2"})
    assert one != image.digest(read, {"conf/a.sh": "1", "b": "3"})


def test_a_reference_with_a_digest_is_pinned_and_one_without_is_not() -> None:
    assert image.pinned("r.example.com/a:1@sha256:" + "0" * 64) == "sha256:" + "0" * 64
    assert image.pinned("r.example.com/a:1") == ""
