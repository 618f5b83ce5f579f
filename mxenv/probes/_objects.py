"""Which shared objects decide whether a stack can be loaded, and whose they are."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from mxenv import elf, version
from mxenv.distribution import normalised
from mxenv.facts import Unreadable
from mxenv.frozen import frozen
from mxenv.probes._distributions import FOLDER, matches, place
from mxenv.question import Env, File, Found, Glob, Link, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.elf import Elf
    from mxenv.question import Answers, Matches, Question

PATHS = Env("LD_LIBRARY_PATH")
NO_OBJECT = "not an ELF file"
"""What is said of a linker's script, which is named like a library."""
VENDORS = (
    ("/opt/maca/lib", ("lib*.so*",)),
    ("/opt/maca/mxgpu_llvm/lib", ("lib*.so*",)),
    ("/opt/hpcc/lib", ("lib*.so*",)),
    ("/opt/mxdriver/lib", ("lib*.so*",)),
    ("/usr/local/cuda/lib64", ("lib*.so.[0-9]", "lib*.so.[0-9][0-9]")),
    ("/usr/lib/*-linux-gnu", ("libcuda.so.1", "libnvidia-ml.so.1", "libmxsml.so")),
    ("/usr/lib64", ("libcuda.so.1", "libnvidia-ml.so.1", "libmxsml.so")),
)
"""Where vendors put their libraries, and a host's driver its own; links to one are not asked."""
BASIC = {
    "libc.so.6": ("/lib/*-linux-gnu", "/lib64"),
    "libstdc++.so.6": ("/usr/lib/*-linux-gnu", "/usr/lib64"),
}
"""What says how new a system is, and where it lies on every one that is known."""
FRAMEWORK = {
    "torch": ("torch/lib/*.so*", "torch/*.so"),
    "paddlepaddle": ("paddle/libs/*.so*", "paddle/base/*.so"),
    "paddlepaddle-gpu": ("paddle/libs/*.so*", "paddle/base/*.so"),
}
"""Below a directory of distributions."""
EXTENSIONS = frozenset(
    {
        "apex",
        "causal-conv1d",
        "deepspeed",
        "detectron2",
        "flash-attn",
        "flashinfer-python",
        "lmdeploy",
        "mamba-ssm",
        "mcoplib",
        "mmcv",
        "natten",
        "pyg-lib",
        "sgl-kernel",
        "torch-cluster",
        "torch-scatter",
        "torch-sparse",
        "torchaudio",
        "torchvision",
        "transformer-engine",
        "vllm",
        "vllm-metax",
        "xformers",
    }
)
"""Distributions that are built against one torch, whether or not their version says so.

Not those that bring a library for every system there is, and load what happens to work.
"""
METADATA, RECORD = "-packages/*.dist-info/METADATA", "-packages/*.dist-info/RECORD"


