from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from datetime import UTC, datetime
from pathlib import Path

import pytest
from _wheels import Made
from click.testing import CliRunner

from mxenv.api import nodes
from mxenv.cli._front import FRONT
from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.probes import python
from mxenv.question import Answers, Env, File, Found, Given, Glob, Option, Question
from mxenv.transports._disk import DiskTree
from mxenv.transports._tree import answer

NOW = datetime(2026, 1, 7, tzinfo=UTC)
UV = str(Path(sys.executable).with_name("uv"))
PLANTED = "hunter2"
BACKEND = """
import base64, hashlib, pathlib, zipfile

def _wheel(folder, files):
    info = "dev_tool-1.0+metax3.5.3.9torch2.8.dist-info"
    files = {
        **files,
        f"{info}/METADATA": pathlib.Path("METADATA").read_text(),
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    record = "".join(
        f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(t.encode()).digest()).decode().rstrip('=')},{len(t)}\\n"
        for n, t in files.items()
    )
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\\n"
    name = "dev_tool-1.0+metax3.5.3.9torch2.8-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as made:
        for path, text in files.items():
            made.writestr(path, text)
    return name

def build_wheel(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"dev_tool.py": "X = 1\\n"})

def build_editable(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"dev_tool.pth": str(pathlib.Path.cwd() / "src") + "\\n"})
"""
METADATA = "Metadata-Version: 2.1\nName: dev-tool\nVersion: 1.0+metax3.5.3.9torch2.8\n"
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


def run(*argv: str | Path, cwd: Path | None = None) -> None:
    subprocess.run(list(map(str, argv)), check=True, cwd=cwd, capture_output=True)


def facts_of(options: dict[str, str], top: Path, **variables: str) -> tuple[Fact, ...]:
    """Return what the probe reads below ``top``, as if nothing else were on this machine."""
    given: dict[Question, Given] = {Option(n): Found(value) for n, value in options.items()}
    given |= {Env(n): Found(value) for n, value in {"HOME": "/nowhere", **variables}.items()}

    def beside(question: Question) -> Given | None:
        match question:
            case File(path=path) | Glob(pattern=path) if path.startswith(f"{top}/"):
                return None
            case _:
                return given.get(question, Absent())

    answers = Answers()
    asked = dict.fromkeys(python.PROBE.questions)
    while asked:
        answers |= answer(DiskTree(), asked, beside)
        asked = {q: None for q in python.PROBE.more(answers) if q not in answers.given}
    return tuple(python.PROBE.read(answers))


def look(prefix: Path, *, deep: bool = False, **variables: str) -> dict[str, list[Reading]]:
    """Return what the probe reads of one environment, without its prefix."""
    options = {"python": str(prefix), **({"deep": "yes"} if deep else {})}
    facts: dict[str, list[Reading]] = {}
    for fact in facts_of(options, prefix.parent, **variables):
        if fact.instance == str(prefix) or fact.instance.startswith(f"{prefix}/"):
            name = fact.instance.removeprefix(str(prefix)).strip("/")
            short = fact.key.removeprefix("python.")
            facts.setdefault(f"{short} {name}".strip(), []).append(fact.reading)
    return facts


def project(folder: Path) -> Path:
    """Make a project that builds itself, and needs no network for it."""
    (folder / "src").mkdir(parents=True)
    (folder / "src/dev_tool.py").write_text("X = 1\n")
    (folder / "backend.py").write_text(BACKEND)
    (folder / "METADATA").write_text(METADATA)
    (folder / "pyproject.toml").write_text(PROJECT)
    return folder


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    run(UV, "venv", "--python", sys.executable, tmp_path / "venv")
    return tmp_path / "venv"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    (tmp_path / "wheels").mkdir()
    Made(name="alpha", files={"alpha/__init__.py": b"X = 1\n"}).write(tmp_path / "wheels")
    return tmp_path / "wheels"


def uv(venv: Path, *argv: str | Path) -> None:
    run(UV, "pip", "install", "--offline", "--no-index", "--python", venv / "bin/python", *argv)


def test_what_uv_installed_by_name_is_from_an_index(venv: Path, wheels: Path) -> None:
    uv(venv, "--find-links", wheels, "alpha")
    facts = look(venv)
    series = sysconfig.get_python_version()
    assert facts["series"] == [Observed(series)]
    assert facts["interpreter"] == [Observed(f"{venv}/bin/python3")]
    assert facts["package alpha"] == [Observed("1.0")]
    assert facts["package.origin alpha"] == [Observed("index")]
    assert facts["package.copies"] == facts["package.shadowed"] == [Absent()]
    assert "package.vendor alpha" not in facts
    [record] = facts["package.record alpha"]
    assert isinstance(record, Observed)


