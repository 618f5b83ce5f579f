from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable, View
from mxenv.probe import snapshot
from mxenv.probes import python
from mxenv.probes.python import Asked
from mxenv.question import Answers, Env, Found, Glob, Part
from mxenv.transports._memory import tree
from mxenv.transports._tree import answer

if TYPE_CHECKING:
    from mxenv.question import Given, Question

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText\nVersion: 9\n"


def dist(site: str, name: str, version: str) -> dict[str, str]:
    path = f"{site}/{name}-{version}.dist-info/METADATA"
    return {path: METADATA.format(name=name, version=version)}


def look(
    files: dict[str, str],
    links: dict[str, str] | None = None,
    given: dict[Question, Given] | None = None,
) -> dict[str, list[Reading]]:
    """Return what the probe reads from a tree of ``files``, by label."""
    facts: dict[str, list[Reading]] = {}
    for fact in read(files, links, given):
        facts.setdefault(fact.label, []).append(fact.reading)
    return facts


def read(
    files: dict[str, str],
    links: dict[str, str] | None = None,
    given: dict[Question, Given] | None = None,
) -> tuple[Fact, ...]:
    """Return the facts that the probe reads from a tree of ``files``, in two rounds."""
    node = tree({path: text.encode() for path, text in files.items()}, links or {})
    answers = Answers()
    asked = dict.fromkeys(python.PROBE.questions)
    for _ in range(5):
        answers |= answer(node, asked, (given or {}).get)
        asked = {q: None for q in python.PROBE.more(answers) if q not in answers.given}
    assert not asked
    return tuple(python.PROBE.read(answers))


CONDA = {
    "/opt/conda/bin/python3.10": "",
    "/opt/conda/conda-meta/python-3.10.12-h955ad1f_0.json": "",
    **dist("/opt/conda/lib/python3.10/site-packages", "torch", "2.8.0+metax3.5.3.9"),
}
DEBIAN = {
    "/usr/bin/python3.11": "",
    "/var/lib/dpkg/status": (
        "Package: python3\nVersion: 3.11.2-1+b1\n\n"
        "Package: python3.11-minimal\nStatus: install ok installed\n"
        "Version: 3.11.2-6+deb12u5\n\nPackage: zlib1g\nVersion: 1:1.2.13\n"
    ),
    **dist("/usr/lib/python3/dist-packages", "PyYAML", "6.0"),
}
DEBIAN_LINK = {"/usr/bin/python3": "python3.11"}


def test_a_conda_environment_is_read_without_running_its_python() -> None:
    facts = look(CONDA, {"/opt/conda/bin/python3": "python3.10"})
    assert facts == {
        "python.interpreter[/opt/conda]": [Observed("/opt/conda/bin/python3")],
        "python.series[/opt/conda]": [Observed("3.10")],
        "python.version[/opt/conda]": [Observed("3.10.12")],
        "python.site[/opt/conda]": [Observed(("/opt/conda/lib/python3.10/site-packages",))],
        "python.package[/opt/conda/torch]": [Observed("2.8.0+metax3.5.3.9")],
        "python.package.vendor[/opt/conda/torch]": [Observed("metax")],
        "python.package.sdk[/opt/conda/torch]": [Observed("3.5.3.9")],
        "python.package.origin[/opt/conda/torch]": [Unreadable("no file says who installed it")],
        "python.package.record[/opt/conda/torch]": [Absent()],
        "python.package.copies[/opt/conda]": [Absent()],
        "python.package.shadowed[/opt/conda]": [Absent()],
        "python.package.torch": [Absent()],
        "python.package.altered": [python.UNASKED],
    }


def test_the_python_of_debian_has_its_version_from_the_package() -> None:
    facts = look(DEBIAN, DEBIAN_LINK)
    assert facts["python.version[/usr]"] == [Observed("3.11.2")]
    assert facts["python.series[/usr]"] == [Observed("3.11")]
    assert facts["python.package[/usr/pyyaml]"] == [Observed("6.0")]


def test_what_pip_adds_to_the_python_of_debian_belongs_to_it() -> None:
    added = dist("/usr/local/lib/python3.11/dist-packages", "numpy", "1.26.4")
    facts = look({**DEBIAN, **added}, DEBIAN_LINK)
    assert facts["python.package[/usr/numpy]"] == [Observed("1.26.4")]
    assert "python.interpreter[/usr/local]" not in facts


