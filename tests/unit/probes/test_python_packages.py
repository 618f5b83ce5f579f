from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode

import pytest
from _environments import Readings, look

from mxenv.facts import Absent, Observed, Unreadable
from mxenv.probes import _altered, python
from mxenv.question import Env, File, Found, Glob, Option, Part

OPT = "/opt/conda/lib/python3.10/site-packages"
USR = "/usr/lib/python3/dist-packages"
LOCAL = "/usr/local/lib/python3.11/dist-packages"
CONDA = {"/opt/conda/bin/python3.10": ""}
DEBIAN = {"/usr/bin/python3.11": ""}
UNSAID = Unreadable("no file says who installed it")


def dist(site: str, name: str, version: str = "1.0", **files: str) -> dict[str, str]:
    """Return a distribution; ``files`` are those beside its metadata, by their stems."""
    names = {"record": "RECORD", "installer": "INSTALLER", "url": "direct_url.json"}
    folder = f"{site}/{name}-{version}.dist-info"
    return {
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        **{f"{folder}/{names[stem]}": text for stem, text in files.items()},
    }


def egg(site: str, name: str, top_level: str | None = None) -> dict[str, str]:
    folder = f"{site}/{name}-1.0.egg-info"
    files = {f"{folder}/PKG-INFO": f"Name: {name}\nVersion: 1.0\n"}
    return files | ({} if top_level is None else {f"{folder}/top_level.txt": top_level})


def package(site: str, name: str) -> dict[str, str]:
    """Return a distribution with a package of its own name, as pip leaves it."""
    record = f"{name}/__init__.py,,\n{name}-1.0.dist-info/RECORD,,\n"
    return dist(site, name, record=record, installer="pip\n") | {f"{site}/{name}/__init__.py": ""}


def origin(**files: str) -> object:
    return look(CONDA | dist(OPT, "a", **files))["python.package.origin[/opt/conda/a]"]


class TestOrigin:
    """Where a distribution came from is what a file beside it says, or it is not known."""

    @pytest.mark.parametrize(
        ("installer", "said"),
        [
            ("pip\n", "index"),
            ("uv", "index"),
            ("conda\r\n", "conda"),
            ("rpm\n", "system"),
            ("mxenv\n", "mxenv"),
        ],
    )
    def test_the_installer_tells(self, installer: str, said: str) -> None:
        assert origin(installer=installer) == [Observed(said)]

    @pytest.mark.parametrize("installer", ["", "easy_install", "\ufffd\ufffd", "pip uv", "p" * 80])
    def test_an_unknown_installer_is_no_index(self, installer: str) -> None:
        [reading] = look(CONDA | dist(OPT, "a", installer=installer))[
            "python.package.origin[/opt/conda/a]"
        ]
        assert isinstance(reading, Unreadable)

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"url": "https://u:p@h/a.whl?t=x", "archive_info": {}}, "url https://h/a.whl"),
            ({"url": "file:///w/a-1.0.whl", "archive_info": {}}, "archive a-1.0.whl"),
            ({"url": "file:///w/a", "dir_info": {"editable": True}}, "editable /w/a"),
            ({"url": "file:///w/a%20b", "dir_info": {}}, "directory /w/a b"),
            ({"url": "file:///home/alice/a", "dir_info": {}}, "directory /home/user/a"),
            (
                {"url": "https://h/r.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}},
                f"vcs git+https://h/r.git @{'0' * 40}",
            ),
        ],
    )
    def test_a_direct_url_tells_more_than_the_installer(self, given: object, said: str) -> None:
        assert origin(url=json.dumps(given), installer="pip\n") == [Observed(said)]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "null",
            '{"url": "https://h/a.whl"}',
            '{"url": "https://h/a", "dir_info": {}}',
            '{"url": "https://h/a", "vcs_info": {"vcs": "git", "commit_id": "main"}}',
            '{"url": "git@h:a", "archive_info": {}}',
        ],
    )
    def test_a_direct_url_that_is_none_is_not_passed_over(self, text: str) -> None:
        assert origin(url=text, installer="pip\n") == [
            Unreadable("its direct_url.json is not understood")
        ]

    def test_what_cannot_be_read_is_not_guessed_from_the_rest(self) -> None:
        denied = Unreadable("denied")
        folder = f"{OPT}/a-1.0.dist-info"
        glob = Glob(
            f"{OPT.replace('3.10', '3*')}/*.dist-info/direct_url.json", Part.ORIGIN, 1 << 16
        )
        given = {glob: Found(((f"{folder}/direct_url.json", denied),))}
        facts = look(CONDA | dist(OPT, "a", installer="pip\n"), given=given)
        assert facts["python.package.origin[/opt/conda/a]"] == [denied]

    def test_conda_knows_the_files_that_it_brought(self) -> None:
        meta = {"files": [f"{OPT.removeprefix('/opt/conda/')}/a-1.0.egg-info/PKG-INFO"]}
        files = CONDA | egg(OPT, "a") | egg(OPT, "b")
        files["/opt/conda/conda-meta/a-1.0-py310_0.json"] = json.dumps(meta)
        files["/opt/conda/conda-meta/b-1.0-py310_0.json"] = json.dumps(meta)
        facts = look(files)
        assert facts["python.package.origin[/opt/conda/a]"] == [Observed("conda")]
        assert facts["python.package.origin[/opt/conda/b]"] == [UNSAID]

    def test_a_package_of_debian_is_named_after_what_it_installs(self) -> None:
        files = DEBIAN | egg(USR, "PyYAML", "yaml\n") | egg(USR, "other") | dist(USR, "c")
        files["/var/lib/dpkg/info/python3-yaml.list"] = f"/.\n{USR}/PyYAML-1.0.egg-info/PKG-INFO\n"
        files["/var/lib/dpkg/info/python3-other.list"] = "/.\n/usr/share/doc/other\n"
        facts = look(files)
        assert facts["python.package.origin[/usr/pyyaml]"] == [Observed("system")]
        assert facts["python.package.origin[/usr/other]"] == [UNSAID]
        assert facts["python.package.origin[/usr/c]"] == [UNSAID]