def test_a_wheel_that_was_named_by_its_path_is_an_archive(venv: Path, wheels: Path) -> None:
    uv(venv, next(wheels.glob("*.whl")))
    assert look(venv)["package.origin alpha"] == [Observed("archive alpha-1.0-py3-none-any.whl")]


def test_a_venv_of_the_standard_library_has_its_pip(tmp_path: Path, wheels: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "own")
    pip = (tmp_path / "own/bin/python", "-m", "pip", "install", "--no-index")
    run(*pip, "--find-links", wheels, "alpha")
    facts = look(tmp_path / "own", deep=True)
    assert facts["package.origin alpha"] == facts["package.origin pip"] == [Observed("index")]
    assert facts["package.altered alpha"] == facts["package.altered pip"] == [Absent()]


def test_an_editable_project_says_where_it_lies(venv: Path, tmp_path: Path) -> None:
    where = project(tmp_path / "project")
    uv(venv, "-e", where)
    facts = look(venv)
    assert facts["package.origin dev-tool"] == [Observed(f"editable {where}")]
    assert facts["package.vendor dev-tool"] == [Observed("metax")]
    assert facts["package.sdk dev-tool"] == [Observed("3.5.3.9")]
    assert facts["package.torch dev-tool"] == [Observed("2.8")]


def test_a_checkout_is_named_by_its_commit(venv: Path, tmp_path: Path) -> None:
    where = project(tmp_path / "project")
    git = ("git", "-c", "user.name=n", "-c", "user.email=e@example.org")
    run("git", "init", "-q", where)
    run(*git, "add", ".", cwd=where)
    run(*git, "commit", "-q", "-m", "One", cwd=where)
    uv(venv, f"git+file://{where}")
    [origin] = look(venv)["package.origin dev-tool"]
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=where, check=True, capture_output=True, text=True
    )
    assert origin == Observed(f"vcs git+file://{where} @{head.stdout.strip()}")


def test_files_that_were_altered_are_named(venv: Path, wheels: Path) -> None:
    uv(venv, "--find-links", wheels, "alpha")
    assert look(venv, deep=True)["package.altered alpha"] == [Absent()]
    site = next(venv.glob("lib/python3*/site-packages"))
    (site / "alpha/__init__.py").write_text("X = 2\n")
    next(site.glob("alpha-1.0.dist-info/WHEEL")).unlink()
    assert look(venv, deep=True)["package.altered alpha"] == [
        Observed(("alpha-1.0.dist-info/WHEEL", "alpha/__init__.py"))
    ]
    assert look(venv)["package alpha"] == [Observed("1.0")]
    assert "package.altered alpha" not in look(venv)


