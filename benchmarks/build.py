"""``mxenv build`` against ``docker build`` and ``buildah build``: the same wheels in one place.

Of the others there are two kinds. *Rendered* is the Containerfile that ``mxenv build --render``
writes of the same lock, with its whole context. *Written* is what somebody writes who has no
mxenv: it installs the wheels with pip in a stage that has Python, and copies the result onto
``scratch``, which the measured images have as their base. The stage's image, pip, the wheels and
the rendered context lie on this machine before the clock starts; no side downloads, or compiles
modules.

cold
    Nothing was built before: an empty cache of layers (mxenv), ``--no-cache`` (the others).
one changed wheel
    Another version of the lock was built before and all caches are warm; one wheel differs.
    The others run their steps again from the first that sees the wheels; mxenv makes one layer.
nothing changed
    What it costs to find that out.

The bytes are those of a push to a registry on loopback, counted between the two: of a lock whose
base lies in that registry, after one of its wheels changed.

::

    python benchmarks/build.py LOCK [RUNS]    needs a Docker engine, mmdebstrap, pip and Debian's
                                              docker-registry; takes buildah along if it is there
"""

from __future__ import annotations

import itertools
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from _timing import MXENV, Contender, Cost, compare, machine, once, table, verdict
from _wheels import changed, names

from mxenv import lock as locks

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import _debian
import _registry
from _proxy import counting

if TYPE_CHECKING:
    from collections.abc import Sequence

COLD_TARGET = 8
CHANGED_TARGET = 100
SAME_TARGET = 0.6
MEMORY_TARGET = 200
UP_TARGET, DOWN_TARGET = 64_000, 100_000
STAGE = "mxenv-benchmark/python"
IMAGE, RENDERED = "mxenv-benchmark/written", "mxenv-benchmark/rendered"
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
        self.rendered = folder / "rendered.tar"
        self._numbers = itertools.count()
        (self.context / "pip").mkdir(parents=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "pip"]
        subprocess.run([*pip, "--dest", str(folder / "pip")], check=True)
        shutil.copy(next((folder / "pip").iterdir()), self.context / "pip" / "pip.whl")
        self.root = _debian.rootfs(folder / "stage")
        subprocess.run(["docker", "import", str(self.root), STAGE], check=True, capture_output=True)
        self.buildah = _buildah(folder, self.root)
        text = CONTAINERFILE.format(stage=STAGE, python=_debian.python_of(self.root))
        (self.context / "Containerfile").write_text(text, encoding="utf-8")

    def contenders(self, title: str, lock: Path, *, cold: bool) -> tuple[Contender, ...]:
        """Return all that are compared, mxenv first."""
        where = ("--file", str(self.context / "Containerfile"), "--network", "none")
        mxenv = Contender(
            title=f"mxenv build, {title}",
            argv=(MXENV, "build", str(lock), "--out", str(self.out)),
            before=self._forget if cold else lambda: None,
            environment=(("MXENV_CACHE_DIR", str(self.cache)),),
        )
        again = ("--no-cache",) if cold else ()
        call = ("docker", "build", *again, "--quiet", "--file", "Containerfile", "--tag", RENDERED)
        rendered = Contender(
            title=f"docker build of the rendered one, {title}",
            argv=("sh", "-c", f"{shlex.join(call)} - < {shlex.quote(str(self.rendered))}"),
        )
        docker = Contender(
            title=f"docker build, {title}",
            argv=(
                *("docker", "build", *again, *where),
                *("--tag", IMAGE, str(self.context)),
            ),
        )
        buildah = Contender(
            title=f"buildah build, {title}",
            argv=(
                *(*self.buildah, "build", "--isolation", "chroot", "--pull=never", "--quiet"),
                *("--no-cache" if cold else "--layers", *where[:2]),
                *("--tag", IMAGE, str(self.context)),
            ),
        )
        return (mxenv, rendered, docker, *((buildah,) if self.buildah else ()))

    def _forget(self) -> None:
        for folder in (self.cache, self.out):
            shutil.rmtree(folder, ignore_errors=True)

    def take(self, lock: Path) -> None:
        """Make the wheels of ``lock`` those of the others' contexts."""
        self.rendered.unlink(missing_ok=True)
        once(
            Contender(
                title="mxenv build --render",
                argv=(MXENV, "build", str(lock), "--render", "--out", str(self.rendered)),
                environment=(("MXENV_CACHE_DIR", str(self.folder / "rendering")),),
            )
        )
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


def _buildah(folder: Path, root: Path) -> tuple[str, ...]:
    """Return how buildah is called, the stage's image in its store; nothing if it is not here."""
    if shutil.which("buildah") is None:
        return ()
    for driver in ("overlay", "vfs"):
        store = folder / f"buildah-{driver}"
        call = ("buildah", "--root", str(store), "--runroot", f"{store}-run")
        call = (*call, "--storage-driver", driver)
        made = subprocess.run(
            [*call, "from", "scratch"], capture_output=True, text=True, check=False
        )
        if made.returncode == 0:
            name = made.stdout.strip()
            for command in (("add", name, str(root), "/"), ("commit", "--rm", name, STAGE)):
                subprocess.run([*call, *command], check=True, capture_output=True)
            return call
    return ()


