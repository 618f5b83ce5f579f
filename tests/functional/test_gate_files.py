"""The gate reads what a repository asks for, and names file and line of what contradicts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from _gated import RECORDINGS, WAIVER, mxenv, project

from mxenv.api import _scan

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = "registry.example.org/vendor/vllm@sha256:" + "ab" * 32
SARIF = Path(__file__).parents[1] / "schemas" / "sarif-2.1.0.json"
HOOK = """
import os, sys
def hook(event, arguments):
    name = event.partition(".")[0]
    process = event in {"os.exec", "os.posix_spawn", "os.fork", "os.system", "subprocess.Popen"}
    writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if name in {"socket", "urllib", "http"} or process or (writes and arguments[0] != os.devnull):
        os.write(2, f"did {event} {arguments}\\n".encode())
        os._exit(99)
sys.dont_write_bytecode = True
from mxenv.cli import main
sys.argv[0] = "mxenv"
sys.addaudithook(hook)
main()
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    with contextlib.chdir(tmp_path):
        yield tmp_path


def write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def at(finding: dict[str, Any]) -> str:
    place = finding.get("place")
    return f"{place['file']}:{place['line']}" if place else finding["subject"]


def gate(*arguments: str | Path) -> tuple[int, list[str]]:
    """Return the status, and every finding that is not fine as ``CODE outcome file:line``."""
    result = mxenv("--format", "json", "gate", *arguments)
    assert result.exit_code in {0, 1, 3}, result.stderr
    return result.exit_code, [
        f"{f['code']} {f['outcome']} {at(f)}"
        for verdict in json.loads(result.stdout)["verdicts"]
        for f in verdict["findings"]
        if f["outcome"] != "compatible"
    ]