def test_a_stray_folder_earlier_on_the_path_hides_a_package(
    venv: Path, wheels: Path, tmp_path: Path
) -> None:
    uv(venv, "--find-links", wheels, "alpha")
    (tmp_path / "work/alpha").mkdir(parents=True)
    # A folder with nothing in it hides nothing: Python looks on.
    facts = look(venv, PYTHONPATH=f"{tmp_path}/work")
    assert facts["package.shadowed"] == [Absent()]
    (tmp_path / "work/alpha/__init__.py").write_text("")
    facts = look(venv, PYTHONPATH=f"{tmp_path}/work")
    assert facts["package.shadowed alpha"] == [Observed((f"alpha from {tmp_path}/work/alpha",))]
    said = subprocess.run(
        [venv / "bin/python", "-c", "import alpha; print(alpha.__file__)"],
        env={"PYTHONPATH": f"{tmp_path}/work"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert said.stdout.strip() == f"{tmp_path}/work/alpha/__init__.py"


def test_a_base_that_has_a_copy_as_well_shows_both(tmp_path: Path, wheels: Path) -> None:
    base, upper = tmp_path / "base", tmp_path / "upper"
    series = f"python{sysconfig.get_python_version()}"
    (base / "bin").mkdir(parents=True)
    (base / "bin/python3").symlink_to(sys.executable)
    for prefix in (base, upper):
        site = prefix / f"lib/{series}/site-packages"
        run(UV, "pip", "install", "--no-index", "--offline", "--find-links", wheels,
            "--target", site, "alpha")  # fmt: skip
    (upper / "bin").mkdir()
    (upper / "bin/python3").symlink_to(base / "bin/python3")
    (upper / "pyvenv.cfg").write_text(
        f"home = {base}/bin\ninclude-system-site-packages = true\nversion = 3.11.0\n"
    )
    both = Path(f"{base}\n{upper}")
    folders = tuple(
        f"{prefix}/lib/{series}/site-packages/alpha-1.0.dist-info" for prefix in (upper, base)
    )
    read = facts_of({"python": str(both)}, tmp_path)
    facts = {fact.label: fact.reading for fact in read}
    assert facts[f"python.package.copies[{upper}/alpha]"] == Observed(folders)
    assert facts[f"python.package.copies[{base}]"] == Absent()


def test_a_recording_replays_to_the_same_facts_and_keeps_no_secret(
    wheels: Path, tmp_path: Path
) -> None:
    venv = tmp_path / "root/venv"
    run(UV, "venv", "--python", sys.executable, venv)
    uv(venv, next(wheels.glob("*.whl")))
    site = next(venv.glob("lib/python3*/site-packages"))
    (site / "alpha/__init__.py").write_text("X = 2\n")
    url = f"https://me:{PLANTED}@example.org/alpha.whl?sig={PLANTED}#{PLANTED}"
    (site / "alpha-1.0.dist-info/direct_url.json").write_text(
        json.dumps({"url": url, "archive_info": {}, "note": PLANTED})
    )
    wanted = nodes.Wanted(options={"deep": "yes"}, seconds=60)
    learned = nodes.record(f"root:{tmp_path}/root", tmp_path / "recording", now=NOW, wanted=wanted)
    replayed = nodes.probe(f"recording:{tmp_path}/recording", now=NOW)
    ours = [f for f in learned.facts if f.key.startswith("python.")]
    assert [f for f in replayed.facts if f.key.startswith("python.")] == ours
    reading = learned.reading("python.package.origin", "/venv/alpha")
    assert reading == Observed("url https://example.org/alpha.whl")
    altered = learned.reading("python.package.altered", "/venv/alpha")
    assert isinstance(altered, Observed)
    assert "alpha/__init__.py" in str(altered.value)
    kept = [p.read_bytes() for p in (tmp_path / "recording").rglob("*") if p.is_file()]
    assert kept
    assert not [content for content in kept if PLANTED.encode() in content]


def test_this_machine_is_asked_about_what_is_named(venv: Path, wheels: Path) -> None:
    uv(venv, "--find-links", wheels, "alpha")
    wanted = nodes.Wanted(options={"python": f"{venv}/bin/python"}, seconds=60)
    learned = nodes.probe("local:", now=NOW, wanted=wanted)
    assert learned.reading("python.package", f"{venv}/alpha") == Observed("1.0")
    assert learned.reading("python.package.origin", f"{venv}/alpha") == Observed("index")


def test_what_was_named_and_is_none_is_said(tmp_path: Path) -> None:
    assert look(tmp_path / "none")["interpreter"] == [Absent()]
    facts = {f.label: f.reading for f in facts_of({"python": "relative/python"}, tmp_path)}
    assert isinstance(facts["python.interpreter[relative/python]"], Unreadable)


@pytest.mark.parametrize("path", ["/nonexistent", "/bin/ls"])
@pytest.mark.parametrize("typed", [("probe",), ("check",), ("record", "--out", "never-written")])
def test_a_path_of_this_machine_without_an_environment_is_a_mistake(
    path: str, typed: tuple[str, ...]
) -> None:
    done = CliRunner().invoke(FRONT, [*typed, "--python", path])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {path}: no Python environment is there\n")
    assert not Path("never-written").exists()


def test_of_another_node_it_is_shown_where_it_is_seen(tmp_path: Path) -> None:
    done = CliRunner().invoke(FRONT, ["probe", "--on", f"root:{tmp_path}", "--python", "/venv"])
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines() if "/venv" in line]
    assert lines == [["interpreter[/venv]", "absent, though --python names it"]]


def test_a_path_that_begins_nowhere_is_a_mistake() -> None:
    done = CliRunner().invoke(FRONT, ["probe", "--python", "venv/bin/python"])
    assert done.exit_code == 2
    assert "'venv/bin/python' is no absolute path" in done.stderr