def test_a_python_built_below_usr_local_is_an_environment_of_its_own() -> None:
    own = {
        "/usr/local/bin/python3.12": "",
        "/usr/local/include/python3.12/patchlevel.h": '#define PY_VERSION   "3.12.4"\n',
        **dist("/usr/local/lib/python3.12/site-packages", "numpy", "2.0.0"),
    }
    facts = look({**DEBIAN, **own}, DEBIAN_LINK)
    assert facts["python.version[/usr/local]"] == [Observed("3.12.4")]
    assert facts["python.package[/usr/local/numpy]"] == [Observed("2.0.0")]
    assert "python.package[/usr/numpy]" not in facts


def test_a_virtual_environment_is_named_by_its_own_configuration() -> None:
    files = {
        "/opt/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.2\n",
        "/usr/bin/python3.11": "",
    }
    facts = look(files, {"/opt/venv/bin/python3": "/usr/bin/python3.11"})
    assert facts["python.version[/opt/venv]"] == [Observed("3.11.2")]
    assert facts["python.series[/opt/venv]"] == [Observed("3.11")]
    assert facts["python.site[/opt/venv]"] == [Absent()]


def test_two_copies_of_one_distribution_are_both_kept() -> None:
    site = "/opt/conda/lib/python3.10/site-packages"
    facts = look({**CONDA, **dist(site, "torch", "2.6.0"), **dist(site, "Torch", "2.6.0")})
    assert facts["python.package[/opt/conda/torch]"] == [
        Observed("2.6.0"),
        Observed("2.6.0"),
        Observed("2.8.0+metax3.5.3.9"),
    ]


def test_a_link_from_lib64_to_lib_shows_nothing_twice() -> None:
    facts = look(CONDA, {"/opt/conda/lib64": "lib"})
    assert len(facts["python.package[/opt/conda/torch]"]) == 1


def test_packages_of_another_series_are_not_those_of_the_interpreter() -> None:
    left = dist("/opt/conda/lib/python3.9/site-packages", "old", "1")
    assert "python.package[/opt/conda/old]" not in look({**CONDA, **left})


def test_packages_without_an_interpreter_are_still_there() -> None:
    facts = look(dist("/opt/mxenv/lib/python3.11/site-packages", "click", "8.1"))
    assert facts["python.interpreter[/opt/mxenv]"] == [Absent()]
    assert facts["python.series[/opt/mxenv]"] == [Observed("3.11")]
    assert facts["python.package[/opt/mxenv/click]"] == [Observed("8.1")]


def test_packages_of_two_series_without_an_interpreter_leave_the_series_open() -> None:
    facts = look(
        {
            **dist("/opt/mxenv/lib/python3.11/site-packages", "a", "1"),
            **dist("/opt/mxenv/lib/python3.12/site-packages", "b", "1"),
        }
    )
    assert isinstance(facts["python.series[/opt/mxenv]"][0], Unreadable)
    assert "python.package[/opt/mxenv/a]" in facts


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a_b-1.0.egg-info/PKG-INFO", "Name: a.b\nVersion: 1.0\n"),
        ("a_b-1.0.egg-info", "Name: a.b\nVersion: 1.0\n"),
        ("a_b-1.0.dist-info/METADATA", "Name: A__b\nVersion:  1.0 \n"),
        ("a_b-1.0.dist-info/METADATA", f"X: {'y' * 1024}\nName: a-b\nVersion: 1.0\n"),
    ],
)
def test_every_form_of_metadata_is_read(path: str, text: str) -> None:
    facts = look({**CONDA, f"/opt/conda/lib/python3.10/site-packages/{path}": text})
    assert facts["python.package[/opt/conda/a-b]"] == [Observed("1.0")]


@pytest.mark.parametrize(
    "text", ["", "Name: a\n\nVersion: 1\n", "Version: \x7f\n", "\ufffd" * 9, "Version 1.0"]
)
def test_metadata_without_a_version_is_unreadable_not_missing(text: str) -> None:
    facts = look({**CONDA, "/opt/conda/lib/python3.10/site-packages/a-1.dist-info/METADATA": text})
    assert isinstance(facts["python.package[/opt/conda/a]"][0], Unreadable)