class TestContradictions:
    """Each kind of contradiction, in the file where it is written."""

    @pytest.mark.parametrize(
        ("files", "found"),
        [
            (
                {"Containerfile": f"FROM {BASE}\nRUN a && \\\n  pip install 'torch>=2.9'\n"},
                "MX411 incompatible Containerfile:3",
            ),
            (
                {"docker/Dockerfile.serve": f"FROM {BASE}\n\nRUN pip install -U torch\n"},
                "MX411 incompatible docker/Dockerfile.serve:3",
            ),
            ({"requirements.txt": "# c\ntorch==2.9.1\n"}, "MX411 incompatible requirements.txt:2"),
            (
                {"pyproject.toml": '[project]\ndependencies = [\n"torch >=2.9"\n]\n'},
                "MX411 incompatible pyproject.toml:3",
            ),
            (
                {"requirements/gpu.txt": "vllm==0.9.1+cu126\n"},
                "MX413 incompatible requirements/gpu.txt:1",
            ),
            (
                {"requirements.in": "--extra-index-url https://h.example/whl/cu126\n"},
                "MX413 incompatible requirements.in:1",
            ),
            ({"a.Dockerfile": "FROM ubuntu:22.04\n"}, "MX415 unknown a.Dockerfile:1"),
            ({"Dockerfile": "ARG T\nFROM ubuntu\n"}, "MX415 incompatible Dockerfile:2"),
            (
                {"requirements.txt": "a==1\n", "dev-requirements.txt": "\na==2\n"},
                "MX416 incompatible requirements.txt:1",
            ),
            (
                {"requirements.txt": "structlog==23.1\n"},
                "MX416 incompatible requirements.txt:1",
            ),
            ({"constraints.txt": "bad req here\n"}, "MX417 unknown constraints.txt:1"),
            ({"Dockerfile": f"FROM {BASE}\nBOGUS\n"}, "MX417 unknown Dockerfile:2"),
            ({"requirements.txt": "-r no.txt\n"}, "MX418 incompatible requirements.txt:1"),
            (
                {"requirements.txt": "-r https://h.example/r.txt\n"},
                "MX418 unknown requirements.txt:1",
            ),
            (
                {"Dockerfile": f"FROM {BASE}\nRUN pip install -r /opt/r.txt\n"},
                "MX418 unknown Dockerfile:2",
            ),
        ],
    )
    def test_it_is_named_with_its_file_and_line(
        self, here: Path, files: dict[str, str], found: str
    ) -> None:
        project(here)
        assert gate() == (0, [])
        for path, text in files.items():
            write(path, text)
        assert gate() == ({"unknown": 3, "incompatible": 1}[found.split()[1]], [found])

    def test_vllm_without_its_plugin(self, here: Path) -> None:
        write("Containerfile", "FROM h.example/maca/torch:2.8@sha256:0\nRUN pip install vllm\n")
        assert gate() == (3, ["MX414 unknown Containerfile:2"])
        lock = project(here)
        text = lock.read_text(encoding="utf-8").replace("vllm-metax = ", "other = ")
        assert text != lock.read_text(encoding="utf-8")
        lock.write_text(text, encoding="utf-8")
        write("Containerfile", f"FROM {BASE}\nRUN pip install vllm\n")
        assert "MX414 incompatible Containerfile:2" in gate()[1]

    def test_a_file_that_is_named_by_another_is_read_as_what_it_is_named_for(
        self, here: Path
    ) -> None:
        project(here)
        write(
            "deploy/Containerfile",
            f"FROM {BASE}\nCOPY lists/gpu.list /t/\nRUN pip install -U -r /t/gpu.list\n",
        )
        write("lists/gpu.list", "-r more.list\nnumpy\n")
        write("lists/more.list", "\ntorch\n")
        assert gate() == (1, ["MX411 incompatible lists/more.list:2"])

    def test_a_file_that_is_installed_elsewhere_is_not_held_against_the_lock(
        self, here: Path
    ) -> None:
        project(here)
        write("requirements.txt", "torch==2.9\n")
        assert gate()[0] == 1
        write("Containerfile", "FROM python@sha256:0\nRUN pip install -r requirements.txt\n")
        assert gate() == (3, ["MX412 unknown requirements.txt:1"])  # nobody says what it is for

    def test_files_alone_are_held_against_the_locks_of_where_they_lie(self, here: Path) -> None:
        project(here)
        file = write("a/requirements.txt", "torch==2.9\n")
        expected = (1, ["MX411 incompatible a/requirements.txt:1"])
        assert gate(file) == expected
        assert gate(file.absolute()) == expected
        with contextlib.chdir("a"):
            assert gate("requirements.txt") == (3, ["MX412 unknown requirements.txt:1"])

    def test_an_expired_waiver_has_its_line(self, here: Path) -> None:
        lock = project(here, extra=WAIVER.format(expires=date(2020, 1, 1).isoformat()))
        lines = lock.read_text(encoding="utf-8").splitlines()
        line = lines.index('code = "MX110"') + 1
        assert gate() == (1, [f"MX119 incompatible lockfiles/pylock.llm.toml:{line}"])

    def test_a_node_is_held_against_what_the_locks_ask_of_a_host(self, here: Path) -> None:
        host = '\n[host]\nrequires = ["metax.kmd >= 3.3.12", "metax.module.parameter[x] == 1"]\n'
        lock = project(here, extra=host)
        node = RECORDINGS / "c500-8cards"
        lines = lock.read_text(encoding="utf-8").splitlines()
        line = next(n for n, text in enumerate(lines, 1) if "parameter[x]" in text)
        assert gate(lock) == (0, [])
        status, found = gate(lock, node)
        assert status in {1, 3}
        assert found == [found[0]]
        assert re.fullmatch(rf"MX332 \w+ lockfiles/pylock.llm.toml:{line}", found[0])
        text = mxenv("gate", "-v", lock, node).stdout
        assert "compatible    MX331  metax.kmd" in text

    def test_a_node_has_an_address_as_well(self, here: Path) -> None:
        lock = project(here, extra='\n[host]\nrequires = ["metax.kmd >= 99"]\n')
        status, found = gate(lock, f"recording:{RECORDINGS / 'c500-8cards'}")
        assert (status, len(found)) == (1, 1)
        assert "MX332 incompatible lockfiles" in found[0]
        assert mxenv("gate", "local:").exit_code == 3, "no card is here"
        assert mxenv("gate", "ssh:elsewhere").exit_code == 2, "a gate is offline"
        assert mxenv("gate", "local").exit_code == 2

    def test_a_required_fact_that_is_not_known_is_unknown(self, here: Path) -> None:
        lock = project(here, extra='\n[host]\nrequires = ["metax.sdk >= 3.5"]\n')
        result = mxenv("gate", lock, RECORDINGS / "c550-pod-sdk-unknown")
        assert result.exit_code == 3, result.stdout
        assert "unknown       MX332  metax.sdk" in result.stdout


