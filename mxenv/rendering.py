"""The Containerfile that stands for a lock, for what only a container engine can do."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mxenv import configuration, layers
from mxenv import lock as locks
from mxenv.errors import Incompatible
from mxenv.image import IN_FILES, SCRATCH
from mxenv.layers import SHARE, START_GATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mxenv.layers import Layer
    from mxenv.lock import Lock

NAME = "Containerfile"
"""What it is called in its build context."""

OWN = "mxenv"
"""The folder of the context with what mxenv itself brings: its programs, and `SHARED`."""

SHARED = f"{OWN}/share"
"""What becomes `mxenv.layers.SHARE`: the lock, its verdict, the start gate."""

WHEELS = "wheels"
FILES = "files"
LAYERS = "layers"
"""The other folders of the context; `LAYERS` for ``scratch``, on which nothing can be unpacked."""

INSTALL, CHECK, PLANS = "install.py", "check.py", "plans"
"""What puts a wheel where it belongs, what looks at the result, and the tables they go by."""

MANAGERS = {
    "apt": ("debian", "ubuntu"),
    "dnf": (
        *(
            "almalinux",
            "alinux",
            "amzn",
            "anolis",
            "centos",
            "fedora",
            "kylin",
            "ol",
            "opencloudos",
        ),
        *("openEuler", "rhel", "rocky", "tencentos"),
    ),
    "apk": ("alpine",),
}
"""Which distributions, as ``ID`` of os-release names them, are managed by what."""

STEPS = {
    "apt": (
        "export DEBIAN_FRONTEND=noninteractive",
        # Or a mirror that does not answer leaves old lists, and packages without their fixes.
        "apt-get -o APT::Update::Error-Mode=any update",
        "apt-get install -y --no-install-recommends {packages}",
        "apt-get clean",
        "rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old",
        "rm -rf /var/cache/ldconfig/aux-cache /var/log/apt /var/log/alternatives.log",
        "rm -f /var/log/dpkg.log",
    ),
    "dnf": (
        "dnf install -y --setopt=install_weak_deps=False --setopt=tsflags=nodocs {packages}",
        "dnf clean all",
        "rm -rf /var/cache/dnf /var/cache/ldconfig/aux-cache /var/log/dnf* /var/log/hawkey.log",
    ),
    "apk": ("apk add --no-cache {packages}",),
}
"""How each installs packages, and leaves behind neither lists nor logs, which tell the time."""

_PLAIN = re.compile(r"[^A-Za-z0-9._-]")
_ESCAPED = re.compile(r'([\\"$])')
_EXPANDED = re.compile(r"""([\\"'$])""")


def render(lock: Lock, base: Mapping[str, object]) -> str:
    """Return the Containerfile of ``lock`` on a base with the configuration ``base``.

    Equal locks give equal bytes: no clock, host or set order reaches them. Every builder takes
    it: Docker's classic one, BuildKit, and buildah.
    """
    parts = [_head(lock), *(_scratch(lock) if _bare(lock) else _stages(lock, base))]
    return "\n".join(parts)


def reference(lock: Lock) -> str:
    """Return the base by its digest, as an engine asks for it."""
    if lock.base.reference.startswith(IN_FILES):
        # No engine reads a folder: it is loaded under this name first.
        return f"localhost/mxenv-base:{lock.base.digest.removeprefix('sha256:')}"
    head, slash, last = lock.base.reference.partition("@")[0].rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}@{lock.base.digest}"


def added(lock: Lock) -> tuple[tuple[str, str], ...]:
    """Return where each added file lies in the context, and where it goes in the image."""
    return tuple(
        (f"{FILES}/{number}-{_PLAIN.sub('_', file.source.rpartition('/')[2])}", file.target)
        for number, (file, _) in enumerate(lock.files, 1)
    )


def layer_name(number: int) -> str:
    """Return what an archive of wheels is called that an image on ``scratch`` is made of."""
    return f"{LAYERS}/{number}.tar.gz"