@pytest.mark.parametrize("name", ["a", "b" * 60_000])
def test_metadata_without_end_is_no_version_and_is_not_quoted_whole(name: str) -> None:
    text = f"Name: {name}\nVersion: {'1' if name != 'a' else '1' * 60_000}\n"
    files = {"/opt/conda/lib/python3.10/site-packages/a-1.dist-info/METADATA": text}
    probe = replace(python.PROBE, read=lambda _: read(CONDA | files))
    now = datetime(2026, 1, 7, tzinfo=UTC)
    learned = snapshot([probe], Answers(), node="n", view=View.HOST, taken_at=now)
    reading = learned.reading("python.package", "/opt/conda/a")
    assert isinstance(reading, Unreadable)
    assert len(reading.reason) <= 400


def test_environments_in_use_are_found_wherever_they_are() -> None:
    files = {
        **dist("/srv/one/lib/python3.10/site-packages", "a", "1"),
        **dist("/srv/two/lib/python3.10/site-packages", "b", "2"),
        "/srv/two/bin/python3.10": "",
    }
    given: dict[Question, Given] = {
        Env("VIRTUAL_ENV"): Found("/srv/one/"),
        Env("CONDA_PREFIX"): Found("/opt/conda/envs/known"),
        python.RUNNING: Found(
            (
                ("/proc/7/exe", Found("/srv/two/bin/python3.10")),
                ("/proc/8/exe", Found("/usr/bin/bash")),
                ("/proc/9/exe", Unreadable("denied")),
            )
        ),
    }
    facts = look(files, given=given)
    assert facts["python.package[/srv/one/a]"] == [Observed("1")]
    assert facts["python.package[/srv/two/b]"] == [Observed("2")]


def test_an_environment_that_only_a_process_led_to_lasts_no_longer_than_the_process() -> None:
    files = dist("/opt/conda/lib/python3.10/site-packages", "a", "1") | dist(
        "/srv/job/lib/python3.10/site-packages", "b", "2"
    )
    running = Found((("/proc/7/exe", Found("/srv/job/bin/python3.10")),))
    facts = read(files, given={python.RUNNING: running})
    passing = {fact.label: fact.volatile for fact in facts if fact.key == "python.package"}
    assert passing == {"python.package[/opt/conda/a]": False, "python.package[/srv/job/b]": True}


@pytest.mark.parametrize("prefix", ["relative", "/a/../b", "/a/*", "/a b", "/", "", "/opt/conda"])
def test_a_variable_that_names_no_new_place_asks_for_nothing(prefix: str) -> None:
    answers = Answers({Env("VIRTUAL_ENV"): Found(prefix)})
    assert list(python.PROBE.more(answers)) == []


def test_an_environment_that_may_not_be_looked_into_is_unreadable() -> None:
    binaries = Glob("/opt/conda/envs/*/bin/python3*", Part.LINK)
    sites = Asked("/opt/conda").sites[0].metadata[0]
    site = "/opt/conda/lib/python3.10/site-packages"
    denied = Unreadable("permission denied")
    given: dict[Question, Given] = {
        binaries: Found((("/opt/conda/envs/secret/bin", denied),)),
        sites: Found(((site, denied),)),
    }
    facts = look({"/opt/conda/bin/python3.10": ""}, given=given)
    assert facts["python.version[/opt/conda/envs/secret]"] == [denied]
    assert denied in facts["python.site[/opt/conda]"]
    assert facts["python.package[/opt/conda/*]"] == [denied]


def test_where_others_could_not_be_looked_for_there_may_be_more() -> None:
    given: dict[Question, Given] = {
        Glob("/venv/bin/python3*", Part.LINK): Unreadable("permission denied"),
        Glob("/opt/venv/bin/python3*", Part.LINK): Unreadable("late", passing=True),
    }
    facts = look(CONDA, given=given)
    reason = "others may be below /opt/venv, /venv (late, permission denied)"
    assert facts["python.interpreter"] == [Unreadable(reason, passing=True)]


def test_an_interpreter_of_which_no_file_has_the_last_field_has_no_version() -> None:
    facts = look({"/usr/bin/python3.9": ""})
    assert isinstance(facts["python.version[/usr]"][0], Unreadable)
    assert facts["python.series[/usr]"] == [Observed("3.9")]


def test_headers_of_another_python_do_not_speak_for_this_one() -> None:
    files = {
        **CONDA,
        "/opt/conda/include/python3.12/patchlevel.h": '#define PY_VERSION "3.12.1"',
        "/opt/conda/include/python3.10/patchlevel.h": "rubbish",
    }
    assert look(files)["python.version[/opt/conda]"] == [Observed("3.10.12")]


def test_where_there_is_no_python_at_all_it_is_absent() -> None:
    facts = look({})
    assert facts == {key.name: [Absent()] for key in python.KEYS}