class TestFormats:
    """What a line causes is shown at that line, in every format."""

    @pytest.fixture
    def judged(self, here: Path) -> Path:
        project(here)
        return write("docker/Containerfile", f"FROM {BASE}\n\nRUN pip install torch==2.9\n")

    def out(self, form: str) -> str:
        result = mxenv("gate", "--format", form)
        assert result.exit_code == 1
        return result.stdout

    def test_text(self, judged: Path) -> None:
        assert f"    at        {judged}:3\n" in self.out("text")

    def test_github(self, judged: Path) -> None:
        assert f"::error file={judged},line=3,title=MX411 torch::found" in self.out("github")

    def test_sarif_obeys_the_schema_of_the_standard(self, judged: Path) -> None:
        document = json.loads(self.out("sarif"))
        jsonschema.validate(document, json.loads(SARIF.read_text(encoding="utf-8")))
        places = [
            result["locations"][0]["physicalLocation"]
            for result in document["runs"][0]["results"]
            if result["ruleId"] == "MX411"
        ]
        assert places == [{"artifactLocation": {"uri": str(judged)}, "region": {"startLine": 3}}]

    def test_gitlab(self, judged: Path) -> None:
        (issue,) = json.loads(self.out("gitlab"))
        assert issue["location"] == {"path": str(judged), "lines": {"begin": 3}}
        assert (issue["check_name"], issue["severity"]) == ("MX411", "critical")

    def test_junit(self, judged: Path) -> None:
        assert f'name="MX411 torch" file="{judged}" line="3"' in self.out("junit")


