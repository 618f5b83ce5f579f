from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from datetime import date

import pytest
import tomlkit
from _locked import SCRATCH as TARGET
from packaging.pylock import Pylock

from mxenv import lock
from mxenv.errors import LockError
from mxenv.image import AddedFile
from mxenv.inventoried import Inventoried
from mxenv.inventory import Stored
from mxenv.lock import Base, Built, Lock, Package, Provided, Recipe, Relied, Wheel
from mxenv.verdict import Waiver

DIGEST = "sha256:" + "0" * 64
CLICK = Package(
    name="click",
    version="8.1.7",
    requires_python=">=3.7",
    wheel=Wheel(name="click-8.1.7-py3-none-any.whl", sha256="a" * 64, size=97941),
)
MCOPLIB = Package(
    name="mcoplib",
    version="0.4.2+maca3.5.3.20.torch2.8",
    wheel=Wheel(
        name="mcoplib-0.4.2+maca3.5.3.20.torch2.8-cp310-cp310-linux_x86_64.whl", sha256="b" * 64
    ),
)
SMALL = Lock(
    name="demo",
    inputs=DIGEST,
    accelerator="none",
    base=Base(reference="scratch"),
    target=TARGET,
    packages=(CLICK,),
)
WHOLE = replace(
    SMALL,
    accelerator="metax",
    base=Base(reference="r.example.com/a:1", digest=DIGEST, snapshot="mxenv1:" + "1" * 64),
    target=replace(
        TARGET,
        platform="linux/arm64",
        libc="2.36",
        links=(("/opt/mxenv/man", "/opt/mxenv/share/man"),),
    ),
    packages=(CLICK, MCOPLIB),
    requires=("click", "mcoplib ==0.4.2"),
    bytecode=True,
    provided=(
        Provided(name="torch", version="2.8.0+metax3.5.3.9"),
        Provided(name="vllm-metax", version="0.17.0"),
    ),
    facts=(("libc.version", "2.36"), ("metax.sdk", "3.5.3.20")),
    variables=(("A", ""), ("B", 'say "b"')),
    files=((AddedFile(source="a.sh", target="/opt/a.sh", mode=0o755), "c" * 64),),
    models=("models/a.json",),
    inventories=(
        Inventoried(
            file="models/a.json",
            digest=DIGEST,
            name="a",
            formats=(Stored(scheme="gptq", weights="int4", bytes=1 << 33),),
            gaps=1,
        ),
    ),
    system=("jq", "libxml2=2.9.14+dfsg-1.3~deb12u1"),
    run=('ldconfig\necho "$HOME"',),
    host=("metax.kmd >= 3.8",),
    relied=Relied(matrix=DIGEST, rows=("metax.toml:release:x",), outcome="compatible"),
    waivers=(
        Waiver(code="MX105", subject="s", reason="r", owner="o", expires=date(2027, 1, 31)),
        Waiver(code="MX106", reason="r", owner="o", expires=date(2027, 1, 31)),
    ),
    built=Built(config=DIGEST, manifest=DIGEST, layers=(DIGEST, DIGEST), compiler="3.11.2"),
)
URL = "https://wheels.example.com/files/click-8.1.7-py3-none-any.whl"
PLACE = r"^lockfiles/pylock\.x\.toml: "


def parse(text: str) -> Lock:
    return lock.parse(text, context="lockfiles/pylock.x.toml")


MADE = replace(
    WHOLE, built=None, recipe=Recipe(engine="docker", containerfile=DIGEST, context=DIGEST)
)


@pytest.mark.parametrize("value", [SMALL, WHOLE, MADE, replace(SMALL, packages=())])
def test_what_was_written_is_read_back(value: Lock) -> None:
    assert parse(lock.render(value)) == value


@pytest.mark.parametrize("value", [SMALL, WHOLE, replace(SMALL, packages=())])
def test_a_lock_is_a_valid_pylock_file(value: Lock) -> None:
    pylock = Pylock.from_dict(tomllib.loads(lock.render(value)))
    assert [p.name for p in pylock.packages] == [p.name for p in value.packages]
    assert pylock.tool is not None


def test_equal_locks_give_equal_text_whatever_order_they_were_made_in() -> None:
    shuffled = replace(
        WHOLE,
        packages=WHOLE.packages[::-1],
        provided=WHOLE.provided[::-1],
        facts=WHOLE.facts[::-1],
        variables=WHOLE.variables[::-1],
    )
    assert shuffled == WHOLE
    assert lock.render(shuffled) == lock.render(WHOLE)