@frozen(kw_only=False)
class Object:
    """A shared object that was read."""

    path: str
    elf: Elf

    @property
    def folder(self) -> str:
        """Return the directory that it lies in."""
        return self.path.rpartition("/")[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names by which others may need it."""
        name = self.path.rpartition("/")[2]
        return (name, self.elf.soname) if self.elf.soname not in {"", name} else (name,)


@frozen
class Group:
    """The shared objects of one distribution, or of one folder of a vendor."""

    owner: str
    """``env/name`` or the folder."""
    globs: tuple[Glob, ...]
    site: str = ""
    """The directory of distributions, empty for a vendor's."""
    linked: bool = False
    """True if what it needs of a framework, or of a vendor, is of another make than itself."""


@frozen
class Place:
    """A directory of distributions that holds a framework, or anything of a vendor's."""

    site: str
    env: str

    @property
    def python(self) -> str:
        """Return the path of the program that loads what is in it."""
        return f"{self.env}/bin/python3"

    @property
    def beside(self) -> Glob:
        """Libraries of NVIDIA's, which a framework loads before its own."""
        return Glob(f"{self.site}/nvidia/*/lib/lib*.so*")

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is asked of the environment itself."""
        own = File(f"{self.env}/lib/libstdc++.so.6", Part.ELF)
        return (File(self.python, Part.ELF), Link(self.python), self.beside, own)


def _each(folder: str, names: tuple[str, ...]) -> tuple[Glob, ...]:
    return tuple(Glob(f"{folder}/{name}", Part.ELF) for name in names)


VENDOR_GROUPS = tuple(Group(owner=at, globs=_each(at, names)) for at, names in VENDORS)
SYSTEM_GLOBS = tuple(
    Glob(f"{at}/{name}", Part.ELF) for name, places in BASIC.items() for at in places
)


def vendor_groups(answers: Answers) -> Iterator[Group]:
    """Yield the folders of vendors in which there is anything; the system's, file by file."""
    for group in VENDOR_GROUPS:
        found = [glob for glob in group.globs if isinstance(answers[glob], Found)]
        if found and not group.owner.startswith("/usr/lib"):
            yield group
        else:
            for glob in found:
                yield Group(owner=matches(answers, glob)[0][0], globs=(glob,))


def environments(answers: Answers) -> tuple[tuple[Place, ...], tuple[Group, ...]]:
    """Return where frameworks and vendors' builds are installed, and the groups of objects."""
    places, groups = [], []
    sites = _sites(answers)
    tops = dict(_matches(answers, RECORD)) if sites else {}
    for site, folders in sorted(sites.items()):
        where = place(site)
        names = {folder: _told(folder) for folder in answers.each(folders)}
        if where is None or not any(_decides(*told) for told in names.values()):
            continue
        places.append(Place(site=site, env=where.prefix))
        for folder, (name, tagged) in sorted(names.items()):
            if _decides(name, tagged) or name in EXTENSIONS:
                record = tops.get(f"{site}/{folder}.dist-info/RECORD")
                listed = record.value if isinstance(record, Found) else ""
                groups.append(
                    Group(
                        owner=f"{where.prefix}/{name}",
                        globs=tuple(_globs(site, name, folder, listed)),
                        site=site,
                        linked=tagged or name not in FRAMEWORK,
                    )
                )
    return tuple(places), tuple(groups)


def _sites(answers: Answers) -> dict[str, list[str]]:
    """Return the names of folders of metadata, without their ends, by where they lie.

    Only of directories that may count: of thousands of distributions few decide anything.
    """
    found = answers.each(_matches(answers, METADATA))
    paths = [path.removesuffix("/METADATA") for path, _ in found]
    near = {
        path.rpartition("/")[0]
        for path in paths
        if "+" in path or "/torch-" in path or "/paddlepaddle" in path
    }
    sites: dict[str, list[str]] = {}
    seen = set()
    for path in answers.each(paths if near else ()):
        site, _, last = path.rpartition("/")
        match = FOLDER.fullmatch(last) if site in near else None
        # ``lib64`` is often a link to ``lib``, and shows all of it a second time.
        twin = path.replace("/lib64/", "/lib/")
        if match and twin not in seen:
            seen.add(twin)
            sites.setdefault(site, []).append(match[1])
    return sites


def metadata(answers: Answers) -> Iterator[Glob]:
    """Yield the questions that told which distributions there are."""
    yield from (q for q in answers if isinstance(q, Glob) and q.pattern.endswith(METADATA))


def _matches(answers: Answers, end: str) -> Matches:
    asked = (q for q in answers if isinstance(q, Glob) and q.pattern.endswith(end))
    return tuple(match for glob in asked for match in matches(answers, glob))


@lru_cache(maxsize=8192)
def _told(folder: str) -> tuple[str, bool]:
    """Return the name in the name of a folder, and whether its version is a vendor's build."""
    name, _, number = folder.partition("-")
    return normalised(name), "+" in number and version.tag(number) is not None


def _decides(name: str, tagged: bool) -> bool:  # noqa: FBT001 - the pair that `_told` returns
    return tagged or name in FRAMEWORK


def _globs(site: str, name: str, folder: str, listed: str) -> Iterator[Glob]:
    """Yield where the objects of a distribution lie: not deeper than any is known to put them."""
    for pattern in FRAMEWORK.get(name, ()):
        yield Glob(f"{site}/{pattern}", Part.ELF)
    if name in FRAMEWORK:
        return
    tops = listed.splitlines() or [f"{folder.partition('-')[0]}/"]
    for top in tops:
        if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.so", top):
            yield Glob(f"{site}/{top}", Part.ELF)
        elif re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*/", top) and not top.endswith("-info/"):
            yield Glob(f"{site}/{top}*.so", Part.ELF)
            yield Glob(f"{site}/{top}*/*.so", Part.ELF)


def objects(answers: Answers, group: Group) -> tuple[Object, ...]:
    """Return the objects of a group that were read, each once."""
    found: dict[tuple[str, str], Object] = {}
    for path, part in answers.each(_parts(answers, group)):
        content = parsed(part.value) if isinstance(part, Found) else None
        if content is not None:
            read = Object(path, content)
            # A library lies there by up to three names, of which two are links.
            found.setdefault((read.folder, read.names[-1]), read)
    return tuple(found.values())


def unread(answers: Answers, group: Group) -> tuple[tuple[str, Unreadable], ...]:
    """Return what of a group could not be read, and why."""
    closed = [(g.pattern, a) for g in group.globs if isinstance(a := answers[g], Unreadable)]
    every = answers.each(_parts(answers, group))
    parts = [(path, part) for path, part in every if not _says(part)]
    odd = Unreadable("not understood")
    return (*closed, *((path, p if isinstance(p, Unreadable) else odd) for path, p in parts))


def _says(part: object) -> bool:
    """Return whether a part tells what there is to know, be it that it is no object."""
    match part:
        case Found(str(text)):
            return parsed(text) is not None
        case Unreadable(reason):
            return reason == NO_OBJECT
        case _:
            return True


def _parts(answers: Answers, group: Group) -> Matches:
    return tuple(match for glob in group.globs for match in matches(answers, glob))


def read_object(answers: Answers, path: str) -> Object | None:
    """Return the object that was asked for by its path, if it was read."""
    answer = answers[File(path, Part.ELF)]
    content = parsed(answer.value) if isinstance(answer, Found) else None
    return None if content is None else Object(path, content)


@lru_cache(maxsize=8192)
def parsed(text: str) -> Elf | None:
    """Return what was read of an object, if it was understood."""
    return elf.parse(text)
