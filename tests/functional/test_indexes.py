"""Where wheels come from, as a user says it: indexes and folders with an order, logins, faults."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import _authority
import _index
import pytest
from packaging.utils import parse_wheel_filename

from mxenv.api.project import read_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from _index import Index

MXENV = Path(sys.executable).with_name("mxenv")
IMAGE = """\
schema = "mxenv.image/1"
name = "small"
base = "scratch"
accelerator = "none"
platform = "linux/amd64"
[python]
version = "3.11"
requires = ["mx-lib"]
"""
LOCK = Path("lockfiles/pylock.small.toml")
HTML, JSON = "text/html", "application/vnd.pypi.simple.v1+json"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "images" / "small" / "image.toml"
    path.parent.mkdir(parents=True)
    path.write_text(IMAGE)
    return tmp_path


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Index]:
    _index.wheel(tmp_path / "first", "mx-lib", "1.0")
    with _index.serve(tmp_path / "first") as running:
        yield running


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Index]:
    """An index of somebody else, who publishes under the same name."""
    _index.wheel(tmp_path / "second", "mx-lib", "9.0")
    _index.wheel(tmp_path / "second", "mx-new", "1.0")
    with _index.serve(tmp_path / "second") as running:
        yield running


@pytest.fixture
def closed(first: Index) -> Index:
    """An index that wants to know who asks."""
    first.login = "Basic " + base64.b64encode(b"me:hidden%word").decode()
    return first


def mxenv(
    project: Path, *arguments: str, default: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run mxenv in ``project``, on a machine whose default index is ``default``."""
    unset = {"PIP_FIND_LINKS", "UV_FIND_LINKS", "UV_INDEX", "UV_EXTRA_INDEX_URL"}
    environ = {name: value for name, value in os.environ.items() if name not in unset}
    environ |= {
        "UV_DEFAULT_INDEX": default or "http://127.0.0.1:1/simple",
        "UV_CACHE_DIR": str(project / "cache"),
        "UV_HTTP_RETRIES": "0",
        **variables,
    }
    return subprocess.run(
        [MXENV, *arguments],
        cwd=project,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def lock(
    project: Path, *arguments: str, default: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    return mxenv(
        project, "lock", "images/small/image.toml", *arguments, default=default, **variables
    )


def versions(project: Path) -> dict[str, str]:
    return {p.name: p.version for p in read_lock(project / LOCK).packages}


def describe(project: Path, before: str, after: str) -> None:
    path = project / "images" / "small" / "image.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def host(index: Index) -> str:
    return index.url.split("/")[2]


class TestAPackageThatIsFoundTwice:
    def test_is_taken_from_the_first_index_and_that_is_said(
        self, project: Path, first: Index, second: Index
    ) -> None:
        done = lock(project, "--index", first.url, default=second.url)
        assert done.returncode == 0, done.stderr
        assert versions(project) == {"mx-lib": "1.0"}
        assert (
            f"note: mx-lib is found in {host(first)} and in {host(second)}: taken from "
            f"{host(first)}, which comes first" in done.stderr
        )

    def test_is_taken_from_the_other_one_if_that_comes_first(
        self, project: Path, first: Index, second: Index
    ) -> None:
        done = lock(project, "--index", second.url, "--index", first.url, default=first.url)
        assert done.returncode == 0, done.stderr
        assert versions(project) == {"mx-lib": "9.0"}
        assert f"taken from {host(second)}" in done.stderr

    def test_is_not_taken_from_the_second_even_if_only_that_has_the_version(
        self, project: Path, first: Index, second: Index
    ) -> None:
        describe(project, "mx-lib", "mx-lib>=2")
        done = lock(
            project,
            *("--index", first.url),
            default=second.url,
            UV_INDEX_STRATEGY="unsafe-best-match",
        )
        assert done.returncode == 1
        assert not (project / LOCK).exists()
        assert "Only the first place that has a package is asked" in done.stderr
        assert "unsafe" not in done.stderr

    def test_comes_from_a_folder_before_any_index(self, project: Path, second: Index) -> None:
        _index.wheel(project / "house", "mx-lib", "1.0")
        done = lock(project, "--find-links", "house", default=second.url)
        assert done.returncode == 0, done.stderr
        assert versions(project) == {"mx-lib": "1.0"}
        assert f"mx-lib is found in {project / 'house'} and in {host(second)}" in done.stderr

    def test_comes_from_a_page_of_links_before_any_index(
        self, project: Path, closed: Index, second: Index
    ) -> None:
        """With the login of the page, and with that of nobody else."""
        page = closed.url.replace("://", "://me:hidden%25word@") + "/mx-lib/"
        for command in (("lock", "images/small/image.toml"), ("fetch", str(LOCK))):
            done = mxenv(project, *command, "--find-links", page, default=second.url)
            assert done.returncode == 0, done.stderr
            assert "hidden" not in done.stdout + done.stderr
        assert versions(project) == {"mx-lib": "1.0"}
        assert not any(login for _, _, login in second.asked)

    @pytest.mark.parametrize("how", ["--offline", "with an index"])
    def test_comes_from_the_first_folder(self, project: Path, second: Index, how: str) -> None:
        one = _index.wheel(project / "one", "mx-lib", "1.0")
        other = _index.wheel(project / "other", "mx-lib", "1.0", filler=9)
        more = ("--offline",) if how == "--offline" else ()
        for folders, expected in ((("one", "other"), one), (("other", "one"), other)):
            done = lock(
                project,
                *more,
                *(word for folder in folders for word in ("--find-links", folder)),
                default=second.url,
            )
            assert done.returncode == 0, done.stderr
            (package,) = read_lock(project / LOCK).packages
            assert package.wheel.sha256 == _index.sha256(expected)
            assert f"taken from {expected.parent}" in done.stderr
            (project / LOCK).unlink()

    def test_in_two_indexes_of_one_host_names_them_apart(self, project: Path, first: Index) -> None:
        """As where one server has a repository for each team."""
        ours = first.url.replace("/simple", "/simple/../simple")
        done = lock(project, "--index", ours, default=first.url)
        assert done.returncode == 0, done.stderr
        apart = f"found in {host(first)}/simple/../simple and in {host(first)}/simple: taken from"
        assert apart in done.stderr

    def test_that_only_one_place_has_is_no_news(
        self, project: Path, first: Index, second: Index
    ) -> None:
        describe(project, '"mx-lib"', '"mx-new"')
        done = lock(project, "--index", first.url, default=second.url)
        assert (done.returncode, done.stderr) == (0, "")

    def test_is_not_hidden_by_an_index_that_does_not_answer(
        self, project: Path, first: Index
    ) -> None:
        done = lock(project, "--index", first.url)
        assert done.returncode == 0
        assert "whether 127.0.0.1:1 has any of this as well is not known: " in done.stderr


class TestAnIndexWithALogin:
    def url(self, index: Index) -> str:
        return index.url.replace("://", "://me:hidden%25word@")

    def test_is_asked_with_it_and_nobody_reads_it(self, project: Path, closed: Index) -> None:
        for command in (
            ("lock", "images/small/image.toml"),
            ("fetch", str(LOCK)),
            ("lock", "images/small/image.toml", "--with-urls", "--upgrade"),
        ):
            done = mxenv(project, *command, "--index", self.url(closed))
            assert done.returncode == 0, done.stderr
            assert "hidden" not in done.stdout + done.stderr + (project / LOCK).read_text()

    def test_may_get_it_from_the_environment_by_its_name(
        self, project: Path, closed: Index
    ) -> None:
        login = {"UV_INDEX_CORP_USERNAME": "me", "UV_INDEX_CORP_PASSWORD": "hidden%word"}
        for command in (("lock", "images/small/image.toml"), ("fetch", str(LOCK))):
            done = mxenv(project, *command, "--index", f"corp={closed.url}", **login)
            assert done.returncode == 0, done.stderr

    def test_may_be_one_of_two_on_a_host_each_with_its_own(
        self, project: Path, closed: Index
    ) -> None:
        """When fetching: the resolver itself knows one login of each host."""
        assert lock(project, "--index", self.url(closed)).returncode == 0
        other = self.url(closed).replace("me:hidden%25word", "other:word")
        for first, second in ((self.url(closed), other), (other, self.url(closed))):
            done = mxenv(project, "fetch", str(LOCK), "--index", first, default=second)
            assert done.returncode == 0, done.stderr
            assert "hidden" not in done.stdout + done.stderr
            (project / "lockfiles/wheelhouse/mx_lib-1.0-py3-none-any.whl").unlink()

    def test_that_is_wrong_says_so_without_repeating_it(self, project: Path, closed: Index) -> None:
        wrong = closed.url.replace("://", "://me:secretive@")
        done = lock(project, default=wrong)
        assert done.returncode == 6
        assert "401 Unauthorized" in done.stderr
        assert host(closed) in done.stderr
        assert "secretive" not in done.stdout + done.stderr

    def test_that_is_wrong_when_fetching_says_so_as_well(
        self, project: Path, closed: Index
    ) -> None:
        assert lock(project, "--index", self.url(closed)).returncode == 0
        wrong = closed.url.replace("://", "://me:secretive@")
        done = mxenv(project, "fetch", str(LOCK), default=wrong)
        assert done.returncode == 6
        assert f"{host(closed)}: HTTP 401" in done.stderr
        assert "give its login in the URL" in done.stderr
        assert "secretive" not in done.stdout + done.stderr


class TestAnIndexWithAnAuthorityOfItsOwn:
    """As behind the proxy of a site: who locks and who fetches trust the same."""

    @pytest.fixture
    def authority(self, tmp_path: Path) -> Path:
        folder = tmp_path / "authority"
        folder.mkdir()
        _authority.signed(folder, "index.example.com")
        # What `openssl x509 -subject_hash` prints: so it is looked for in SSL_CERT_DIR.
        (folder / "7c005cd1.0").symlink_to("ca.crt")
        return folder

    @pytest.fixture
    def guarded(self, authority: Path, tmp_path: Path) -> Iterator[Index]:
        _index.wheel(tmp_path / "guarded", "mx-lib", "1.0")
        with _index.serve(tmp_path / "guarded", authority=authority) as running:
            yield running

    def trusting(self, **variables: str) -> dict[str, str]:
        """Return what makes a process trust nobody but those whom ``variables`` name."""
        names = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")
        return dict.fromkeys(names, "") | variables

    @pytest.mark.parametrize(
        ("variable", "name"), [("SSL_CERT_FILE", "ca.crt"), ("SSL_CERT_DIR", "")]
    )
    def test_is_trusted_if_a_variable_names_it(
        self, project: Path, guarded: Index, authority: Path, variable: str, name: str
    ) -> None:
        trust = self.trusting(**{variable: str(authority / name)})
        for command in (("lock", "images/small/image.toml"), ("fetch", str(LOCK))):
            done = mxenv(project, *command, default=guarded.url, **trust)
            assert (done.returncode, done.stderr) == (0, "")

    def test_is_not_spoken_to_if_none_does_and_it_is_said_what_would(
        self, project: Path, guarded: Index, authority: Path
    ) -> None:
        known = self.trusting(SSL_CERT_FILE=str(authority / "ca.crt"))
        assert lock(project, "--with-urls", default=guarded.url, **known).returncode == 0
        for command in (("lock", "images/small/image.toml", "--upgrade"), ("fetch", str(LOCK))):
            done = mxenv(project, *command, default=guarded.url, **self.trusting())
            assert done.returncode == 6
            assert "certificate" in done.stderr.splitlines()[0]
            assert "SSL_CERT_FILE" in done.stderr.splitlines()[1]


@pytest.mark.parametrize("text", ['offline = "maybe"', "[[["])
def test_a_configuration_of_uv_that_cannot_be_read_is_named(
    project: Path, first: Index, text: str
) -> None:
    assert lock(project, default=first.url).returncode == 0
    (project / "uv.toml").write_text(text)
    for command in (("lock", "images/small/image.toml"), ("fetch", str(LOCK))):
        done = mxenv(project, *command)
        assert done.returncode == 5
        assert done.stderr.startswith("error: uv.toml: ")
        assert "uv is configured there" in done.stderr


def test_a_memory_that_uv_cannot_have_is_to_be_named_elsewhere(project: Path) -> None:
    done = lock(project, UV_CACHE_DIR="/dev/null/cache")
    assert done.returncode == 6
    assert done.stderr.splitlines()[1] == " hint: name another in UV_CACHE_DIR"


class TestWithoutASearchPath:
    def test_no_other_python_is_looked_for(self, project: Path, first: Index) -> None:
        nowhere = {"PATH": "", "VIRTUAL_ENV": "", "UV_PYTHON_INSTALL_DIR": str(project / "none")}
        for command in (("lock", "images/small/image.toml"), ("fetch", str(LOCK))):
            done = mxenv(project, *command, default=first.url, **nowhere)
            assert (done.returncode, done.stderr) == (0, "")


class TestWithoutANetwork:
    def test_a_wheelhouse_alone_is_enough(self, project: Path, first: Index) -> None:
        _index.wheel(project / "house", "mx-lib", "3.0")
        where = ("--offline", "--find-links", "house")
        assert lock(project, *where, default=first.url).returncode == 0
        done = mxenv(project, "fetch", str(LOCK), *where, default=first.url)
        assert done.returncode == 0, done.stderr
        assert versions(project) == {"mx-lib": "3.0"}
        assert first.asked == []

    @pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
    def test_what_has_a_wheels_name_and_is_no_file_is_passed_over(
        self, project: Path, make: Callable[[Path], None]
    ) -> None:
        """Whoever opens a pipe waits for somebody to write to it."""
        wheel = _index.wheel(project / "house", "mx-lib", "1.0")
        (project / "odd").mkdir()
        make(project / "odd" / wheel.name)
        where = ("--offline", "--find-links", "odd", "--find-links", "house")
        for command in (("lock", "images/small/image.toml"), ("fetch", str(LOCK))):
            done = mxenv(project, *command, *where)
            assert (done.returncode, done.stderr) == (0, "")

    def test_what_was_read_of_an_index_before_counts_for_nothing(
        self, project: Path, first: Index
    ) -> None:
        """Or the same command would take other wheels on the next machine."""
        (project / "house").mkdir()
        assert lock(project, default=first.url).returncode == 0
        for places in ((), ("--find-links", "house"), ("--find-links", f"{first.url}/mx-lib/")):
            done = lock(project, "--offline", *places, default=first.url)
            assert done.returncode == 6
            assert "mx-lib" in done.stderr

    def test_who_may_look_nowhere_is_told_so(self, project: Path, first: Index) -> None:
        assert lock(project, default=first.url).returncode == 0
        done = mxenv(project, "fetch", str(LOCK), "--offline", default=first.url)
        assert done.returncode == 6
        assert "there is no place to look for mx_lib-1.0-py3-none-any.whl\n" in done.stderr

    def test_what_it_lacks_is_named(self, project: Path) -> None:
        (project / "house").mkdir()
        done = lock(project, "--offline", "--find-links", "house")
        assert done.returncode == 6
        assert "mx-lib" in done.stderr
        assert "--find-links" in done.stderr


class TestUpgradingOne:
    @pytest.fixture
    def house(self, project: Path) -> Path:
        folder = project / "house"
        for name in ("mx-lib", "mx-other"):
            _index.wheel(folder, name, "1.0")
        describe(project, '"mx-lib"', '"mx-lib", "mx-other"')
        assert lock(project, "--offline", "--find-links", "house").returncode == 0
        _index.wheel(folder, "mx-other", "2.0")
        return folder

    def upgrade(self, project: Path, *names: str) -> subprocess.CompletedProcess[str]:
        words = (word for name in names for word in ("--upgrade-package", name))
        return lock(project, "--offline", "--find-links", "house", *words)

    def test_leaves_all_others_as_they_are(self, project: Path, house: Path) -> None:
        _index.wheel(house, "mx-lib", "2.0")
        assert self.upgrade(project, "Mx_Lib").returncode == 0
        assert versions(project) == {"mx-lib": "2.0", "mx-other": "1.0"}

    def test_may_be_done_for_several(self, project: Path, house: Path) -> None:
        _index.wheel(house, "mx-lib", "2.0")
        assert self.upgrade(project, "mx-lib", "mx-other").returncode == 0
        assert versions(project) == {"mx-lib": "2.0", "mx-other": "2.0"}

    def test_says_what_else_had_to_move(self, project: Path, house: Path) -> None:
        _index.wheel(house, "mx-lib", "2.0", requires=["mx-other>=2"])
        done = self.upgrade(project, "mx-lib")
        assert versions(project) == {"mx-lib": "2.0", "mx-other": "2.0"}
        assert "note: mx-other 1.0 became 2.0: what is upgraded needs it" in done.stderr

    @pytest.mark.usefixtures("house")
    def test_of_what_nothing_needs_is_refused(self, project: Path) -> None:
        before = (project / LOCK).read_bytes()
        done = self.upgrade(project, "mx-libb")
        assert done.returncode == 2
        assert "--upgrade-package: nothing in images/small/image.toml needs mx-libb" in done.stderr
        assert (project / LOCK).read_bytes() == before

    def test_asks_an_index_anew(self, project: Path, first: Index) -> None:
        """Whatever uv remembers of it."""
        assert lock(project, default=first.url).returncode == 0
        _index.wheel(project / "first", "mx-lib", "2.0")
        assert lock(project, "--upgrade-package", "mx-lib", default=first.url).returncode == 0
        assert versions(project) == {"mx-lib": "2.0"}


@pytest.mark.usefixtures("package_index")
@pytest.mark.parametrize(
    ("platform", "machine"), [("linux/amd64", "x86_64"), ("linux/arm64", "aarch64")]
)
@pytest.mark.parametrize("python", ["3.10", "3.12"])
def test_real_wheels_are_those_of_the_images_python_and_platform(
    project: Path, python: str, platform: str, machine: str
) -> None:
    """Which this machine has not: markupsafe is compiled, tomli needed below 3.11 only."""
    describe(project, "3.11", python)
    describe(project, "linux/amd64", platform)
    describe(project, '"mx-lib"', '"markupsafe", "tomli ; python_version < \'3.11\'"')
    default = os.environ.get("UV_DEFAULT_INDEX", "")
    environ = {k: v for k, v in os.environ.items() if k != "UV_DEFAULT_INDEX"}
    environ |= {"UV_DEFAULT_INDEX": default} if default else {}
    for command in (("lock", "images/small/image.toml"), ("fetch", str(LOCK))):
        done = subprocess.run(
            [MXENV, *command], cwd=project, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    packages = {p.name: p for p in read_lock(project / LOCK).packages}
    assert set(packages) == ({"markupsafe", "tomli"} if python == "3.10" else {"markupsafe"})
    name = packages["markupsafe"].wheel.name
    *_, tags = parse_wheel_filename(name)
    assert {tag.interpreter for tag in tags} == {f"cp{python.replace('.', '')}"}
    assert all(tag.platform.endswith(f"_{machine}") for tag in tags)
    with zipfile.ZipFile(project / "lockfiles/wheelhouse" / name) as wheel:
        (speedups,) = (n for n in wheel.namelist() if n.endswith(".so"))
        header = wheel.read(speedups)[:20]
    assert header[18] == {"x86_64": 62, "aarch64": 183}[machine]


class TestBadInput:
    """One error: what, where, what to do; and no lock."""

    def refused(self, done: subprocess.CompletedProcess[str], status: int, *said: str) -> None:
        assert done.returncode == status, done.stderr
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1
        assert "Traceback" not in done.stderr
        for words in (*said, " hint: "):
            assert words in done.stderr

    def test_nothing_asked_for_is_an_empty_lock(self, project: Path, first: Index) -> None:
        describe(project, '"mx-lib"', "")
        done = lock(project, default=first.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert versions(project) == {}

    def test_an_unknown_package(self, project: Path, first: Index) -> None:
        describe(project, "mx-lib", "mx-nowhere")
        self.refused(
            lock(project, default=first.url),
            6,
            "images/small/image.toml: python.requires: ",
            "mx-nowhere was not found",
            "--find-links",
        )

    def test_a_requirement_that_is_none(self, project: Path) -> None:
        describe(project, "mx-lib", "mx-lib >>= 2")
        done = lock(project)
        assert done.returncode == 5
        assert "image.toml: python.requires[0]: 'mx-lib >>= 2'" in done.stderr

    @pytest.mark.parametrize(
        ("page", "said"),
        [
            ((200, HTML, "<<<>> & no links"), "there are no versions of mx-lib"),
            ((200, JSON, '{"x":'), "what answers is no package index"),
            ((200, "application/octet-stream", "x"), "what answers is no package index"),
            ((404, HTML, ""), "mx-lib was not found"),
            ((403, HTML, ""), "403 Forbidden"),
            ((500, HTML, ""), "500 Internal Server Error"),
            ((429, HTML, ""), "429 Too Many Requests"),
        ],
    )
    def test_an_index_that_is_none(
        self, project: Path, first: Index, page: tuple[int, str, str], said: str
    ) -> None:
        first.page = page
        self.refused(lock(project, default=first.url), 6, "python.requires: ", said)

    def test_a_narrow_terminal_breaks_no_words(self, project: Path, first: Index) -> None:
        first.page = (403, HTML, "")
        done = lock(project, default=first.url, COLUMNS="40")
        self.refused(done, 6, "403 Forbidden")

    def test_an_index_that_is_down(self, project: Path) -> None:
        self.refused(lock(project), 6, "127.0.0.1:1: ", "Connection refused", "--index")

    @pytest.mark.parametrize("content", [b"garbage", None])
    def test_a_wheel_that_is_none(self, project: Path, first: Index, content: bytes | None) -> None:
        wheel = project / "first" / "mx_lib-1.0-py3-none-any.whl"
        if content is None:
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr("mx_lib-1.0.dist-info/METADATA", "no metadata")
        else:
            wheel.write_bytes(content)
        self.refused(lock(project, default=first.url), 6, "mx", "1.0", " cannot be read: ")

    def test_only_a_pre_release(self, project: Path, first: Index) -> None:
        _index.wheel(project / "first", "mx-early", "2.0rc1")
        describe(project, "mx-lib", "mx-early")
        done = lock(project, default=first.url)
        assert done.returncode == 0
        assert done.stderr == "note: mx-early 2.0rc1 is a pre-release: nothing else fits\n"

    def test_a_pre_release_that_something_else_needs(self, project: Path, first: Index) -> None:
        _index.wheel(project / "first", "mx-lib", "2.0rc1")
        _index.wheel(project / "first", "mx-user", requires=["mx-lib>=2"])
        describe(project, "mx-lib", "mx-user")
        done = lock(project, default=first.url)
        assert done.returncode == 1
        assert "mx-user depend on mx-lib>=2" in done.stderr