def test_every_fact_has_a_line_of_its_own() -> None:
    lines = lock.render(WHOLE).splitlines()
    assert 'torch = "2.8.0+metax3.5.3.9"' in lines
    assert '    "mcoplib ==0.4.2",' in lines
    assert 'path = "wheelhouse/click-8.1.7-py3-none-any.whl"' in lines
    assert f'sha256 = "{"a" * 64}"' in lines
    assert "mode = 0o755" in lines


def test_nothing_empty_is_written() -> None:
    assert not [line for line in lock.render(SMALL).splitlines() if line.endswith('= ""')]


def test_the_lock_inside_an_image_does_not_hold_the_digest_of_that_image() -> None:
    assert "[tool.mxenv.image]" in lock.render(WHOLE)
    assert "[tool.mxenv.image]" not in lock.render(lock.without_image(WHOLE))
    assert "[tool.mxenv.image]" not in lock.render(lock.without_image(MADE))


def test_what_must_be_run_needs_an_engine() -> None:
    assert not SMALL.needs_engine
    assert replace(SMALL, system=("jq",)).needs_engine
    assert replace(SMALL, run=("ldconfig",)).needs_engine


@pytest.mark.parametrize(
    ("before", "after", "place", "message"),
    [
        ('lock-version = "1.0"', 'lock-version = "2.0"', "lock-version", "is not known"),
        ('created-by = "mxenv"', "", "created-by", "missing"),
        ('created-by = "mxenv"', 'created-by = "m"\nextras = []', "extras", "unknown field"),
        ('requires-python = "==3.11.*"', 'requires-python = ">=3"', "requires-python", "is not"),
        ("x86_64", "aarch64", "environments", "is not that of tool.mxenv.target"),
        ("mxenv.lock/1", "mxenv.lock/0", r"tool\.mxenv\.schema", "is not a schema"),
        ("accelerator", "acelerator", r"tool\.mxenv\.acelerator", "unknown field"),
        (DIGEST, "sha256:1", r"tool\.mxenv\.inputs", "is no digest"),
        ('"scratch"', '"r.example.com/a"', r"tool\.mxenv\.base", "not pinned by digest"),
        (
            '"scratch"',
            f'"scratch"\ndigest = "{DIGEST}"',
            r"tool\.mxenv\.base\.digest",
            "'scratch' has no digest",
        ),
        ("linux/amd64", "linux/mips", r"tool\.mxenv\.target\.platform", "is not known"),
        ('python = "3.11"', 'python = "3"', r"tool\.mxenv\.target\.python", "is no Python"),
        ('data = "/opt/mxenv"', 'data = "opt"', r"tool\.mxenv\.target\.data", "is not an abs"),
        ('data = "/opt/mxenv"', "", r"tool\.mxenv\.target\.data", "missing"),
        (
            'data = "/opt/mxenv"',
            'data = "/opt/mxenv"\nlibc = "musl"',
            r"tool\.mxenv\.target\.libc",
            "is no version of the GNU C library",
        ),
        ('name = "click"', 'name = "Click"', r"packages\[0\]\.name", "is not normalised"),
        ('version = "8.1.7"', "", r"packages\[0\]\.version", "missing"),
        ('version = "8.1.7"', 'version = "8"', r"packages\[0\]\.wheels\[0\]\.name", "is not a wh"),
        ('version = "8.1.7"', 'version = "?"', r"packages\[0\]\.wheels\[0\]\.name", "no version"),
        (
            'name = "click-8.1.7-py3-none-any.whl"',
            'name = "click.whl"',
            r"packages\[0\]\.wheels\[0\]\.name",
            "Invalid wheel filename",
        ),
        (
            'name = "click-8.1.7-py3-none-any.whl"',
            'name = "../click-8.1.7-py3-none-any.whl"',
            r"packages\[0\]\.wheels\[0\]\.name",
            "click-8.1.7",
        ),
        ("wheelhouse/click", "/etc/click", r"packages\[0\]\.wheels\[0\]\.path", "is not wheel"),
        ("size = 97941", "size = -1", r"packages\[0\]\.wheels\[0\]\.size", "negative"),
        ("size = 97941", 'url = "x"', r"packages\[0\]\.wheels\[0\]\.url", "is no URL that"),
        ("size = 97941", f'url = "{URL}"', r"packages\[0\]\.wheels\[0\]\.path", "beside a URL"),
        ("path =", "urn =", r"packages\[0\]\.wheels\[0\]\.urn", "did you mean|unknown field"),
        ("[tool.mxenv]", "[tool.uv]\na = 1\n[tool.mxenv]", r"tool\.uv", "unknown field"),
        ("a" * 64, "A" * 64, r"packages\[0\]\.wheels\[0\]\.hashes\.sha256", "hexadecimal"),
        ("sha256 =", "md5 =", r"packages\[0\]\.wheels\[0\]\.hashes\.md5", "unknown field"),
        ("[[packages.wheels]]", "[[packages.sdists]]", r"packages\[0\]\.sdists", "unknown"),
    ],
)
def test_what_is_wrong_is_refused_and_its_place_is_named(
    before: str, after: str, place: str, message: str
) -> None:
    text = lock.render(SMALL)
    assert before in text
    with pytest.raises(LockError, match=rf"{PLACE}{place}: .*{message}"):
        parse(text.replace(before, after, 1))


