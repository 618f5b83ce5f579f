from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from _locked import SCRATCH as TARGET

from mxenv.difference import Change
from mxenv.image import AddedFile
from mxenv.inventoried import Inventoried
from mxenv.lock import AskedTorch, Base, Built, Lock, Package, Provided, Relied, Source, Wheel
from mxenv.lock_difference import compare
from mxenv.verdict import Waiver

ONE, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64
ASKED = AskedTorch(file="node.json", digest=ONE, version="2.8.0", key="CUDA")
CLICK = Package(
    name="click",
    version="8.1.7",
    wheel=Wheel(name="click-8.1.7-py3-none-any.whl", sha256="a" * 64, size=5),
)
LOCK = Lock(
    name="demo",
    inputs=ONE,
    accelerator="metax",
    base=Base(reference="r.example.com/a:1", digest=ONE),
    target=TARGET,
    packages=(CLICK,),
    requires=("click", "rich"),
    provided=(Provided(name="torch", version="2.8.0"),),
    torch=ASKED,
    relied=Relied(matrix=ONE, rows=("r",), outcome="compatible"),
    built=Built(config=ONE, manifest=ONE, layers=(ONE,)),
)
WHEEL = CLICK.wheel
SOURCE = Source(name="click-8.1.7.tar.gz", sha256="c" * 64, builder="b 1", python="3.11.7", epoch=1)
WAIVER = Waiver(code="MX105", reason="r", owner="o", expires=date(2027, 1, 31))


def but(**values: object) -> Lock:
    return replace(LOCK, **values)


def click(**values: object) -> Lock:
    return but(packages=(replace(CLICK, **values),))


def test_equal_locks_do_not_differ() -> None:
    assert compare(LOCK, but()) == ()


@pytest.mark.parametrize(
    ("after", "label", "before", "now"),
    [
        (click(version="8.2"), "packages.click", "8.1.7", "8.2"),
        (but(packages=()), "packages.click", "8.1.7", None),
        (but(accelerator="none"), "accelerator", "metax", "none"),
        (but(base=replace(LOCK.base, digest=OTHER)), "base.digest", ONE, OTHER),
        (but(target=replace(TARGET, libc="2.36")), "target.libc", None, "2.36"),
        (
            but(target=replace(TARGET, links=(("/a", "/b"),))),
            "target.links",
            None,
            "/b",
        ),
        (but(provided=()), "provided.torch", "2.8.0", None),
        (but(facts=(("metax.sdk", "3"),)), "facts.metax.sdk", None, "3"),
        (but(variables=(("A", ""),)), "variables.A", None, "empty"),
        (but(requires=("click",)), "requires.rich", "rich", None),
        (
            but(requires=("rich", "click")),
            "requires",
            "in the order click, rich",
            "in the order rich, click",
        ),
        (but(requires=("click", "rich", "rich")), "requires.rich", None, "rich"),
        (
            but(files=((AddedFile(source="a", target="/b", mode=0o755), "c" * 64),)),
            "files./b",
            None,
            "a, mode 755, sha256 cccccccccccc",
        ),
        (but(waivers=(WAIVER,)), "waivers.MX105", None, "until 2027-01-31 by o: r"),
        (
            but(inventories=(Inventoried(file="a.json", digest=ONE, gaps=2),)),
            "inventories.a.json",
            None,
            f"{ONE[:19]}: weights in nothing, 2 things not known",
        ),
        (but(torch=replace(ASKED, key="CPU")), "torch.key", "CUDA", "CPU"),
        (but(operators=(("aten::a", "native"),)), "operators.aten::a", None, "native"),
        (but(relied=replace(LOCK.relied, rows=())), "relied.rows", "r", None),
        (
            but(built=Built(config=OTHER, manifest=ONE, layers=(ONE,))),
            "image.config",
            ONE,
            OTHER,
        ),
    ],
)
def test_each_difference_has_a_name_and_both_values(
    after: Lock, label: str, before: str | None, now: str | None
) -> None:
    (change,) = compare(LOCK, after)
    assert (change.label, change.before, change.after) == (label, before, now)
    (back,) = compare(after, LOCK)
    assert (back.label, back.before, back.after) == (label, now, before)


@pytest.mark.parametrize(
    ("after", "now"),
    [
        (click(wheel=replace(WHEEL, sha256="b" * 64)), "8.1.7 (sha256 bbbbbbbbbbbb)"),
        (
            click(wheel=replace(WHEEL, name="click-8.1.7-1-py3-none-any.whl")),
            "8.1.7 (click-8.1.7-1-",
        ),
        (click(wheel=replace(WHEEL, url="https://a/b")), "8.1.7 (at https://a/b)"),
        (click(wheel=replace(WHEEL, size=6)), "8.1.7 (6 bytes)"),
        (click(wheel=replace(WHEEL, size=0)), "8.1.7 (of unknown size)"),
        (click(requires_python=">=3.8"), "8.1.7 (for Python >=3.8)"),
        (click(source=SOURCE), "8.1.7 (built from click-8.1.7.tar.gz, sha256 cccccccccccc, with b"),
    ],
)
def test_a_package_of_the_same_version_says_what_else_differs(after: Lock, now: str) -> None:
    (change,) = compare(LOCK, after)
    assert (change.after or "").startswith(now)
    assert change.before is not None
    assert change.before.startswith("8.1.7")
    assert change.before != change.after


def test_where_a_wheel_is_no_longer_found_at_a_url_it_is_in_the_wheelhouse() -> None:
    (change,) = compare(click(wheel=replace(WHEEL, url="https://a/b")), LOCK)
    assert change.after == "8.1.7 (in the wheelhouse)"


def test_what_is_no_longer_asked_of_python_is_said() -> None:
    (change,) = compare(click(requires_python=">=3.8"), LOCK)
    assert change.after == "8.1.7 (for Python of any version)"


def test_an_image_that_is_not_there_has_no_digests() -> None:
    changes = compare(LOCK, but(built=None))
    assert [change.label for change in changes] == [
        "image.config",
        "image.manifest",
        "image.layers",
    ]
    assert {change.kind for change in changes} == {"removed"}
    assert {change.kind for change in compare(but(built=None), LOCK)} == {"added"}


def test_what_tells_most_comes_first() -> None:
    after = but(
        inputs=OTHER,
        packages=(),
        base=Base(reference="r.example.com/a:2", digest=ONE),
        host=("metax.kmd >= 3",),
        provided=(),
    )
    found = [change.label for change in compare(LOCK, after)]
    assert found == [
        "base.reference",
        "packages.click",
        "provided.torch",
        "host.metax.kmd >= 3",
        "inputs",
    ]


def test_a_choice_is_yes_or_no() -> None:
    from mxenv.lock_entries import said  # noqa: PLC0415 - beside the one test of it

    assert (said(True), said(False)) == ("yes", "no")


def test_kinds() -> None:
    sides = [(None, "1"), ("1", None), ("1", "2")]
    kinds = [Change(part="p", name="n", before=b, after=a).kind for b, a in sides]
    assert kinds == ["added", "removed", "changed"]
