"""What pip, uv and conda are told to install is seen however they are called."""

from __future__ import annotations

import shlex

import pytest

from mxenv.asked import Asked, Elsewhere, Included, Index, Statement, Unread
from mxenv.installs import of_script


def read(script: str, **variables: str) -> list[Statement]:
    pieces = [(n, f"{line}\n") for n, line in enumerate(script.split("\n"), start=1)]
    return list(of_script(pieces, file="Containerfile", base="b", variables=variables))


def shape(script: str, **variables: str) -> list[str]:
    return [short(one) for one in read(script, **variables)]


def short(one: Statement) -> str:
    match one:
        case Asked():
            forced, unclear = "!" * one.forced, "?" * bool(one.unclear)
            return f"{one.name}{one.specifier}{forced}{unclear}"
        case Included():
            return f"{'c' if one.limits else 'r'}:{','.join(one.files)}{'!' * one.forced}"
        case Index():
            return f"i:{one.url}"
        case Unread():
            return f"unread:{one.text}"
        case _:
            raise AssertionError(one)


@pytest.mark.parametrize(
    "call",
    [
        "pip install",
        "pip3.11 --proxy x install",
        "/opt/conda/bin/pip install",
        "python -m pip install",
        "/usr/bin/python3.12 -u -m pip -q install",
        "pypy3 -m pip install",
        "uv pip install",
        "uv add",
        "sudo -E pip install",
        "PIP_X=1 pip install",
        "env A=b pip install",
        "if true; then pip install",
        "exec time nohup pip install",
        "set -e; ! pip install",
        "python3 -mpip install",
        "timeout -k 5 100 pip install",
        "nice -n 5 env A=b timeout 9 sudo /usr/bin/pip3 install",
        "chroot /mnt uv pip install",
        "eval pip install",
        "eval 'pip install'",
    ],
)
def test_every_way_to_call_an_installer(call: str) -> None:
    assert shape(f"{call} torch") == ["torch"]


@pytest.mark.parametrize(
    "script",
    [
        "",
        "pip",
        "pip download torch",
        "pip wheel torch",
        "pip uninstall -y torch",
        "python -m build torch",
        "python install torch",
        "python -m",
        "apt-get install torch",
        "uv",
        "uv sync",
        "uv pip list torch",
        "uv tool install torch",
        "bash script.sh",
        "bash -c",
        "conda create -n x torch",
        "conda",
        "A=b",
        "echo pip install torch",
        "timeout 5",
        "timeout 5 apt-get install torch",
        "eval",
        "$X upgrade torch",
        'bash -c \'bash -c "bash -c \\"bash -c pip\\""\'',
    ],
)
def test_what_installs_nothing(script: str) -> None:
    assert shape(script) == []


@pytest.mark.parametrize("script", ["$PIP install torch", "$(which pip) -q install torch"])
def test_an_installer_that_only_the_shell_knows_is_not_passed_by(script: str) -> None:
    (found,) = of_script([(1, script)], file="C")
    assert isinstance(found, Unread)
    assert found.reason.endswith("which installs something, is not known here")


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("pip install a 'b>=1' \"c<2\"", ["a", "b>=1", "c<2"]),
        ("pip install -U a -r r.txt", ["a!", "r:r.txt!"]),
        ("pip install a --upgrade", ["a!"]),
        ("pip install -qU a", ["a!"]),
        ("pip install -Ur r.txt", ["r:r.txt!"]),
        ("pip install -rr.txt -cc.txt", ["r:r.txt", "c:c.txt"]),
        ("pip install --requirement=r.txt", ["r:r.txt"]),
        ("pip install --no-deps --target /x --no-binary :all: a", ["a"]),
        (
            "pip install -i https://h/s --extra-index-url=https://h/cu126 a",
            ["i:https://h/s", "i:https://h/cu126", "a"],
        ),
        ("uv pip install --torch-backend=cu126 a", ["i:cu126", "a"]),
        (
            "uv pip install --index https://h/cu126 --overrides o.txt a",
            ["i:https://h/cu126", "c:o.txt", "a"],
        ),
        ("uv pip install -P torch a", ["torch!", "a"]),
        ("uv pip install --reinstall-package=torch a", ["torch!", "a"]),
        ("uv pip sync requirements.txt", ["r:requirements.txt!"]),
        ("pip install -e .", [""]),
        ("pip install ./torch-2.9.0-py3-none-any.whl", ["torch==2.9.0"]),
        ("pip install -r", ["r:-r"]),
        ("pip install bad=1", ["unread:bad=1"]),
        ("pip install torch>=2.9 numpy", ["unread:torch>=2.9", "numpy"]),
        ("bash -c 'pip install a && pip install b'", ["a", "b"]),
        ("/bin/sh -exc \"bash -lc 'pip install a'\"", ["a"]),
    ],
)
def test_what_is_installed(script: str, found: list[str]) -> None:
    assert shape(script) == found


def test_shells_in_shells_have_an_end() -> None:
    script = "pip install a"
    found = []
    for _ in range(5):
        found.append(shape(script))
        script = f"sh -c {shlex.quote(script)}"
    assert found == [["a"], ["a"], ["a"], ["a"], []]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("pip install torch==$V", ["torch==2.8.0"]),
        ("pip install torch==$NO", ["torch?"]),
        ('pip install "torch[x]==${NO}"', ["torch?"]),
        ("pip install $NO", ["?"]),
        ("pip install torch$(echo x)", ["?"]),
        ("pip install ./torch-${NO}-py3-none-any.whl", ["?"]),
        ("pip install -r $NO", ["?"]),
        ("pip install -i https://$NO/cu126 a", ["i:https://$NO/cu126", "a"]),
        ("pip install V=1; pip install torch==$V", ["unread:V=1", "torch?"]),
        ("conda install pytorch=$NO", ["torch!?"]),
    ],
)
def test_a_variable_without_a_value_leaves_it_unclear(script: str, found: list[str]) -> None:
    assert shape(script, V="2.8.0") == found


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("conda install -y -n base pytorch", ["torch!"]),
        ("mamba install pytorch::pytorch=2.3.*", ["torch==2.3.*!"]),
        ("micromamba install 'pytorch==2.3' numpy=1.26=py_0", ["torch==2.3!", "numpy==1.26.*!"]),
        ("conda install 'numpy>=1,<2' --prefix=/x", ["numpy<2,>=1!"]),
        ("conda install -c nvidia --channel=x cuda", ["i:nvidia", "i:x", "cuda!"]),
        ("conda install --file s.txt", ["unread:--file s.txt"]),
        ("conda install -c", ["i:-c"]),
        ("conda update -n", []),
        ("conda install '!!'", ["unread:!!"]),
        ("conda install 'x=~'", ["x!"]),
    ],
)
def test_what_conda_installs_is_told_in_the_words_of_the_index(
    script: str, found: list[str]
) -> None:
    assert shape(script) == found


def test_each_statement_has_its_line_and_its_base() -> None:
    found = read("pip install \\\n  a \\\n  -r r.txt\nbash -c 'x\npip install b'")
    assert [(one.place.line) for one in found] == [2, 3, 4]
    assert {one.base for one in found if not isinstance(one, Elsewhere)} == {"b"}  # type: ignore[union-attr]