@pytest.mark.parametrize(
    ("before", "after", "place", "message"),
    [
        ('vllm-metax = "0.17.0"', '"vLLM" = "1"', r"provided\.vLLM", "not normalised"),
        ('vllm-metax = "0.17.0"', 'vllm-metax = ""', r"provided\.vllm-metax", "empty"),
        ('outcome = "compatible"', 'outcome = "ok"', r"relied\.outcome", "is not known"),
        ('    "sha256:0', '    "sha256:', r"image\.layers\[0\]", "is no digest"),
        ('"3.11.2"', '"3.11"', r"image\.compiler", "no version of Python"),
        ("mode = 0o755", "mode = 0o4755", r"files\[0\]\.mode", "more than permission bits"),
        ("c" * 64, "c", r"files\[0\]\.sha256", "hexadecimal"),
        ('"/opt/a.sh"', '"/etc/.wh.passwd"', r"files\[0\]\.target", "no layer can hold"),
        ('"/opt/mxenv/man" =', "man =", r"target\.links\.man", "is not an absolute"),
        ('= "/opt/mxenv/share/man"', '= "x"', r"target\.links\./opt/mxenv/man", "is not an abs"),
        ('name = "demo"', 'name = "../demo"', "name", "cannot be part of a lockfile's name"),
        ('"r.example.com/a:1"', '"ubuntu"', r"base\.reference", "is no image reference"),
        ('"mcoplib ==0.4.2"', '"mcoplib =0"', r"requires\[1\]", "mcoplib"),
        ("B = ", '"B=C" = ', r"variables\.B=C", "not the name of"),
        ("B = ", "API_KEY = ", r"variables\.API_KEY", "looks like a credential"),
        ('vllm-metax = "0.17.0"', 'vllm-metax = "new"', r"provided\.vllm-metax", "is no version"),
        ('code = "MX106"', 'code = "MX1060"', r"waivers\[1\]\.code", "the code of no finding"),
    ],
)
def test_what_is_wrong_in_what_mxenv_adds_is_refused(
    before: str, after: str, place: str, message: str
) -> None:
    text = lock.render(WHOLE)
    assert before in text
    with pytest.raises(LockError, match=rf"{PLACE}tool\.mxenv\.{place}: .*{message}"):
        parse(text.replace(before, after, 1))


def at(url: str) -> Lock:
    return replace(SMALL, packages=(replace(CLICK, wheel=replace(CLICK.wheel, url=url)),))


def test_a_wheel_with_a_url_has_no_path_which_installers_would_prefer() -> None:
    text = lock.render(at(URL))
    assert parse(text) == at(URL)
    assert "wheelhouse/" not in text
    (wheel,) = Pylock.from_dict(tomllib.loads(text)).packages[0].wheels or ()
    assert (wheel.url, wheel.path) == (URL, None)


def test_the_lock_inside_an_image_does_not_say_where_wheels_were_found() -> None:
    assert lock.without_image(at(URL)) == lock.without_image(SMALL)


@pytest.mark.parametrize(
    "url",
    [
        URL.replace("wheels.", "user:secret@wheels."),
        URL.replace("wheels.", "secret@wheels."),
        f"{URL}?token=secret",
        f"{URL}#secret",
        URL.replace("https", "file"),
        "https:///secret.whl",
        "https://[secret",
        f"{URL} secret",
    ],
)
def test_a_url_that_not_everybody_may_see_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(
        LockError, match=rf"{PLACE}packages\[0\]\.wheels\[0\]\.url: is no"
    ) as caught:
        parse(lock.render(at(url)))
    assert "secret" not in f"{caught.value}{caught.value.hint}"