def manager(lock: Lock) -> str:
    """Return the package manager of the base; refuse one that is not known."""
    named = dict(lock.facts).get("os.id", "")
    for found, names in MANAGERS.items():
        if named in names:
            return found
    known = ", ".join(sorted(name for names in MANAGERS.values() for name in names))
    raise Incompatible(
        f"how packages are installed on {named or 'a base without os.id'!r} is not known",
        context=f"{lock.name}: system",
        hint=f"known: {known}; or install them in a [[run]] step",
    )


def quoted(value: str) -> str:
    """Return ``value`` in double quotes, as ``ENV`` and ``LABEL`` take it literally."""
    return '"' + _ESCAPED.sub(r"\\\1", value) + '"'


def listed(words: Sequence[str]) -> str:
    """Return words in the JSON form, as ``RUN``, ``CMD`` and ``ENTRYPOINT`` take them literally."""
    return json.dumps(list(words), ensure_ascii=False)


def places(*paths: str) -> str:
    """Return paths in the JSON form, as ``COPY`` takes them literally: it expands variables."""
    return listed([escaped(path) for path in paths])


def escaped(word: str) -> str:
    """Return a word of which a builder that expands variables makes ``word`` again."""
    return _EXPANDED.sub(r"\\\1", word)


def _bare(lock: Lock) -> bool:
    return lock.base.reference == SCRATCH


def _config(base: Mapping[str, object]) -> Mapping[str, object]:
    found = base.get("config")
    return found if isinstance(found, dict) else {}


def _head(lock: Lock) -> str:
    return f"""\
# The image {lock.name}, rendered by `mxenv build LOCK --render`: change its image.toml, not this.
#   mxenv build lockfiles/pylock.{lock.name}.toml --engine docker
# Any other builder takes the whole context, which mxenv writes:
#   mxenv build lockfiles/pylock.{lock.name}.toml --render --out context.tar
#   docker build -f Containerfile - < context.tar
"""


def _scratch(lock: Lock) -> Iterator[str]:
    """Yield the one stage of an image in which nothing can be run: its layers come made."""
    lines = [f"FROM {SCRATCH}"]
    for number, layer in enumerate(layers.plan(lock, base_layers=0), 1):
        lines += [f"# {p.wheel.name} sha256:{p.wheel.sha256}" for p in layer.packages]
        lines.append(f"ADD {places(layer_name(number), '/')}")
    lines += _files(lock)
    yield _block(*lines, f"COPY {places(f'{SHARED}/', f'{SHARE}/')}")
    variables = dict(lock.variables)
    variables.setdefault("PYTHONPATH", lock.target.purelib)
    yield _block(*_said(lock, variables))


def _stages(lock: Lock, base: Mapping[str, object]) -> Iterator[str]:
    below, groups = reference(lock), _groups(lock, base)
    yield (
        "# Each wheel, if it has the locked hash, is unpacked to where the base's Python looks.\n"
        + _block(f"FROM {below} AS wheels", "USER 0:0", *_wheels(lock, groups))
    )
    yield (
        "# System packages, added files, steps in their order; the wheels last, over all of it.\n"
        + _block(f"FROM {below} AS image", "USER 0:0", *_image(lock, groups))
    )
    yield (
        "# Nothing that the base provides may be another now; only then is the lock handed on.\n"
        + _block(
            "FROM image AS checked",
            f"COPY {places(f'{OWN}/', f'/{OWN}/')}",
            f"COPY --from=wheels {places(f'/{OWN}/before.json', f'/{OWN}/before.json')}",
            f"RUN {_python(lock, CHECK, '--against', f'/{OWN}/before.json')}",
        )
    )
    yield _block(
        "FROM image",
        f"COPY --from=checked {places(f'/{SHARED}/', f'{SHARE}/')}",
        *_said(lock, dict(lock.variables)),
        *_started(_config(base)),
    )


