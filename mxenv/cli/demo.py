"""``mxenv demo``: the whole chain in front of you, on a checkout; `make demo` runs it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options, _status
from mxenv.errors import MxenvError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PARTS = ("images/demo", "tests/recordings/c500-8cards", "tests/recordings/c500-mixed")


class NotAsExpected(MxenvError):
    """A step of the demonstration came out differently."""

    exit_code = 70


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, as a user would type it, and how it should end."""

    title: str
    command: str
    expected: tuple[int, ...] = (0,)
    why: str = ""
    """What the exit status means here."""
    place: str = "first"
    """The copy of the project that it runs in."""
    umask: int = 0o022
    says: str = ""
    """What its output must hold."""
    check: Callable[[Path], str] | None = None
    """Given the demonstration's folder, say what is true of it now."""
    variables: Mapping[str, str] = field(default_factory=dict)


def steps(recordings: Path) -> tuple[Step, ...]:
    """Return the demonstration; paths are as seen from a project's folder."""
    good, mixed = (shlex.quote(str(recordings / name)) for name in ("c500-8cards", "c500-mixed"))
    return (
        Step(
            title="What is this machine made of?",
            command="mxenv probe --out this-machine.json",
            why="the snapshot is written",
        ),
        Step(
            title="What was a node with eight C500 cards made of? (recorded, replayed here)",
            command=f"mxenv probe --on recording:{good}",
            why="a recording answers as the node did",
            says="C500",
        ),
        Step(
            title="Is this machine known to work?",
            command="mxenv check this-machine.json",
            expected=(0, 1, 3),
            why="a machine without an accelerator is unknown (3), never compatible",
        ),
        Step(
            title="Is the recorded node known to work?",
            command=f"mxenv check --on recording:{good}",
            why="every component is covered by evidence",
        ),
        Step(
            title="Turn what an image wants into exact wheels",
            command="mxenv lock images/demo/image.toml",
            why="lockfiles/pylock.demo.toml is written",
        ),
        Step(
            title="Fill the wheelhouse, by file name and hash",
            command="mxenv fetch lockfiles/pylock.demo.toml",
            why="every wheel is there, and is the one that was locked",
        ),
        Step(
            title="Build the image: no daemon, no root",
            command="mxenv build lockfiles/pylock.demo.toml --out image",
            why="image/ is an OCI layout",
        ),
        Step(
            title="Build it again, elsewhere: another directory, another cache, another umask",
            command="mxenv build lockfiles/pylock.demo.toml --out image",
            place="second",
            umask=0o077,
            why="and the digests agree",
            check=_digests_agree,
        ),
        Step(
            title="Is in the image what is in the lock?",
            command="mxenv verify lockfiles/pylock.demo.toml --on oci:image",
            why="every package, and nothing else",
        ),
        Step(
            title="Would CI let this project through?",
            command="mxenv gate",
            why="the lock is fresh",
        ),
        Step(
            title="And a node whose components come from different releases?",
            command=f"mxenv gate {mixed}",
            expected=(1,),
            why="refused, and the finding says which component comes from which release",
            says="MX110",
        ),
    )


def _digests_agree(folder: Path) -> str:
    first, second = (_manifest(folder / place / "image") for place in ("first", "second"))
    if first != second:
        raise NotAsExpected(f"the digests differ: {first} and {second}")
    return f"both are {first}"


def _manifest(layout: Path) -> str:
    index = json.loads((layout / "index.json").read_text(encoding="utf-8"))
    return str(index["manifests"][0]["digest"])