class TestPlaces:
    """Environments are found where people keep them, and two are never taken for one."""

    @pytest.mark.parametrize(
        "prefix",
        [
            "/opt/one",
            "/opt/tools/one",
            "/srv/app/.venv",
            "/home/alice/.venv",
            "/home/alice/work/venv",
            "/home/alice/miniconda3/envs/one",
            "/root/.virtualenvs/one",
            "/root/.pyenv/versions/3.10.13",
        ],
    )
    def test_what_has_a_python_is_an_environment(self, prefix: str) -> None:
        site = f"{prefix}/lib/python3.10/site-packages"
        links = {f"{prefix}/bin/python3": "/usr/bin/python3.10"}
        facts = look(package(site, "a"), links | {f"{prefix}/bin/python3.10": "python3"})
        assert facts[f"python.package[{prefix}/a]"] == [Observed("1.0")]
        assert not facts.volatile(f"python.package[{prefix}/a]")

    def test_what_two_people_have_is_not_taken_for_one_thing(self) -> None:
        homes = {f"/home/{who}/.venv": who for who in ("alice", "bob")}
        files = {f"{prefix}/bin/python3": "" for prefix in homes}
        for prefix, who in homes.items():
            files |= package(f"{prefix}/lib/python3.10/site-packages", who)
        facts = look(CONDA | files)
        assert not [label for label in facts if label.startswith("python.package[/home")]
        assert facts["python.interpreter[/home/alice/.venv]"] == [python.ALIKE]

    def test_a_process_names_the_environment_that_it_runs_in(self) -> None:
        files = package("/data/job/lib/python3.10/site-packages", "a")
        command = "/data/job/bin/python3\0-m\0serve\0--api-key\0hunter2\0"
        facts = look(files | {"/proc/7/cmdline": command})
        assert facts["python.package[/data/job/a]"] == [Observed("1.0")]
        assert facts.volatile("python.package[/data/job/a]")

    @pytest.mark.parametrize(
        "named",
        ["/data/one", "/data/one/", "/data/one/bin/python3.10", "\n /data/one/bin/python\n"],
    )
    def test_a_path_that_is_named_means_its_prefix(self, named: str) -> None:
        files = package("/data/one/lib/python3.10/site-packages", "a")
        facts = look(files, given={Option("python"): Found(named)})
        assert facts["python.package[/data/one/a]"] == [Observed("1.0")]
        assert not facts.volatile("python.package[/data/one/a]")

    @pytest.mark.parametrize("named", ["one", "/a b", "/a/../b", "/*", "~/one"])
    def test_a_path_that_can_be_no_prefix_is_said_to_be_none(self, named: str) -> None:
        facts = look(CONDA, given={Option("python"): Found(named)})
        [reading] = facts[f"python.interpreter[{named}]"]
        assert isinstance(reading, Unreadable)

    def test_a_lib64_of_its_own_is_looked_into_and_a_link_is_not(self) -> None:
        other = "/opt/conda/lib64/python3.10/site-packages"
        facts = look(CONDA | package(OPT, "a") | package(other, "b"))
        assert facts["python.site[/opt/conda]"] == [Observed((OPT, other))]
        linked = look(CONDA | package(OPT, "a"), {"/opt/conda/lib64": "lib"})
        assert linked["python.site[/opt/conda]"] == [Observed((OPT,))]