def _python(lock: Lock, program: str, *arguments: str) -> str:
    # Isolated: neither the environment nor the user may change what is run.
    words = (lock.target.interpreter, "-I", "-B", f"/{OWN}/{program}", *arguments)
    return listed(words)


def _groups(lock: Lock, base: Mapping[str, object]) -> tuple[Layer, ...]:
    """Return which wheels share a layer, so that all of them are not too many."""
    found = base.get("rootfs")
    below = found.get("diff_ids") if isinstance(found, dict) else None
    steps = len(lock.files) + len(lock.run) + bool(lock.system)
    count = len(below) if isinstance(below, list) else 0
    return layers.plan(lock, base_layers=count + steps)


def _folder(group: Layer) -> str:
    return f"/{OWN}/root/{group.packages[0].name}/"


def _wheels(lock: Lock, groups: Sequence[Layer]) -> Iterator[str]:
    """Yield what puts each wheel, if it is the locked one, into the folder of its layer."""
    yield f"COPY {places(f'{OWN}/', f'/{OWN}/')}"
    yield f"RUN {_python(lock, CHECK, '--list', f'/{OWN}/before.json')}"
    for group in groups:
        for package in group.packages:
            name = package.wheel.name
            words = (_folder(group), package.name, name, package.wheel.sha256)
            yield f"COPY {places(f'{WHEELS}/{name}', f'/{OWN}/{WHEELS}/')}"
            yield f"RUN {_python(lock, INSTALL, *words)}"


def _image(lock: Lock, groups: Sequence[Layer]) -> Iterator[str]:
    if lock.needs_engine:
        # Tools that know of it write this time instead of the present one.
        yield "ARG SOURCE_DATE_EPOCH=0"
    if lock.system:
        yield _system(lock)
    yield from _files(lock)
    for script in lock.run:
        yield from _shown(script)
        yield f"RUN {listed(('/bin/sh', '-euc', script))}"
    for group in groups:
        yield f"COPY --from=wheels {places(_folder(group), '/')}"


def _shown(script: str) -> Iterator[str]:
    """Yield a script of many lines as comments: who reviews it reads no line breaks of JSON."""
    lines = script.strip("\n").split("\n")
    if len(lines) > 1:
        for line in lines:
            text = line.expandtabs(4).rstrip(" ")
            yield f"#   {text if text.isprintable() else listed([text])}".rstrip(" ")


def _system(lock: Lock) -> str:
    """Return the step that installs system packages, in a stable order."""
    found = manager(lock)
    names = sorted(set(lock.system))
    if found == "dnf":
        names = [name.replace("=", "-", 1) for name in names]
    packages = "".join(f" \\\n        {name}" for name in names)
    steps = [step.format(packages=packages.removeprefix(" ")) for step in STEPS[found]]
    return "RUN " + " \\\n    && ".join(steps)


def _files(lock: Lock) -> Iterator[str]:
    for source, target in added(lock):
        yield f"COPY {places(source, target)}"


def _said(lock: Lock, variables: Mapping[str, str]) -> Iterator[str]:
    """Yield what the image says of itself: its environment, and what it was made from."""
    for name, value in sorted(variables.items()):
        yield f"ENV {name}={quoted(value)}"
    digest = configuration.digest(locks.render(locks.without_image(lock)).encode())
    for name, value in sorted(configuration.labels(lock, digest).items()):
        yield f"LABEL {name}={quoted(value)}"


def _started(config: Mapping[str, object]) -> Iterator[str]:
    """Yield how a container starts: as the base has it, with the start gate before it."""
    if user := config.get("User"):
        yield f"USER {escaped(str(user))}"
    yield f"ENTRYPOINT {listed((START_GATE, *_words(config.get('Entrypoint'))))}"
    # To name an entrypoint is to forget the base's command.
    if command := _words(config.get("Cmd")):
        yield f"CMD {listed(command)}"


def _words(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _block(*lines: str) -> str:
    return "\n".join(lines) + "\n"