@click.command("demo", hidden=True)
@click.option(
    "--out",
    metavar="DIR",
    type=_options.PATH,
    default=Path("dist/demo"),
    help="Where to work; what an earlier demonstration left there is replaced.",
)
def COMMAND(*, out: Path) -> None:  # noqa: N802 - a constant that a decorator makes
    """Run the whole chain on the sample image and the recordings of a checkout."""
    root = Path.cwd()
    for part in PARTS:
        if not (root / part).exists():
            raise UsageError(f"there is no {part} here", hint="run it in a checkout of mxenv")
    folder = (root / out).resolve()
    _prepare(root, folder)
    began = time.monotonic()
    todo = steps(Path(os.path.relpath(root / "tests/recordings", folder / "first")))
    for number, step in enumerate(todo, 1):
        _show(step, folder, f"{number}/{len(todo)}")
    _end(out, time.monotonic() - began)


def _prepare(root: Path, folder: Path) -> None:
    """Make two copies of a small project: what a user would have in a repository."""
    marker = folder / ".mxenv-demo"
    if folder.exists() and not marker.exists():
        raise UsageError(
            f"{folder} was not made by a demonstration", hint="name another folder with --out"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    marker.touch()
    for place in ("first", "second"):
        shutil.copytree(root / "images/demo", folder / place / "images/demo")
        lock = root / "lockfiles/pylock.demo.toml"
        (folder / place / "lockfiles").mkdir()
        if lock.exists():
            shutil.copy(lock, folder / place / "lockfiles")


def _show(step: Step, folder: Path, count: str) -> None:
    if step.place == "second":
        # Only the lock and its wheels travel; everything else is made anew.
        shutil.copytree(folder / "first/lockfiles", folder / "second/lockfiles", dirs_exist_ok=True)
    where = f"  (in {step.place}/, umask {step.umask:03o})" if step.place != "first" else ""
    click.echo(f"\n{_bold(f'{count}  {step.title}')}\n$ {step.command}{where}")
    status, output = _run(step, folder)
    click.echo(output, nl=False)
    meaning = _status.MEANING.get(status, "not a status of mxenv")
    if status not in step.expected or step.says not in output:
        click.echo(f"  -> exit status {status}: {meaning}")
        wanted = f"exit status {' or '.join(map(str, step.expected))}"
        said = f", and {step.says!r} in its output" if step.says else ""
        raise NotAsExpected(f"this step should have ended with {wanted}{said}")
    checked = f"; {step.check(folder)}" if step.check else ""
    click.echo(f"  -> exit status {status} ({meaning}): {step.why}{checked}")


def _run(step: Step, folder: Path) -> tuple[int, str]:
    program = Path(sys.executable).with_name("mxenv")
    completed = subprocess.run(  # noqa: S603 - our own program, arguments from above
        [str(program), *shlex.split(step.command)[1:]],
        cwd=folder / step.place,
        env={**os.environ, "MXENV_CACHE_DIR": str(folder / f"cache-{step.place}")},
        umask=step.umask,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return completed.returncode, completed.stdout


def _bold(text: str) -> str:
    plain = os.environ.get("NO_COLOR") or not sys.stdout.isatty()
    return text if plain else click.style(text, bold=True)


def _end(out: Path, seconds: float) -> None:
    click.echo(
        f"""
{_bold(f"Done, in {seconds:.0f} s. All of it lies in {out}/first:")}
  this-machine.json           what this machine is made of
  images/demo/image.toml      what the image wants
  lockfiles/pylock.demo.toml  which wheels that is, by hash
  lockfiles/wheelhouse/       the wheels
  image/                      the image, an OCI layout

Try next:
  .venv/bin/mxenv explain MX110                       what a finding means
  .venv/bin/mxenv check -v --on recording:tests/recordings/c500-8cards
  .venv/bin/mxenv diff recording:tests/recordings/c500-8cards recording:tests/recordings/c500-mixed
  .venv/bin/mxenv record --out my-node                record a node, to replay it anywhere
  skopeo copy oci:{out}/first/image docker-daemon:demo:1    if you have skopeo and Docker
"""
    )


if __name__ == "__main__":
    from mxenv.cli._front import FRONT

    FRONT.main(["demo", *sys.argv[1:]], prog_name="mxenv")