class TestNeverGreenByAccident:
    """What was not looked at is never passed by."""

    @pytest.mark.parametrize(
        "files",
        [
            {},
            {"README.md": "pip install torch"},
            {"requirements.txt": ""},
            {"requirements.txt": "# nothing\n", "pyproject.toml": "[tool.ruff]\n"},
            {".venv/requirements.txt": "a==1"},
            {"node_modules/x/Dockerfile": "FROM a"},
            {"env/pyvenv.cfg": "", "env/lib/requirements.txt": "a==1"},
            {"Dockerfile.dockerignore": "a"},
        ],
    )
    def test_nothing_to_judge_is_an_error(self, here: Path, files: dict[str, str]) -> None:
        for path, text in files.items():
            write(path, text)
        result = mxenv("gate")
        assert (here, result.exit_code, result.stdout) == (here, 2, "")
        assert result.stderr.startswith("error: nothing to judge in .")

    @pytest.mark.parametrize(
        ("path", "content", "said"),
        [
            ("requirements.txt", b"\xff\xfe", "requirements.txt: not UTF-8 at byte 0"),
            ("Containerfile", b"FROM a\n\xff", "Containerfile: not UTF-8 at byte 7"),
            ("pyproject.toml", b"[", "pyproject.toml: not TOML"),
            (
                "requirements.txt",
                b"#" * (1 << 20) + b"\n",
                "requirements.txt: cannot be read: larger",
            ),
        ],
    )
    def test_a_file_that_cannot_be_read_is_an_error_that_names_it(
        self, here: Path, path: str, content: bytes, said: str
    ) -> None:
        (here / path).write_bytes(content)
        result = mxenv("gate")
        assert (result.exit_code, result.stdout) == (5, "")
        assert result.stderr.startswith(f"error: {said}")

    def test_a_pipe_is_no_file(self, here: Path) -> None:
        os.mkfifo(here / "requirements.txt")
        result = mxenv("gate")
        assert result.exit_code == 5
        assert result.stderr.startswith("error: requirements.txt: cannot be read: not a file")

    def test_a_missing_path_is_an_error_among_good_ones(self, here: Path) -> None:
        lock = project(here)
        assert mxenv("gate", lock, "requirements.txt").exit_code == 2

    def test_what_is_no_kind_of_file_is_an_error(self, here: Path) -> None:
        result = mxenv("gate", write("notes.md", "x"))
        assert (here, result.exit_code) == (here, 2)
        assert "notes.md is nothing that a gate judges" in result.stderr

    def test_hundreds_of_files_are_read_and_more_than_that_is_an_error(self, here: Path) -> None:
        for number in range(_scan.MOST_FILES + 1):
            write(f"{number}/requirements.txt", "a==1\n")
        result = mxenv("gate")
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: .: more than {_scan.MOST_FILES} files to read")
        (here / "0/requirements.txt").unlink()
        assert mxenv("gate").exit_code == 0

    def test_files_that_are_named_are_counted_as_well(self, here: Path) -> None:
        names = [f"list-{number}" for number in range(_scan.MOST_FILES + 1)]
        for name in names:
            (here / name).write_text("a\n")
        write("requirements.txt", "".join(f"-r {name}\n" for name in names))
        assert mxenv("gate").exit_code == 2

    def test_folders_in_folders_have_an_end(self, here: Path) -> None:
        (here / "/".join("d" * (_scan.DEEPEST + 2))).mkdir(parents=True)
        result = mxenv("gate")
        assert (result.exit_code, "folders in folders" in result.stderr) == (2, True)

    def test_recorded_nodes_are_judged_where_they_are_named_only(self, here: Path) -> None:
        node = here / "tests" / "node"
        node.mkdir(parents=True)
        (node / "recording.toml").write_text("", encoding="utf-8")
        write("tests/node/root/app/requirements.txt", "bad req here")
        assert mxenv("gate").exit_code == 2


def test_a_finding_lacks_nothing(here: Path) -> None:
    project(here, extra=WAIVER.format(expires="2999-01-01"))
    write(
        "Containerfile",
        f"FROM ubuntu\nFROM {BASE}\nRUN pip install -U torch $X -r no.txt -i cu126\n",
    )
    write("requirements.txt", "a==1\na==2\nbad req here\n")
    write("ok/requirements.txt", "a==1\n")
    write("matrices/site.toml", "")
    node = RECORDINGS / "c500-8cards"
    found = json.loads(mxenv("--format", "json", "gate", ".", node).stdout)["verdicts"]
    seen = set()
    for finding in (finding for verdict in found for finding in verdict["findings"]):
        seen.add(finding["code"])
        for field in ("code", "outcome", "subject", "found", "expected", "because"):
            assert finding[field], (finding["code"], field)
        if finding["outcome"] != "compatible":
            assert finding["remedy"], finding["code"]
    assert seen >= {"MX403", "MX407", "MX408", *(f"MX41{n}" for n in (0, 1, 2, 3, 5, 6, 7, 8))}