class TestWhatIsInTheWay:
    """Copies, and names that are imported from elsewhere; what is not known is not denied."""

    def test_two_copies_in_one_directory_are_copies(self) -> None:
        facts = look(CONDA | dist(OPT, "a", "1.0") | dist(OPT, "a", "2.0"))
        assert facts["python.package.copies[/opt/conda/a]"] == [
            Observed((f"{OPT}/a-1.0.dist-info", f"{OPT}/a-2.0.dist-info"))
        ]

    def test_what_pip_added_to_debian_hides_what_debian_has(self) -> None:
        facts = look(DEBIAN | package(LOCAL, "yaml") | egg(USR, "yaml", "yaml\n_yaml\n"))
        assert facts["python.package.copies[/usr/yaml]"] == [
            Observed((f"{LOCAL}/yaml-1.0.dist-info", f"{USR}/yaml-1.0.egg-info"))
        ]
        assert facts["python.package.shadowed[/usr/yaml]"] == [
            Observed((f"yaml from {LOCAL}/yaml",))
        ]

    def test_a_stray_folder_hides_only_as_a_package(self) -> None:
        files = DEBIAN | egg(USR, "torch", "torch\n") | {f"{LOCAL}/torch/readme": ""}
        assert look(files)["python.package.shadowed[/usr]"] == [Absent()]
        facts = look(files | {f"{LOCAL}/torch/__init__.py": ""})
        assert facts["python.package.shadowed[/usr/torch]"] == [
            Observed((f"torch from {LOCAL}/torch",))
        ]

    def test_a_package_that_is_gone_from_its_place_is_imported_from_the_next(self) -> None:
        there = package(LOCAL, "a")
        del there[f"{LOCAL}/a/__init__.py"]
        facts = look(DEBIAN | there | {f"{USR}/a.py": ""})
        assert facts["python.package.shadowed[/usr/a]"] == [Observed((f"a from {USR}/a.py",))]

    @pytest.mark.parametrize("name", ["a.py", "a.cpython-310-x86_64-linux-gnu.so", "a.abi3.so"])
    def test_a_variable_comes_before_all_and_lasts_no_longer_than_who_asks(self, name: str) -> None:
        facts = look(
            CONDA | package(OPT, "a") | {f"/work/{name}": ""},
            given={Env("PYTHONPATH"): Found("/work:relative:")},
        )
        assert facts["python.package.shadowed[/opt/conda/a]"] == [
            Observed((f"a from /work/{name}",))
        ]
        assert facts.volatile("python.package.shadowed[/opt/conda/a]")
        assert facts["python.package.shadowed[/opt/conda]"] == [Absent()]

    def test_a_user_s_own_packages_come_before_those_of_the_machine(self) -> None:
        own = package("/data/me/.local/lib/python3.10/site-packages", "a")
        files = CONDA | package(OPT, "a") | own
        given = {Env("HOME"): Found("/data/me")}
        facts = look(files, given=given)
        assert facts["python.package.shadowed[/opt/conda/a]"] == [
            Observed(("a from /data/me/.local/lib/python3.10/site-packages/a",))
        ]
        assert facts["python.package[/data/me/.local/a]"] == [Observed("1.0")]
        quiet = look(files, given={**given, Env("PYTHONNOUSERSITE"): Found("1")})
        assert "python.package.shadowed[/opt/conda/a]" not in quiet

    def test_a_virtual_environment_sees_its_base_only_if_it_says_so(self) -> None:
        site = "/opt/venv/lib/python3.10/site-packages"
        files = CONDA | package(OPT, "a") | package(site, "a") | {"/opt/venv/bin/python3.10": ""}
        alone = files | {"/opt/venv/pyvenv.cfg": "include-system-site-packages = false\n"}
        assert look(alone)["python.package.copies[/opt/venv]"] == [Absent()]
        both = files | {"/opt/venv/pyvenv.cfg": "home = /opt/conda/bin\n"}
        facts = look(both)
        assert facts["python.package.copies[/opt/venv/a]"] == [
            Observed((f"{site}/a-1.0.dist-info", f"{OPT}/a-1.0.dist-info"))
        ]
        assert facts["python.package.shadowed[/opt/venv/a]"] == [Observed((f"a from {site}/a",))]
        lost = files | {"/opt/venv/pyvenv.cfg": "home = /gone/bin\n"}
        assert isinstance(look(lost)["python.package.shadowed[/opt/venv]"][0], Unreadable)

    def test_a_path_file_adds_a_directory_with_what_is_developed_there(self) -> None:
        files = CONDA | package(OPT, "b") | {f"{OPT}/easy-install.pth": "# one\n\n../../../src\n"}
        files |= {"/opt/conda/src/a.egg-info/PKG-INFO": "Name: a\nVersion: 1.0.dev1\n"}
        facts = look(files)
        assert facts["python.package[/opt/conda/a]"] == [Observed("1.0.dev1")]
        assert facts["python.package.origin[/opt/conda/a]"] == [Observed("editable /opt/conda/src")]
        assert facts["python.package.shadowed[/opt/conda]"] == [Absent()]

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("odd.pth", "import odd; odd.install()\n"),
            ("odd.pth", "/opt/a b\n"),
            ("odd.pth", "./a.egg\n"),
        ],
    )
    def test_a_path_file_that_does_more_leaves_it_open(self, name: str, text: str) -> None:
        [reading] = look(CONDA | package(OPT, "b") | {f"{OPT}/{name}": text})[
            "python.package.shadowed[/opt/conda]"
        ]
        assert isinstance(reading, Unreadable)

    def test_the_code_that_common_tools_bring_hides_nothing(self) -> None:
        code = "import os; var = 'SETUPTOOLS_USE_DISTUTILS'\n"
        files = CONDA | package(OPT, "b") | {f"{OPT}/distutils-precedence.pth": code}
        assert look(files)["python.package.shadowed[/opt/conda]"] == [Absent()]

    def test_the_places_of_distributions_made_of_rpms_come_in_their_order(self) -> None:
        first = "/usr/local/lib/python3.9/site-packages"
        second = "/usr/lib64/python3.9/site-packages"
        files = {"/usr/bin/python3.9": ""} | package(first, "a") | package(second, "a")
        assert look(files)["python.package.copies[/usr/a]"] == [
            Observed((f"{first}/a-1.0.dist-info", f"{second}/a-1.0.dist-info"))
        ]


