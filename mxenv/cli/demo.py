"""``mxenv demo``: the whole chain in front of you, on a checkout; `make demo` runs it."""

from __future__ import annotations

import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options, _status
from mxenv.errors import MxenvError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARTS = ("images/demo", "tests/recordings/c500-8cards", "tests/recordings/c500-mixed")
HERE = "."
UMASK = 0o022
FIRST, SECOND = "first", "second"


class NotAsExpected(MxenvError):
    """A step of the demonstration came out differently."""

    exit_code = 70


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, as a user would type it, and how it should end."""

    title: str
    command: str
    expected: tuple[int, ...] = (0,)
    why: str
    """What the exit status means here."""
    place: str = FIRST
    """Where it runs: the checkout, or one of the two copies of the project."""
    umask: int = UMASK
    says: str = ""
    """What its output must hold."""
    check: Callable[[Path], str] | None = None
    """Given the demonstration's folder, say what is true of it now."""


def _digests_agree(folder: Path) -> str:
    first, second = (_manifest(folder / place / "image") for place in (FIRST, SECOND))
    if first != second:
        raise NotAsExpected(f"the digests differ: {first} and {second}")
    return f"both are {first}"


STEPS = (
    Step(
        title="What is this machine made of?",
        command="mxenv probe --out {this}",
        why="the snapshot is written",
        place=HERE,
    ),
    Step(
        title="What was a node with eight C500 cards made of? Recorded there, replayed here",
        command="mxenv probe --on recording:tests/recordings/c500-8cards",
        why="a recording answers as the node did",
        says="C500",
        place=HERE,
    ),
    Step(
        title="Is this machine known to work?",
        command="mxenv check {this}",
        expected=(0, 1, 3),
        why="a machine without an accelerator is unknown, never compatible",
        place=HERE,
    ),
    Step(
        title="Is the recorded node known to work?",
        command="mxenv check --on recording:tests/recordings/c500-8cards",
        why="evidence covers every component",
        place=HERE,
    ),
    Step(
        title="Turn what an image wants into exact wheels",
        command="mxenv lock images/demo/image.toml",
        why="the lock says which wheels, by hash",
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
        title="Build it again: in another directory, with another cache and another umask",
        command="mxenv build lockfiles/pylock.demo.toml --out image",
        place=SECOND,
        umask=0o077,
        why="and the digests agree",
        check=_digests_agree,
    ),
    Step(
        title="Is in the image what is in the lock?",
        command="mxenv verify lockfiles/pylock.demo.toml --on oci:image",
        why="every file of every wheel",
    ),
    Step(
        title="Would CI let this project through?",
        command="mxenv gate",
        why="the lock is fresh, and nothing in it is known to fail",
    ),
    Step(
        title="And a node whose components come from different releases?",
        command="mxenv gate tests/recordings/c500-mixed",
        expected=(1,),
        why="refused; the first finding says which component comes from which release",
        says="MX110",
        place=HERE,
    ),
)
"""What is shown, in this order; ``{this}`` is the file of this machine's snapshot."""


def steps(out: Path) -> tuple[Step, ...]:
    """Return the demonstration, for an ``out`` folder as seen from the checkout."""
    this = shlex.quote(str(out / FIRST / "this-machine.json"))
    return tuple(replace(step, command=step.command.replace("{this}", this)) for step in STEPS)


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
    todo = steps(out)
    for number, step in enumerate(todo, 1):
        _show(step, root, folder, f"{number}/{len(todo)}")
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
    for place in (FIRST, SECOND):
        shutil.copytree(root / "images/demo", folder / place / "images/demo")
    lock = root / "lockfiles/pylock.demo.toml"
    (folder / FIRST / "lockfiles").mkdir()
    if lock.exists():
        shutil.copy(lock, folder / FIRST / "lockfiles")


def _show(step: Step, root: Path, folder: Path, count: str) -> None:
    if step.place == SECOND:
        # Only the lock and its wheels travel; everything else is made anew.
        shutil.copytree(folder / FIRST / "lockfiles", folder / SECOND / "lockfiles")
    where = "" if step.place == HERE else f"    (in {os.path.relpath(folder / step.place, root)})"
    umask = "" if step.umask == UMASK else f"umask {step.umask:03o}; "
    click.echo(f"\n{_bold(f'{count}  {step.title}')}\n$ {umask}{step.command}{where}")
    status, output = _run(step, root if step.place == HERE else folder / step.place, folder)
    meaning = _status.MEANING.get(status, "not a status of mxenv")
    if status not in step.expected or step.says not in output:
        wanted = f"exit status {' or '.join(map(str, step.expected))}"
        said = f", and {step.says!r} in its output" if step.says else ""
        raise NotAsExpected(
            f"step {count} ended with {status} ({meaning}); expected {wanted}{said}"
        )
    checked = f": {step.check(folder)}" if step.check else ""
    click.echo(_bold(f"-> exit status {status} ({meaning}): {step.why}{checked}"))


def _run(step: Step, place: Path, folder: Path) -> tuple[int, str]:
    """Run a step as a shell would, show what it says, and return how it ended."""
    ours, theirs = pty.openpty() if sys.stdout.isatty() else os.pipe()
    columns = str(shutil.get_terminal_size().columns)
    with (
        subprocess.Popen(  # noqa: S603 - our own program, arguments from above
            [Path(sys.executable).with_name("mxenv"), *shlex.split(step.command)[1:]],
            cwd=place,
            env={
                **os.environ,
                "COLUMNS": columns,
                "MXENV_CACHE_DIR": str(folder / f"cache-{step.place}"),
            },
            umask=step.umask,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        ) as process
    ):
        os.close(theirs)
        output = b"".join(_shown(ours))
        os.close(ours)
    return process.returncode, output.decode(errors="replace")


def _shown(descriptor: int) -> Iterator[bytes]:
    # A terminal whose other side is gone says EIO, a pipe says nothing.
    with suppress(OSError):
        while chunk := os.read(descriptor, 1 << 16):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            yield chunk


def _bold(text: str) -> str:
    plain = os.environ.get("NO_COLOR") or not sys.stdout.isatty()
    return text if plain else click.style(text, bold=True)


def _end(out: Path, seconds: float) -> None:
    click.echo(
        f"""
{_bold(f"Done, in {seconds:.0f} s. All of it lies in {out / FIRST}:")}
  this-machine.json           what this machine is made of
  images/demo/image.toml      what the image wants
  lockfiles/pylock.demo.toml  which wheels that is, by hash
  lockfiles/wheelhouse/       the wheels
  image/                      the image, an OCI layout

{_bold("Try next:")}
  .venv/bin/mxenv explain MX110
  .venv/bin/mxenv check -v --on recording:tests/recordings/c500-8cards
  .venv/bin/mxenv diff tests/recordings/c500-8cards tests/recordings/c500-mixed
  .venv/bin/mxenv matrix why wheel-same-maca
  .venv/bin/mxenv record --out my-node"""
    )


if __name__ == "__main__":
    from mxenv.cli._front import FRONT

    FRONT.main(["demo", *sys.argv[1:]], prog_name="mxenv")
