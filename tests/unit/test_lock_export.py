from __future__ import annotations

from dataclasses import replace

from test_lock import SMALL, URL, WHOLE

from mxenv.lock import Source
from mxenv.lock_export import requirements

MARKER = "sys_platform == 'linux' and platform_machine == 'x86_64' and python_version == '3.11'"


def test_every_package_has_its_version_its_marker_and_its_hash() -> None:
    assert requirements(SMALL) == (
        "# The lock demo, for Python 3.11 on linux/amd64.\n"
        f"click==8.1.7 ; {MARKER} \\\n"
        f"    --hash=sha256:{'a' * 64}\n"
    )


def test_what_the_base_provides_is_a_comment() -> None:
    text = requirements(WHOLE)
    assert "#   torch==2.8.0+metax3.5.3.9\n#   vllm-metax==0.17.0\n" in text
    assert text.count("\n# Install with --no-deps: ") == 1
    assert "\nmcoplib==0.4.2+maca3.5.3.20.torch2.8 ; " in text
    assert text.startswith("# The lock demo, for Python 3.11 on linux/arm64, glibc 2.36.\n")


def test_dependencies_are_spoken_of_only_on_a_base_that_may_contradict_itself() -> None:
    assert "--no-deps" not in requirements(SMALL)


def test_a_wheel_that_somebody_built_says_of_what() -> None:
    source = Source(
        name="click-8.1.7.tar.gz", sha256="c" * 64, builder="build 1.2", python="3.11.7", epoch=1
    )
    text = requirements(replace(SMALL, packages=(replace(SMALL.packages[0], source=source),)))
    comment = "# No index has the next wheel: it was built from click-8.1.7.tar.gz.\n"
    assert text == requirements(SMALL).replace("click==", f"{comment}click==")


def test_it_names_no_place_even_if_the_lock_does() -> None:
    placed = replace(SMALL.packages[0], wheel=replace(SMALL.packages[0].wheel, url=URL))
    lock = replace(SMALL, packages=(placed,))
    assert requirements(lock) == requirements(SMALL)
    assert "://" not in requirements(WHOLE)
