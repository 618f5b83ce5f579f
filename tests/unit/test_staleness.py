from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from mxenv import image as images
from mxenv.image import AddedFile, Image
from mxenv.lock import UNRESOLVED, Base, Lock, Package, Provided, Target, Wheel
from mxenv.staleness import reasons
from mxenv.verdict import Waiver

WAIVER = Waiver(code="MX105", reason="pilot", owner="Ada", expires=date(2027, 1, 31))
IMAGE = Image(
    name="demo",
    base="scratch",
    accelerator="none",
    python="3.11",
    requires=("click", "rich >=13"),
    variables=(("A", "1"),),
    files=(AddedFile(source="a", target="/opt/a"),),
    models=("m",),
    host=("metax.kmd >= 3",),
    waivers=(WAIVER,),
)
HASHES = {"a": "a" * 64}
LOCK = Lock(
    name="demo",
    inputs=images.digest(IMAGE, HASHES),
    accelerator="none",
    base=Base(reference="scratch"),
    target=Target(
        platform="linux/amd64",
        python="3.11",
        prefix="/opt/mxenv",
        interpreter="/usr/bin/python3",
        purelib="/p",
        platlib="/p",
        scripts="/s",
        data="/d",
    ),
    packages=tuple(
        Package(
            name=name,
            version=version,
            wheel=Wheel(name=f"{name}-{version}-py3-none-any.whl", sha256="b" * 64),
        )
        for name, version in (("click", "8.1.8"), ("rich", "13.9.4"))
    ),
    requires=IMAGE.requires,
    variables=IMAGE.variables,
    files=((IMAGE.files[0], "a" * 64),),
    models=IMAGE.models,
    host=IMAGE.host,
    waivers=IMAGE.waivers,
)


def test_a_lock_made_from_the_image_as_it_is_is_fresh() -> None:
    assert reasons(IMAGE, HASHES, LOCK) == ()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "x"}, "name is 'x', and was 'demo' when the lock was made"),
        ({"base": "r.io/a"}, "base is 'r.io/a', and was 'scratch' when the lock was made"),
        ({"accelerator": "metax"}, "accelerator is 'metax', and was 'none' when the lock was made"),
        (
            {"platform": "linux/arm64"},
            "platform is 'linux/arm64', and was 'linux/amd64' when the lock was made",
        ),
        (
            {"requires": ("click", "rich >=14")},
            "python.requires now has rich >=14 and no longer has rich >=13",
        ),
        ({"requires": ("rich >=13", "click")}, "python.requires has another order"),
        ({"system": ("jq",)}, "system.packages now has jq"),
        ({"run": ("ldconfig",)}, "run now has ldconfig"),
        ({"models": ()}, "models no longer has m"),
        ({"host": ()}, "host.requires no longer has metax.kmd >= 3"),
        ({"variables": (("A", "2"),)}, "variables now has A=2 and no longer has A=1"),
        ({"waivers": ()}, "waivers no longer has MX105  (until 2027-01-31, Ada: pilot)"),
        (
            {"python": "3.12"},
            "python.version is '3.12', and was '3.11' when the lock was made",
        ),
        (
            {"bytecode": True},
            "python.bytecode is True, and was False when the lock was made",
        ),
        (
            {"environment": "/opt/conda"},
            "python.environment is '/opt/conda', and was '/opt/mxenv' when the lock was made",
        ),
    ],
)
def test_what_changed_since_is_named(changes: dict, reason: str) -> None:
    assert reasons(replace(IMAGE, **changes), HASHES, LOCK) == (reason,)


def test_of_an_environment_that_is_no_longer_named_only_the_digest_tells() -> None:
    image = replace(IMAGE, python="", base="oci:base")
    made = replace(LOCK, base=Base(reference="oci:base", digest="sha256:" + "0" * 64))
    assert reasons(image, HASHES, made) == ("the lock was made from another image description",)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"host": ()}, "host.requires now has metax.kmd >= 3"),
        ({"variables": (("A", "2"),)}, "variables now has A=1 and no longer has A=2"),
        ({"base": Base(reference="oci:b")}, "base is 'scratch', and was 'oci:b' when the lock was"),
        ({"packages": LOCK.packages[1:]}, "python.requires has 'click', and the lock nothing for"),
        (
            {"packages": (replace(LOCK.packages[1], version="12"), LOCK.packages[0])},
            "python.requires has 'rich >=13', and the lock 12 for it",
        ),
        ({"target": replace(LOCK.target, python="3.12")}, "python.version is '3.11', and was"),
    ],
)
def test_a_lock_that_was_edited_by_hand_is_not_the_images(changes: dict, reason: str) -> None:
    edited = replace(LOCK, **changes)
    assert edited.inputs == LOCK.inputs
    (found,) = reasons(IMAGE, HASHES, edited)
    assert found.startswith(reason)


def test_what_the_base_provides_or_a_marker_leaves_out_need_not_be_locked() -> None:
    image = replace(IMAGE, requires=("Click", "rich; sys_platform == 'win32'"))
    made = replace(
        LOCK,
        inputs=images.digest(image, HASHES),
        requires=image.requires,
        packages=(),
        provided=(Provided(name="click", version="8.0"),),
    )
    assert reasons(image, HASHES, made) == ()


def test_a_file_with_another_content_is_named() -> None:
    (reason,) = reasons(IMAGE, {"a": "b" * 64}, LOCK)
    assert reason == (
        f"files now has a as /opt/a (mode 644, sha256 {'b' * 12})"
        f" and no longer has a as /opt/a (mode 644, sha256 {'a' * 12})"
    )


def test_a_lock_of_two_that_were_merged_is_stale_beside_all_else() -> None:
    merged = replace(LOCK, inputs=UNRESOLVED)
    said = "two locks were merged into it, and the whole was not resolved since"
    assert reasons(IMAGE, HASHES, merged) == (said,)
    more = replace(IMAGE, models=("m", "n"))
    assert reasons(more, HASHES, merged) == ("models now has n", said)
