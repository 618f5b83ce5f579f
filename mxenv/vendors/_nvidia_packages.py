"""Which of NVIDIA's software a package manager has installed: the driver, and tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Command, File, Found, Part, Question
from mxenv.vendors._words import excerpt, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DPKG = File("/var/lib/dpkg/status", Part.PACKAGES, limit=32 << 20)
RPM_NAMES = (
    "nvidia-driver",
    "nvidia-driver-cuda",
    "nvidia-open",
    "cuda-drivers",
    "kmod-nvidia-latest-dkms",
    "kmod-nvidia-open-dkms",
    "datacenter-gpu-manager",
    "nvidia-fabric-manager",
)
RPM = Command(("rpm", "-q", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\\n", *RPM_NAMES))

QUESTIONS: tuple[Question, ...] = (DPKG, RPM)

DRIVERS = (
    r"nvidia-driver(?:-\d{3})?(?:-server)?(?:-open)?",
    r"nvidia-open(?:-\d{3})?",
    r"nvidia-headless-\d{3}(?:-server)?(?:-open)?",
    r"cuda-drivers(?:-\d{3})?",
    r"nvidia-(?:dkms-\d{3}(?:-server)?(?:-open)?|kernel-(?:open-)?dkms)",
    r"kmod-nvidia-(?:latest|open)-dkms",
    r"nvidia-driver-cuda",
)
"""Packages that make a driver, in the order in which they stand for all of it."""
TOOLS = {
    "dcgm": r"datacenter-gpu-manager(?:-\d)?(?:-core)?",
    "fabricmanager": r"(?:cuda-drivers-|nvidia-)fabric-?manager(?:-\d{3})?",
    "ncu": r"nsight-compute(?:-[\d.]+)?",
    "nsys": r"nsight-systems(?:-cli)?(?:-[\d.]+)?",
}
_STANZA = (
    r"(?m)^Package: ((?:nvidia|cuda-drivers|kmod-nvidia|datacenter-gpu|nsight)[^\n]*)\n"
    r"((?:(?!Package: ).+\n)*)"
)
_FIELD = r"(?m)^(Status|Version): (.*)$"
_VERSION = r"(?a)(?:\d+:)?[0-9][0-9A-Za-z.+~]*(?:-[0-9A-Za-z.+~]+)?"
_LINE = r"(?m)^(\S+) (\S+)\n"
_NOT_INSTALLED = "is not installed"

Packages = dict[str, str]
"""The versions of what is installed, by name."""


def facts(answers: Answers) -> Iterator[Fact]:
    """Yield the driver's package as each manager has it."""
    for source, said in managers(answers).items():
        yield Fact(key="nvidia.driver_package", reading=_driver(said), source=source)


def tools(answers: Answers) -> Mapping[str, tuple[Reading, str]]:
    """Return the version of each tool that a package brings, and who says so."""
    found: dict[str, tuple[Reading, str]] = {}
    for source, said in managers(answers).items():
        if not isinstance(said, dict):
            continue
        for name, pattern in TOOLS.items():
            versions = {said[package] for package in said if re.fullmatch(pattern, package)}
            if len(versions) == 1:
                found[name] = (_version(versions.pop()), source)
            elif versions:
                several = f"several versions are installed: {', '.join(sorted(versions))}"
                found[name] = (Unreadable(several), source)
    return found


def managers(answers: Answers) -> Mapping[str, Packages | Absent | Unreadable]:
    """Return what each package manager says, by where it says so."""
    return {DPKG.path: _dpkg(answers), " ".join(RPM.argv[:2]): _rpm(answers)}


def _driver(said: Packages | Absent | Unreadable) -> Reading:
    if not isinstance(said, dict):
        return said
    for pattern in DRIVERS:
        for name in sorted(said):
            if re.fullmatch(pattern, name):
                return _version(said[name])
    return Absent()


def _version(text: str) -> Reading:
    if re.fullmatch(_VERSION, text):
        return Observed(text)
    return Unreadable(f"not a version: {excerpt(text)}")


def _dpkg(answers: Answers) -> Packages | Absent | Unreadable:
    match answers[DPKG]:
        case Found(text):
            packages: Packages = {}
            for name, stanza in re.findall(_STANZA, text):
                fields = dict(re.findall(_FIELD, stanza))
                if fields.get("Status", "").split()[-1:] == ["installed"] and "Version" in fields:
                    packages[name] = fields["Version"].strip()
            return packages
        case Absent() | Unreadable() as reading:
            return reading


def _rpm(answers: Answers) -> Packages | Absent | Unreadable:
    """Return what ``rpm`` says; its exit status counts the packages that are not there."""
    done = answers[RPM]
    if isinstance(done, Unreadable):
        return done
    if done.missing:
        return Absent()
    if done.timed_out:
        return Unreadable("it did not end within its time limit", passing=True)
    text = plain(done.stdout)
    lines = [line for line in text.splitlines(keepends=True) if _NOT_INSTALLED not in line]
    known = [re.fullmatch(_LINE, line) for line in lines]
    spoken = len(text.splitlines())
    if spoken != len(RPM_NAMES) or not all(found and found[1] in RPM_NAMES for found in known):
        said = excerpt(f"{done.stdout}\n{done.stderr}")
        return Unreadable(f"it exited with {done.returncode}: {said}")
    return {found[1]: found[2] for found in known if found}