def digest(text: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def deep(record: str | None, files: dict[str, str]) -> Readings:
    own = dist(OPT, "a") if record is None else dist(OPT, "a", record=record)
    return look(CONDA | own | files, given={Option("deep"): Found("yes")})


class TestAltered:
    """A file counts as altered only if its digest is known, and another."""

    KEY = "python.package.altered[/opt/conda/a]"

    def test_a_file_is_held_against_its_digest(self) -> None:
        record = f'a.py,sha256={digest("one")},3\n"b,c.py",sha256={digest("two")},3\nd.pyc,,\n'
        same = {f"{OPT}/a.py": "one", f"{OPT}/b,c.py": "two"}
        assert deep(record, same)[self.KEY] == [Absent()]
        assert deep(record, {**same, f"{OPT}/a.py": "ONE"})[self.KEY] == [Observed(("a.py",))]
        assert deep(record, {f"{OPT}/a.py": "one"})[self.KEY] == [Observed(("b,c.py",))]

    @pytest.mark.parametrize(
        "record",
        [
            None,
            "",
            "a.py,,\n",
            "a.py\n",
            "a.py,md5=abc,3\n",
            "a.py,sha256=***,3\n",
            "a.py,sha256=YWJj,3\n",
            "a.py,sha256=\u00e9,3\n",
        ],
    )
    def test_without_digests_it_is_not_known(self, record: str | None) -> None:
        [reading] = deep(record, {f"{OPT}/a.py": "one"})[self.KEY]
        assert isinstance(reading, Unreadable)

    def test_what_conda_rewrote_is_not_called_altered(self) -> None:
        record = f"a.py,sha256={digest('one')},3\n"
        files = CONDA | dist(OPT, "a", record=record, installer="conda\n") | {f"{OPT}/a.py": "x"}
        [reading] = look(files, given={Option("deep"): Found("yes")})[self.KEY]
        assert isinstance(reading, Unreadable)

    @pytest.mark.parametrize("installer", ["debian\n", "rpm\n"])
    def test_what_a_package_of_the_system_strips_is_not_called_altered(
        self, installer: str
    ) -> None:
        record = f"a.py,sha256={digest('one')},3\n"
        files = CONDA | dist(OPT, "a", record=record, installer=installer) | {f"{OPT}/a.py": "x"}
        [reading] = look(files, given={Option("deep"): Found("yes")})[self.KEY]
        assert isinstance(reading, Unreadable)

    def test_of_more_files_than_are_looked_at_those_that_were_named_come_first(self) -> None:
        record = "".join(f"f{n}.py,sha256={digest('one')},3\n" for n in range(_altered.MOST))
        named = "/opt/zzz/lib/python3.10/site-packages"
        files = CONDA | dist(OPT, "a", record=record) | {"/opt/zzz/bin/python3.10": ""}
        files |= dist(named, "b", record=f"b.py,sha256={digest('one')},3\n")
        given = {Option("deep"): Found("yes"), Option("python"): Found("/opt/zzz")}
        facts = look(files | {f"{named}/b.py": "two"}, given=given)
        assert facts["python.package.altered[/opt/zzz/b]"] == [Observed(("b.py",))]
        assert isinstance(facts[self.KEY][0], Unreadable)

    def test_a_file_that_cannot_be_read_is_neither(self) -> None:
        record = f"a.py,sha256={digest('one')},3\nb.py,sha256={digest('two')},3\n"
        given = {
            Option("deep"): Found("yes"),
            File(f"{OPT}/a.py", Part.DIGEST): Unreadable("late", passing=True),
        }
        facts = look(CONDA | dist(OPT, "a", record=record) | {f"{OPT}/b.py": "x"}, given=given)
        assert facts[self.KEY] == [
            Observed(("b.py",)),
            Unreadable("not every file of it could be read: late", passing=True),
        ]

    def test_two_that_were_looked_at_in_part_say_the_same(self) -> None:
        files, given = {}, {Option("deep"): Found("yes")}
        for name, count in (("a", 2), ("b", 5)):
            paths = [f"{name}{number}.py" for number in range(count)]
            files |= dist(OPT, name, record="".join(f"{p},sha256={digest('x')},1\n" for p in paths))
            given |= {File(f"{OPT}/{p}", Part.DIGEST): Unreadable("late") for p in paths}
        facts = look(CONDA | files, given=given)
        assert facts[self.KEY] == facts[self.KEY.replace("/a]", "/b]")]

    def test_no_more_files_are_named_than_anyone_reads(self) -> None:
        record = "".join(f"f{n:03}.py,sha256={digest('one')},3\n" for n in range(80))
        [reading] = deep(record, {})[self.KEY]
        assert isinstance(reading, Observed)
        assert isinstance(reading.value, tuple)
        assert len(reading.value) == _altered.SHOWN + 1
        assert reading.value[-1] == "… and 30 more"