def test_a_place_loses_its_login_and_its_fragment() -> None:
    assert lock.public_url(f"{URL.replace('//', '//user:secret@')}#sha256=0") == URL
    assert lock.public_url("/srv/wheels/click.whl") == ""
    assert lock.public_url(f"{URL}?X-Signature=1") == ""


def test_a_package_that_is_locked_twice_is_refused() -> None:
    text = lock.render(SMALL)
    start, end = text.index("[[packages]]"), text.index("[tool.mxenv]")
    doubled = text[:end] + text[start:end] + text[end:]
    with pytest.raises(LockError, match=rf"{PLACE}packages\[1\]\.name: 'click' is locked twice"):
        parse(doubled)


def test_a_file_below_a_link_of_the_base_lies_where_that_leads() -> None:
    target = WHOLE.target
    assert target.real("/opt/mxenv/man/man1/x") == "/opt/mxenv/share/man/man1/x"
    assert target.real("/opt/mxenv/manual") == "/opt/mxenv/manual"


def test_a_package_that_the_base_provides_is_refused() -> None:
    text = lock.render(WHOLE).replace("vllm-metax =", "mcoplib =")
    with pytest.raises(LockError, match=rf"{PLACE}packages\[1\]: 'mcoplib' is provided by the b"):
        parse(text)


def test_a_file_that_is_added_twice_is_refused() -> None:
    text = lock.render(WHOLE)
    start = text.index("[[tool.mxenv.files]]")
    end = text.index("[tool.mxenv.relied]")
    with pytest.raises(LockError, match=r"files\[1\]\.target: .* is the target of two files"):
        parse(text[:end] + text[start:end] + text[end:])


def test_a_package_without_a_wheel_is_refused() -> None:
    text = lock.render(SMALL)
    bare = text[: text.index("[[packages.wheels]]")] + text[text.index("[tool.mxenv]") :]
    with pytest.raises(LockError, match=r"packages\[0\]\.wheels: 0 wheels for 'click'"):
        parse(bare)


def test_a_pylock_file_of_another_tool_is_refused() -> None:
    with pytest.raises(LockError, match=rf"{PLACE}tool: missing"):
        parse('lock-version = "1.0"\ncreated-by = "uv"\npackages = []')


def test_a_lock_without_packages_says_so() -> None:
    text = lock.render(replace(SMALL, packages=())).replace("packages = []", "")
    with pytest.raises(LockError, match=rf"{PLACE}packages: missing"):
        parse(text)


def places(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return where there is anything in a TOML document."""
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    found = [at] if at else []
    return found + [place for key, one in inner for place in places(one, (*at, key))]


def within(document: object, at: tuple[str | int, ...]) -> object:
    for key in at:
        document = document[key]  # type: ignore[index] # as `places` found it
    return document


def worded(at: tuple[str | int, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in at).lstrip(".")


DOCUMENT = tomllib.loads(lock.render(WHOLE))
FILLED = [at for at in places(DOCUMENT) if within(DOCUMENT, at) != []]


@pytest.mark.parametrize("at", FILLED, ids=worded)
def test_whatever_is_of_another_type_is_refused_with_its_place(at: tuple[str | int, ...]) -> None:
    for wrong in (1.5, date(2027, 1, 1), [[]], {"a": {}}, True):
        document = tomllib.loads(lock.render(WHOLE))
        there = within(document, at[:-1])
        if type(wrong) is type(within(document, at)):
            continue
        there[at[-1]] = wrong  # type: ignore[index] # a table or an array
        with pytest.raises(LockError) as caught:
            parse(tomlkit.dumps(document))
        # An array of strings may be named as a whole, and a table by what it lacks.
        place = str(caught.value).removeprefix("lockfiles/pylock.x.toml: ").partition(": ")[0]
        assert place.startswith(worded(at)) or worded(at).startswith(place)


@pytest.mark.parametrize(
    "at", [(), *(at for at in FILLED if isinstance(within(DOCUMENT, at), dict))], ids=worded
)
def test_a_field_that_this_mxenv_does_not_know_is_refused_wherever_it_is(
    at: tuple[str | int, ...],
) -> None:
    document = tomllib.loads(lock.render(WHOLE))
    table = within(document, at)
    assert isinstance(table, dict)
    table["later.field"] = 1
    place = f"{worded(at)}.later.field".lstrip(".")
    with pytest.raises(LockError, match=f"^{re.escape(f'lockfiles/pylock.x.toml: {place}: ')}"):
        parse(tomlkit.dumps(document))