def one_changed(bench: Bench, runs: int) -> tuple[Cost, ...]:
    """Measure a build after one wheel changed: another change for every run."""
    costs = []
    for _ in range(runs):
        contenders = bench.contenders("one changed wheel", bench.change(), cold=False)
        costs.append(compare(contenders, runs=1, warm_up=False))
    return tuple(
        sorted(each, key=lambda cost: cost.seconds)[runs // 2] for each in zip(*costs, strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a push moved after one wheel changed."""

    up: int
    down: int
    layer: int
    """Bytes of the layer of the changed wheel."""


def moved(bench: Bench) -> Moved:
    """Push an image onto a base in the same registry, then again with one wheel changed."""
    with _registry.serve(_made(bench.folder / "registry")) as registry:
        tar = bench.folder / "base.tar"
        shutil.copy(bench.root, tar)
        registry.push("base", "1", [tar], {"Env": ["PATH=/usr/bin:/bin"]})
        index = registry.manifest("base:1")[1]
        digest = str(index["manifests"][0]["digest"])
        with counting(registry.address) as door:
            reference = f"{door.address}/base:1"
            first = _on_base(bench.lock, reference, digest)
            second = _on_base(bench.change(), reference, digest)
            for lock in (first, second):
                door.forget()
                once(
                    Contender(
                        title="mxenv build --push",
                        argv=(MXENV, "build", str(lock), "--push", f"{door.address}/image:1"),
                        environment=(("MXENV_CACHE_DIR", str(bench.folder / "pushed")),),
                    )
                )
            before, after = (_layers(registry, lock) for lock in (first, second))
        new = sum(size for layer, size in after.items() if layer not in before)
    return Moved(up=door.up, down=door.down, layer=new)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _on_base(path: Path, reference: str, digest: str) -> Path:
    """Write a copy of a lock on another base."""
    lock = locks.parse(path.read_text(encoding="utf-8"), context=str(path))
    base = locks.Base(reference=reference, digest=digest)
    copy = path.with_name(f"pylock.{lock.name}-on-base.toml")
    text = locks.render(replace(lock, name=f"{lock.name}-on-base", base=base, built=None))
    copy.write_text(text, encoding="utf-8")
    return copy


def _layers(registry: _registry.Registry, lock: Path) -> dict[str, int]:
    """Return the layers of wheels of what a lock was pushed as; the last says what it is."""
    import requests  # noqa: PLC0415 - for this alone

    built = locks.parse(lock.read_text(encoding="utf-8"), context=str(lock)).built
    if built is None:
        sys.exit(f"{lock} was not built")
    url = f"http://{registry.address}/v2/image/manifests/{built.manifest}"
    answer = requests.get(url, headers={"Accept": _registry.ACCEPTED}, timeout=60)
    answer.raise_for_status()
    return {layer["digest"]: layer["size"] for layer in answer.json()["layers"][:-1]}


def main(lock: Path, runs: int) -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), lock.resolve())
        bench.take(bench.lock)
        cold = compare(bench.contenders("cold", bench.lock, cold=True), runs=runs)
        changed_one = one_changed(bench, runs)
        bench.take(bench.lock)
        same = compare(bench.contenders("nothing changed", bench.lock, cold=False), runs=runs)
        pushed = moved(bench)
    size = sum((lock.parent / "wheelhouse" / name).stat().st_size for name in names(lock))
    print(f"{machine()}; {lock.name}, {len(names(lock))} wheels, {size / 2**20:.1f} MiB;")
    print(f"median of {runs} runs, in turn\n")
    print(table(_times({"cold": cold, "one changed wheel": changed_one, "nothing changed": same})))
    peak = max(cost.peak_mib for cost in (cold[0], changed_one[0], same[0]))
    said = verdict(f"{same[0].seconds:.2f} s", met=same[0].seconds <= SAME_TARGET)
    print(f"\nnothing changed: {said}; at most {SAME_TARGET} s")
    print(
        f"memory: {verdict(f'{peak:.0f} MiB', met=peak <= MEMORY_TARGET)}; at most {MEMORY_TARGET}"
    )
    over = pushed.up - pushed.layer
    print(
        f"sent after one changed wheel: {pushed.up} bytes, {pushed.layer} of them its layer, "
        f"{verdict(f'{over} others', met=over <= UP_TARGET)}; at most {UP_TARGET}"
    )
    down = verdict(f"{pushed.down} bytes", met=pushed.down <= DOWN_TARGET)
    print(f"received, the base included: {down}; at most {DOWN_TARGET}")


def _times(measured: dict[str, Sequence[Cost]]) -> list[list[str]]:
    """Return the rows of times: mxenv, then each peer with how many times it takes."""
    named = ("docker build, rendered", "docker build, written", "buildah build, written")
    peers = named[: len(next(iter(measured.values()))) - 1]
    head = ["", "mxenv build, s", "of CPU, s", "MiB"]
    rows = [[*head, *(part for peer in peers for part in (f"{peer}, s", "times"))]]
    targets = {"cold": COLD_TARGET, "one changed wheel": CHANGED_TARGET}
    for title, (mxenv, *others) in measured.items():
        row = [title, f"{mxenv.seconds:.3f}", f"{mxenv.cpu_seconds:.2f}", f"{mxenv.peak_mib:.0f}"]
        for number, peer in enumerate(others):
            ratio = peer.seconds / mxenv.seconds
            target = targets.get(title) if number == 0 else None
            said = f"{ratio:.1f}"
            if target is not None:
                said = verdict(said, met=ratio >= target) + f", target {target}"
            row += [f"{peer.seconds:.2f}", said]
        rows.append(row)
    return rows


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)  # noqa: PLR2004 - the second argument
