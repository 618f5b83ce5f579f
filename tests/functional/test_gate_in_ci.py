"""What is shipped for CI systems, git hooks and Slurm does what it says, run as they run it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from _gated import RECORDINGS, WAIVER, project

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
BASE = "registry.example.org/vendor/vllm@sha256:" + "ab" * 32
BAD = f"FROM {BASE}\nRUN pip install torch==2.9\n"
UNKNOWN = "FROM ubuntu:22.04\n"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("MXENV_")}


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def ran(*command: str | Path, status: int | None = 0, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env=CLEAN | environment,
    )
    if status is not None:
        assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        (("vendor.github-actions",), "action.yml"),
        (("vendor.gitlab-ci", "--data-transform", "gitlab-ci"), "ci/gitlab.yml"),
    ],
)
def test_a_file_for_a_service_obeys_its_schema(schema: tuple[str, ...], file: str) -> None:
    ran(BIN / "check-jsonschema", "--builtin-schema", *schema, ROOT / file)


class TestAction:
    """The composite action, its second step run as the runner does; the first one installs."""

    def gate(self, here: Path, *, status: int, sarif: str = "", **inputs: str) -> tuple[str, str]:
        action = loaded("action.yml")
        (install, step) = action["runs"]["steps"]
        assert install["run"].splitlines()[1].endswith('pip install --quiet "$GITHUB_ACTION_PATH"')
        assert step["shell"] == "bash"
        given = {name: one["default"] for name, one in action["inputs"].items()} | inputs
        given |= {"sarif": sarif} if sarif else {}
        environment = {
            name: re.fullmatch(r"\$\{\{ inputs\.(.*) \}\}", value)[1]  # type: ignore[index] # matches
            for name, value in step["env"].items()
        }
        temp = here.parent / "runner"
        (temp / "mxenv/bin").mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (temp / "mxenv/bin/mxenv").symlink_to(BIN / "mxenv")
        script = temp / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        output = temp / "output"
        output.write_text("")
        with contextlib.chdir(here):
            out = ran(
                *("bash", "--noprofile", "--norc", "-eo", "pipefail", script),
                status=status,
                RUNNER_TEMP=str(temp),
                GITHUB_OUTPUT=str(output),
                **{name: given[wanted] for name, wanted in environment.items()},
            )
        return out, output.read_text()

    def test_what_contradicts_is_annotated_and_fails(self, tmp_path: Path) -> None:
        project(tmp_path / "r")
        (tmp_path / "r/Containerfile").write_text(BAD)
        out, output = self.gate(tmp_path / "r", status=1, sarif="mxenv.sarif")
        assert "::error file=Containerfile,line=2,title=MX411 torch::" in out
        assert output == "status=1\n"
        sarif = json.loads((tmp_path / "r/mxenv.sarif").read_text(encoding="utf-8"))
        assert "MX411" in {result["ruleId"] for result in sarif["runs"][0]["results"]}

    def test_what_is_fine_passes(self, tmp_path: Path) -> None:
        project(tmp_path / "r")
        assert self.gate(tmp_path / "r", status=0)[1] == "status=0\n"

    def test_unknown_passes_only_where_that_is_said(self, tmp_path: Path) -> None:
        project(tmp_path / "r")
        (tmp_path / "r/Containerfile").write_text(UNKNOWN)
        assert self.gate(tmp_path / "r", status=3)[1] == "status=3\n"
        assert self.gate(tmp_path / "r", status=0, **{"allow-unknown": "true"})[1] == "status=3\n"

    def test_a_repository_without_anything_fails(self, tmp_path: Path) -> None:
        (tmp_path / "r").mkdir()
        assert self.gate(tmp_path / "r", status=2, sarif="x")[1] == "status=2\n"
        assert not (tmp_path / "r/x").exists()

    def test_inputs_reach_the_gate_and_are_no_part_of_the_script(self, tmp_path: Path) -> None:
        project(tmp_path / "r", extra=WAIVER.format(expires="2999-01-01"))
        (tmp_path / "r/a b").mkdir()
        (tmp_path / "r/a b/Containerfile").write_text(BAD)
        out, _ = self.gate(tmp_path / "r", status=1, paths="lockfiles/pylock.llm.toml\na b\n")
        assert "file=a b/Containerfile,line=2" in out
        self.gate(tmp_path / "r", status=2, paths='"; touch injected; "')
        assert not (tmp_path / "r/injected").exists()
        self.gate(tmp_path / "r", status=5, matrix="no.toml")
        self.gate(tmp_path / "r", status=1, **{"allow-waivers": "true"})


class TestGitlab:
    """The job's script, run by a shell as the runner does."""

    def job(self, here: Path, *, status: int, **variables: str) -> str:
        job = loaded("ci/gitlab.yml")["mxenv-gate"]
        known = {name: str(value) for name, value in job["variables"].items()} | variables
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        with contextlib.chdir(here):
            return ran(
                "sh", "-e", "-c", "\n".join(job["script"]), status=status, PATH=path, **known
            )

    def test_the_reports_are_where_the_job_says(self, tmp_path: Path) -> None:
        project(tmp_path)
        (tmp_path / "Containerfile").write_text(BAD)
        assert "at        Containerfile:2" in self.job(tmp_path, status=1)
        reports = loaded("ci/gitlab.yml")["mxenv-gate"]["artifacts"]["reports"]
        (issue,) = json.loads((tmp_path / reports["codequality"]).read_text(encoding="utf-8"))
        assert issue["location"] == {"path": "Containerfile", "lines": {"begin": 2}}
        assert "MX411" in (tmp_path / reports["junit"]).read_text(encoding="utf-8")

    def test_the_status_is_the_gates(self, tmp_path: Path) -> None:
        project(tmp_path)
        self.job(tmp_path, status=0)
        assert json.loads((tmp_path / "gl-code-quality-report.json").read_text()) == []
        self.job(tmp_path, status=5, GATE_MATRIX="no.toml")
        self.job(tmp_path, status=2, GATE_PATHS="elsewhere", GATE_ALLOW_WAIVERS="true")