class TestTrust:
    """Nothing outside is read, nothing is asked, and what is judged decides nothing."""

    @pytest.mark.parametrize(
        "name", ["requirements.txt", "Containerfile", "pyproject.toml", "a.dockerfile"]
    )
    def test_a_link_that_leads_out_is_not_followed(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "secret").write_text("torch==1.0 # hunter2\n")
        inside = tmp_path / "project"
        project(inside)
        (inside / name).symlink_to("../secret")
        with contextlib.chdir(inside):
            result = mxenv("gate", "-v")
            assert gate() == (3, [f"MX418 unknown {name}:1"])
            assert gate(name) == (3, [f"MX418 unknown {name}:1"])
        assert "hunter2" not in result.output

    def test_a_line_that_names_a_file_outside_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "secret.txt").write_text("bad hunter2\n")
        inside = tmp_path / "project"
        project(inside)
        with contextlib.chdir(inside):
            write("requirements.txt", f"-r ../secret.txt\n-c {tmp_path / 'secret.txt'}\n")
            status, found = gate()
            assert "hunter2" not in mxenv("gate", "-v").output
        assert (status, found) == (
            3,
            ["MX418 unknown requirements.txt:1", "MX418 unknown requirements.txt:2"],
        )

    @pytest.mark.parametrize("name", ["images", "lockfiles", "images/llm", "images/llm/image.toml"])
    def test_an_image_or_a_lock_behind_a_link_that_leads_out_is_an_error(
        self, tmp_path: Path, name: str
    ) -> None:
        inside = tmp_path / "project"
        project(inside)
        (inside / name).rename(tmp_path / "moved")
        (inside / name).symlink_to(tmp_path / "moved")
        with contextlib.chdir(inside):
            result = mxenv("gate")
        assert result.exit_code == 5
        assert "a link that leads out of what is judged" in result.stderr

    def test_a_link_inside_is_one_file_however_it_is_named(self, here: Path) -> None:
        project(here)
        write("a/requirements.txt", "torch==2.9\n")
        (here / "requirements.txt").symlink_to("a/requirements.txt")
        assert gate()[1] in (
            ["MX411 incompatible a/requirements.txt:1"],
            ["MX411 incompatible requirements.txt:1"],
        )

    def test_a_folder_behind_a_link_is_not_walked(self, here: Path) -> None:
        write("a/requirements.txt", "x==1\n")
        (here / "b").symlink_to("a")
        (here / "a" / "loop").symlink_to("..")
        assert len(json.loads(mxenv("--format", "json", "gate").stdout)["verdicts"]) == 1

    def test_no_socket_is_opened_nothing_is_started_and_nothing_written(self, here: Path) -> None:
        project(here)
        write("requirements.txt", "-i https://h.example/whl/cu126\n-r https://h.example/r.txt\n")
        write("Containerfile", f"FROM {BASE}\nRUN pip install https://h.example/a.whl\n")
        write("pyproject.toml", '[project]\nname = "x"\ndependencies = ["a"]\n')
        for form in ("text", "json", "sarif", "junit", "github", "gitlab"):
            command = (sys.executable, "-c", HOOK, "--format", form, "gate")
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (1, "")

    def test_the_audit_would_see_it(self, here: Path) -> None:
        code = HOOK.replace("main()", "import socket; socket.socket()")
        done = subprocess.run((sys.executable, "-c", code), capture_output=True, check=False)
        assert (here, done.returncode) == (here, 99)

    def test_words_of_what_is_judged_steer_no_terminal_and_show_no_password(
        self, here: Path
    ) -> None:
        project(here)
        write("requirements.txt", "-i https://me:hunter2@h.example/whl/cu126\nbad \x1b[2J req\n")
        for form in ("text", "json", "sarif", "junit", "github", "gitlab"):
            result = mxenv("--format", form, "gate")
            assert result.exit_code == 1
            assert "\x1b" not in result.output
            assert "hunter2" not in result.output


def test_the_list_of_names_is_the_documented_one() -> None:
    page = Path(__file__).parents[2] / "docs/how-to/gate-in-ci.md"
    text = page.read_text(encoding="utf-8")
    names = (*_scan.REQUIREMENTS, *_scan.LIMITS, _scan.PYPROJECT, *_scan.CONTAINERFILES)
    assert [name for name in names if f"`{name}`" not in text] == []
    assert [name for name in sorted(_scan.IGNORED) if f"`{name}`" not in text] == []


def test_this_repository_is_gated_as_any_other() -> None:
    with contextlib.chdir(Path(__file__).parents[2]):
        found = gate()
        places = {
            verdict["subject"]
            for verdict in json.loads(mxenv("--format", "json", "gate").stdout)["verdicts"]
        }
    assert "pyproject.toml" in places
    assert "lockfiles/pylock.demo.toml" in places
    assert not [one for one in found[1] if "pyproject" in one or "demo" in one]
