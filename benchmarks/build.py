"""``mxenv build`` against ``docker build``: the same wheels in the same place.

The equivalent Containerfile installs the wheels with pip in a stage that has Python, and copies
the result onto ``scratch``, which the demo image has as its base. The stage's image, pip and the
wheels lie on this machine before the clock starts; neither side downloads, or compiles modules.

cold
    Nothing was built before: an empty cache of layers (mxenv), ``--no-cache`` (Docker).
one changed wheel
    Another version of the lock was built before and all caches are warm; one wheel differs.
    Docker runs its steps again from the first that sees the wheels; mxenv makes one layer.
nothing changed
    What it costs to find that out.

::

    python benchmarks/build.py LOCK [RUNS]        needs a Docker engine, mmdebstrap and pip
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from _timing import MXENV, Contender, Cost, compare, machine, table, verdict
from _wheels import changed, names

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import _debian

COLD_TARGET = 5
CHANGED_TARGET = 50
STAGE = "mxenv-benchmark/python"
IMAGE = "mxenv-benchmark/demo"
CONTAINERFILE = """\
FROM {stage} AS installed
COPY pip /pip
COPY wheels /wheels
RUN python3 /pip/pip.whl/pip install --quiet --no-index --no-deps --no-compile \\
    --root-user-action ignore --target /opt/mxenv/lib/python{python}/site-packages /wheels/*.whl
FROM scratch
COPY --from=installed /opt/mxenv /opt/mxenv
ENV PYTHONPATH=/opt/mxenv/lib/python{python}/site-packages
"""


class Bench:
    """The folders of one comparison, and what puts them back before each run."""

    def __init__(self, folder: Path, lock: Path) -> None:
        """Lay everything out; ``lock`` has its wheelhouse beside it."""
        self.folder, self.lock = folder, folder / "lockfiles" / lock.name
        self.lock.parent.mkdir()
        # A copy: what is built is written into a lock.
        shutil.copy(lock, self.lock)
        shutil.copytree(lock.parent / "wheelhouse", self.lock.parent / "wheelhouse")
        self.context, self.cache, self.out = (folder / name for name in ("context", "cache", "out"))
        self._numbers = itertools.count()
        (self.context / "pip").mkdir(parents=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "pip"]
        subprocess.run([*pip, "--dest", str(folder / "pip")], check=True)
        shutil.copy(next((folder / "pip").iterdir()), self.context / "pip" / "pip.whl")
        root = _debian.rootfs(folder / "stage")
        subprocess.run(["docker", "import", str(root), STAGE], check=True, capture_output=True)
        text = CONTAINERFILE.format(stage=STAGE, python=_debian.python_of(root))
        (self.context / "Containerfile").write_text(text, encoding="utf-8")

    def mxenv(self, title: str, lock: Path, *, cold: bool) -> Contender:
        """Return what builds ``lock`` into a layout."""
        return Contender(
            title=f"mxenv build, {title}",
            argv=(MXENV, "build", str(lock), "--out", str(self.out)),
            before=self._forget if cold else lambda: None,
            environment=(("MXENV_CACHE_DIR", str(self.cache)),),
        )

    def docker(self, title: str, *, cold: bool) -> Contender:
        """Return what builds the wheels of the context into an image."""
        options = ("--no-cache",) if cold else ()
        where = ("--file", str(self.context / "Containerfile"), "--network", "none")
        return Contender(
            title=f"docker build, {title}",
            argv=("docker", "build", *options, *where, "--tag", IMAGE, str(self.context)),
        )

    def _forget(self) -> None:
        for folder in (self.cache, self.out):
            shutil.rmtree(folder, ignore_errors=True)

    def take(self, lock: Path) -> None:
        """Make the wheels of ``lock`` those of Docker's context."""
        shutil.rmtree(self.context / "wheels", ignore_errors=True)
        (self.context / "wheels").mkdir()
        for name in names(lock):
            shutil.copy(lock.parent / "wheelhouse" / name, self.context / "wheels")

    def change(self) -> Path:
        """Return a lock of which one wheel was never seen before; the context has it too."""
        number = next(self._numbers)
        lock = changed(self.lock, self.folder / f"changed-{number}", number=number)
        self.take(lock)
        return lock


def one_changed(bench: Bench, runs: int) -> tuple[Cost, Cost]:
    """Measure a build after one wheel changed: another change for every run."""
    costs = []
    for _ in range(runs):
        lock = bench.change()
        pair = (bench.docker("changed", cold=False), bench.mxenv("changed", lock, cold=False))
        costs.append(compare(pair, runs=1, warm_up=False))
    docker, mxenv = zip(*costs, strict=True)
    middle = runs // 2
    return (
        sorted(docker, key=lambda cost: cost.seconds)[middle],
        sorted(mxenv, key=lambda cost: cost.seconds)[middle],
    )


def main(lock: Path, runs: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), lock.resolve())
        bench.take(bench.lock)
        title = "cold"
        cold = compare(
            (bench.docker(title, cold=True), bench.mxenv(title, bench.lock, cold=True)), runs=runs
        )
        changed_one = one_changed(bench, runs)
        bench.take(bench.lock)
        title = "nothing changed"
        same = compare(
            (bench.docker(title, cold=False), bench.mxenv(title, bench.lock, cold=False)), runs=runs
        )
    size = sum((lock.parent / "wheelhouse" / name).stat().st_size for name in names(lock))
    print(f"{machine()}; {lock.name}, {len(names(lock))} wheels, {size / 2**20:.1f} MiB;")
    print(f"median of {runs} runs, in turn\n")
    rows = [["", "docker build, s", "mxenv build, s", "times faster", "target"]]
    for title, (docker, mxenv), target in (
        ("cold", cold, COLD_TARGET),
        ("one changed wheel", changed_one, CHANGED_TARGET),
        ("nothing changed", same, None),
    ):
        ratio = docker.seconds / mxenv.seconds
        said = verdict(f"{ratio:.1f}", met=ratio >= target) if target else f"{ratio:.1f}"
        times = (f"{docker.seconds:.2f}", f"{mxenv.seconds:.3f}")
        rows.append([title, *times, said, str(target or "")])
    print(table(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)  # noqa: PLR2004 - the second argument
