"""A lock as a Containerfile: every builder takes it, and nothing in it means more than it says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _locked import DEBIAN, SCRATCH

from mxenv import configuration, rendering
from mxenv import lock as locks
from mxenv.containerfile import parse, words
from mxenv.errors import Incompatible
from mxenv.image import AddedFile
from mxenv.lock import Base, Lock, Package, Wheel

if TYPE_CHECKING:
    from mxenv.containerfile import Instruction

DIGEST = "sha256:" + "7" * 64
CLICK = Package(
    name="click",
    version="8.1.8",
    wheel=Wheel(name="click-8.1.8-py3-none-any.whl", sha256="c" * 64, size=98188),
)
TORCH = Package(
    name="torch-helper",
    version="1.0+metax3.5.3",
    wheel=Wheel(
        name="torch_helper-1.0+metax3.5.3-py3-none-any.whl", sha256="d" * 64, size=10_000_000
    ),
)
LOCK = Lock(
    name="tools",
    inputs=DIGEST,
    accelerator="none",
    base=Base(reference="registry.example.com:5000/team/base:1", digest=DIGEST),
    target=DEBIAN,
    packages=(TORCH, CLICK),
    facts=(("os.id", "debian"),),
    variables=(("GREETING", 'say "$HOME"'),),
    files=((AddedFile(source="a/start $x.sh", target="/opt/$a b.sh", mode=0o755), "e" * 64),),
    system=("libxml2=2.9.14", "jq", "jq"),
    run=('ldconfig\necho "$HOME" \\',),
)
BASE: dict[str, object] = {
    "config": {"User": "app:$x", "Entrypoint": ["/usr/bin/env", "A=1"], "Cmd": ["bash", "-l"]},
    "rootfs": {"diff_ids": [DIGEST]},
}
FROM = f"registry.example.com:5000/team/base@{DIGEST}"


def read(lock: Lock, base: dict[str, object] | None = None) -> list[Instruction]:
    found = list(parse(rendering.render(lock, BASE if base is None else base)))
    assert not any(instruction.flaw for instruction in found)
    return found


def of(keyword: str, found: list[Instruction]) -> list[str]:
    return [instruction.text for instruction in found if instruction.keyword == keyword]


def test_the_base_is_named_by_its_digest_alone() -> None:
    assert of("FROM", read(LOCK)) == [
        f"{FROM} AS wheels",
        f"{FROM} AS image",
        "image AS checked",
        "image",
    ]


def test_a_base_in_a_folder_has_the_name_under_which_it_is_loaded() -> None:
    lock = replace(LOCK, base=Base(reference="oci:a\nRUN b", digest=DIGEST))
    assert rendering.reference(lock) == "localhost/mxenv-base:" + "7" * 64
    assert "RUN b" not in of("RUN", read(lock))


def test_each_wheel_is_copied_by_name_and_taken_by_hash() -> None:
    found = read(LOCK)
    assert '["wheels/click-8.1.8-py3-none-any.whl", "/mxenv/wheels/"]' in of("COPY", found)
    ran = [i.listed for i in found if i.keyword == "RUN" and i.listed]
    program = ("/usr/bin/python3", "-I", "-B", "/mxenv/install.py")
    assert (*program, "/mxenv/root/click/", "click", CLICK.wheel.name, "c" * 64) in ran
    assert [i.text for i in found if i.flags == ("--from=wheels",)] == [
        '["/mxenv/root/click/", "/"]',
        '["/mxenv/root/torch-helper/", "/"]',
        '["/mxenv/before.json", "/mxenv/before.json"]',
    ]


def test_the_lock_comes_last_and_only_out_of_the_stage_that_was_checked() -> None:
    found = read(LOCK)
    last = max(n for n, i in enumerate(found) if i.keyword == "COPY")
    assert found[last].flags == ("--from=checked",)
    assert found[last].text == '["/mxenv/share/", "/usr/share/mxenv/"]'
    check = next(i for i in found if i.listed and i.listed[-2:-1] == ("--against",))
    assert check.line < found[last].line


def test_system_packages_are_installed_in_one_order_and_leave_no_lists() -> None:
    (step,) = [text for text in of("RUN", read(LOCK)) if "apt-get" in text]
    ran = " ".join(step.split())
    assert "apt-get -o APT::Update::Error-Mode=any update && apt-get install" in ran
    assert "-y --no-install-recommends jq libxml2=2.9.14 && apt-get clean" in ran
    assert "rm -rf /var/lib/apt/lists/*" in ran


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ("rocky", "dnf install -y --setopt=install_weak_deps=False --setopt=tsflags=nodocs jq"),
        ("alpine", "apk add --no-cache jq libxml2=2.9.14"),
    ],
)
def test_each_distribution_has_its_own_manager(system: str, said: str) -> None:
    lock = replace(LOCK, facts=(("os.id", system),))
    ran = " ".join(of("RUN", read(lock))[-3].split())
    assert ran.startswith(said)
    assert ("libxml2-2.9.14" in ran) == (system == "rocky")


@pytest.mark.parametrize("facts", [(("os.id", "plan9"),), ()])
def test_an_unknown_distribution_is_refused(facts: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(Incompatible, match="is not known"):
        rendering.render(replace(LOCK, facts=facts), BASE)


def test_a_step_of_many_lines_can_be_read_above_it() -> None:
    script = "\n# why\nif x; then\n\ty \\\n    z\x1b\r\nfi  \n\n"
    lines = rendering.render(replace(LOCK, run=(script, "one line")), BASE).splitlines()
    at = lines.index("#   # why")
    assert lines[at + 1 : at + 5] == [
        "#   if x; then",
        "#       y \\",
        '#   ["    z\\u001b\\r"]',
        "#   fi",
    ]
    assert lines[at + 5] == f"RUN {rendering.listed(('/bin/sh', '-euc', script))}"
    assert lines[at + 6] == 'RUN ["/bin/sh", "-euc", "one line"]'


def test_files_come_before_steps_and_steps_before_wheels() -> None:
    found = read(LOCK)
    script = next(n for n, i in enumerate(found) if i.listed and i.listed[0] == "/bin/sh")
    assert found[script].listed == ("/bin/sh", "-euc", LOCK.run[0])
    assert found[script - 1].text == '["files/1-start__x.sh", "/opt/\\\\$a b.sh"]'
    assert found[script + 1].flags == ("--from=wheels",)


def test_a_container_starts_as_the_base_has_it_with_the_gate_before() -> None:
    found = read(LOCK)
    assert of("USER", found)[-1] == "app:\\$x"
    assert of("ENTRYPOINT", found) == ['["/usr/share/mxenv/start-gate", "/usr/bin/env", "A=1"]']
    assert of("CMD", found) == ['["bash", "-l"]']


def test_a_base_that_says_nothing_gets_a_gate_alone() -> None:
    for base in ({}, {"config": None, "rootfs": {"diff_ids": None}}):
        found = read(replace(LOCK, system=(), run=(), files=()), base)
        assert of("ENTRYPOINT", found) == ['["/usr/share/mxenv/start-gate"]']
        assert of("CMD", found) == []
        assert of("USER", found) == ["0:0", "0:0"]
        assert of("ARG", found) == []


def test_environment_and_labels_are_what_the_lock_says() -> None:
    found = read(LOCK)
    (variable,) = [words(i) for i in found if i.keyword == "ENV"]
    assert variable == ('GREETING=say "$HOME"',)
    labels = dict(words(i)[0].split("=", 1) for i in found if i.keyword == "LABEL")
    digest = configuration.digest(locks.render(locks.without_image(LOCK)).encode())
    assert labels == configuration.labels(LOCK, digest)
    assert labels["io.mxenv.lock.digest"] == digest


def test_scratch_gets_its_wheels_unpacked_and_runs_nothing() -> None:
    lock = replace(
        LOCK,
        base=Base(reference="scratch"),
        target=SCRATCH,
        system=(),
        run=(),
        variables=(),
    )
    text = rendering.render(lock, {})
    assert f"# {CLICK.wheel.name} sha256:{'c' * 64}\nADD" in text
    found = read(lock, {})
    assert of("ADD", found) == ['["layers/1.tar.gz", "/"]', '["layers/2.tar.gz", "/"]']
    assert of("RUN", found) == of("ENTRYPOINT", found) == []
    assert [words(i) for i in found if i.keyword == "ENV"] == [
        (f"PYTHONPATH={SCRATCH.purelib}",),
    ]


def test_many_wheels_share_layers_rather_than_be_too_many() -> None:
    many = tuple(
        Package(
            name=f"p{n}",
            version="1",
            wheel=Wheel(name=f"p{n}-1-py3-none-any.whl", sha256="f" * 64, size=1_000_000 + n),
        )
        for n in range(200)
    )
    base = {"rootfs": {"diff_ids": [DIGEST] * 60}}
    found = read(replace(LOCK, packages=many), base)
    copied = [i for i in found if i.flags == ("--from=wheels",)]
    assert len(copied) <= 60
    assert len([i for i in found if i.listed and "/mxenv/install.py" in i.listed]) == 200


def test_what_was_built_changes_nothing() -> None:
    recipe = locks.Recipe(engine="docker", containerfile=DIGEST, context=DIGEST)
    assert rendering.render(replace(LOCK, recipe=recipe), BASE) == rendering.render(LOCK, BASE)