class TestPreCommit:
    """The hook, run by pre-commit itself from a repository that has the manifest."""

    def commit(self, repository: Path) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "-m", "x")):
            ran("git", "-C", repository, *command)
        return ran("git", "-C", repository, "rev-parse", "HEAD").strip()

    def hook(self, tmp_path: Path, *, status: int) -> str:
        hooks, judged = tmp_path / "hooks", tmp_path / "judged"
        hooks.mkdir()
        shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
        # As it is installed here: `language: python` makes an environment with the network's help.
        wanted = [{"id": "mxenv-gate", "language": "system"}]
        config = {"repos": [{"repo": str(hooks), "rev": self.commit(hooks), "hooks": wanted}]}
        (judged / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        self.commit(judged)
        with contextlib.chdir(judged):
            return ran(
                *(sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never"),
                status=status,
                PRE_COMMIT_HOME=str(tmp_path / "cache"),
                PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}",
            )

    def test_a_contradiction_stops_the_commit(self, tmp_path: Path) -> None:
        project(tmp_path / "judged")
        (tmp_path / "judged/Containerfile").write_text(BAD)
        out = self.hook(tmp_path, status=1)
        assert "Failed" in out
        assert "at        Containerfile:2" in out

    def test_what_is_fine_is_committed(self, tmp_path: Path) -> None:
        project(tmp_path / "judged")
        assert "Passed" in self.hook(tmp_path, status=0)

    def test_the_manifest_is_one(self) -> None:
        manifest = str(ROOT / ".pre-commit-hooks.yaml")
        ran(sys.executable, "-m", "pre_commit", "validate-manifest", manifest)

    @pytest.mark.parametrize(
        ("file", "wanted"),
        [
            ("images/x/image.toml", True),
            ("lockfiles/pylock.x.toml", True),
            ("pyproject.toml", True),
            ("a/requirements-dev.txt", True),
            ("requirements/gpu.in", True),
            ("Containerfile", True),
            ("docker/Dockerfile.gpu", True),
            ("gpu.dockerfile", True),
            ("README.md", False),
            ("src/main.py", False),
            ("notes.txt", False),
        ],
    )
    def test_it_runs_when_a_file_of_a_gate_changes(self, file: str, *, wanted: bool) -> None:
        (hook,) = loaded(".pre-commit-hooks.yaml")
        assert bool(re.search(hook["files"], file)) is wanted


class TestProlog:
    """Slurm drains the node of a Prolog that fails: this one says what it found, and never does."""

    SCRIPT = ROOT / "contrib/slurm/prolog.sh"

    def said(self, tmp_path: Path, shell: str = "sh", **environment: str) -> tuple[str, str]:
        """Return what is printed, and what is logged."""
        log = tmp_path / "log"
        log.write_text("")
        logger = tmp_path / "bin/logger"
        logger.parent.mkdir(exist_ok=True)
        logger.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>{log}\n')
        logger.chmod(0o755)
        path = f"{logger.parent}{os.pathsep}{BIN}{os.pathsep}{os.environ['PATH']}"
        given = {"PATH": path, "SLURM_JOB_ID": "42"} | environment
        return ran(shell, self.SCRIPT, **given), log.read_text()

    @pytest.mark.parametrize("shell", ["sh", "dash", "bash", "mksh"])
    @pytest.mark.parametrize(
        ("node", "level", "word"),
        [("c500-8cards", "info", "OK"), ("c500-mixed", "err", "CRITICAL")],
    )
    def test_what_is_known_of_the_node_is_logged(
        self, tmp_path: Path, shell: str, node: str, level: str, word: str
    ) -> None:
        if shutil.which(shell) is None:
            pytest.skip(f"no {shell} here")
        out, log = self.said(tmp_path, shell, MXENV_PROLOG_ON=f"recording:{RECORDINGS / node}")
        assert out == ""
        assert log.startswith(f"-t mxenv -p daemon.{level} -- job 42: MXENV {word} - {node}")
        assert log.count("\n") == 1

    def test_a_task_prolog_tells_the_user(self, tmp_path: Path) -> None:
        node = f"recording:{RECORDINGS / 'c500-mixed'}"
        out, log = self.said(tmp_path, SLURM_SCRIPT_CONTEXT="prolog_task", MXENV_PROLOG_ON=node)
        assert out.startswith("print MXENV CRITICAL - c500-mixed: MX110 ")
        assert (out.count("\n"), log) == (1, "")

    @pytest.mark.parametrize(
        ("environment", "said"),
        [
            ({"MXENV_PROLOG_COMMAND": "no-such-command"}, "no answer (status 127)"),
            ({"MXENV_PROLOG_ON": "recording:no-such-recording"}, "MXENV UNKNOWN"),
            ({"MXENV_PROLOG_COMMAND": "false"}, "no answer (status 1)"),
        ],
    )
    def test_whatever_goes_wrong_is_said_and_drains_nothing(
        self, tmp_path: Path, environment: dict[str, str], said: str
    ) -> None:
        assert said in self.said(tmp_path, **environment)[1]

    def test_a_node_that_does_not_answer_holds_no_job_for_long(self, tmp_path: Path) -> None:
        hanging = tmp_path / "hanging"
        hanging.write_text("#!/bin/sh\nexec sleep 60\n")
        hanging.chmod(0o755)
        given = {"MXENV_PROLOG_COMMAND": str(hanging), "MXENV_PROLOG_SECONDS": "-4"}
        assert "no answer (status 124)" in self.said(tmp_path, **given)[1]

    def test_without_a_log_it_is_said_on_stderr(self, tmp_path: Path) -> None:
        broken = tmp_path / "broken"
        broken.mkdir()
        (broken / "logger").write_text("#!/bin/sh\nexit 1\n")
        (broken / "logger").chmod(0o755)
        done = subprocess.run(
            ["sh", str(self.SCRIPT)],
            capture_output=True,
            text=True,
            check=True,
            env=CLEAN
            | {
                "PATH": f"{broken}{os.pathsep}{BIN}{os.pathsep}{os.environ['PATH']}",
                "MXENV_PROLOG_ON": f"recording:{RECORDINGS / 'c500-8cards'}",
            },
        )
        assert done.stderr.startswith("MXENV OK - c500-8cards")
