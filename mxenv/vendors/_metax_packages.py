"""Which of MetaX's system packages are installed, by dpkg and by rpm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Command, Completed, File, Found, Part, Question
from mxenv.vendors._mxsmi import version
from mxenv.vendors._words import excerpt, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

DRIVER = "metax-driver"
DPKG = File("/var/lib/dpkg/status", Part.PACKAGES, limit=32 << 20)
RPM = Command(("rpm", "-q", "--qf", "%{VERSION}\\n", DRIVER))
RPMS = Command(
    ("rpm", "-qa", "--qf", "%{NAME} %{VERSION}\\n", "metax*", "maca*", "mx*", "mc*"),
    seconds=8.0,
)
QUESTIONS: tuple[Question, ...] = (DPKG, RPM)

_NAME = (
    r"metax-[a-z0-9+.-]+|maca(?:[_-]sdk|info)[a-z0-9_.+-]*"
    r"|mx(?:fw|smt|gvm|vs|kw|compute|gpu|diagease|report|exporter)[a-z0-9_.+-]*"
    r"|mc(?:cl|blas|dnn|runtime|compiler|tracer|pti|profiler)[a-z0-9_.+-]*"
)
_OWN = re.compile(_NAME)
"""Names that MetaX's packages have; there are others that begin with ``mx`` or ``mc``."""
_STANZA = re.compile(rf"^Package: ({_NAME})\n((?:(?!Package: )[^\n]+\n)*)", re.MULTILINE)
_FIELD = re.compile(r"^(Status|Version): (.*)$", re.MULTILINE)
_LINE = re.compile(r"(\S+) (\S+)\n")
_INSTALLED = "installed"


def more(answers: Answers) -> Iterator[Question]:
    """Yield what to ask where MetaX's things were seen."""
    done = answers[RPM]
    if isinstance(done, Completed) and not done.missing:
        yield RPMS


def facts(answers: Answers) -> Iterator[Fact]:
    """Yield the version of the driver's package, and of every other one."""
    driver, key = "metax.driver_package", "metax.package"
    installed = _installed(answers)
    if isinstance(installed, dict):
        reading: Reading = version(installed[DRIVER]) if DRIVER in installed else Absent()
    else:
        reading = installed
    yield Fact(key=driver, reading=reading, source=DPKG.path)
    yield Fact(key=driver, reading=_rpm(answers), source=" ".join(RPM.argv[:2]))
    rpms = _rpms(answers)
    for packages, source in ((installed, DPKG.path), (rpms, " ".join(RPMS.argv[:2]))):
        if not isinstance(packages, dict):
            yield Fact(key=key, reading=packages, source=source)
            continue
        for name, told in packages.items():
            yield Fact(key=key, instance=name, reading=version(told), source=source)
        if not packages:
            yield Fact(key=key, reading=Absent(), source=source)


def _installed(answers: Answers) -> dict[str, str] | Absent | Unreadable:
    """Return the versions of MetaX's packages that dpkg has installed."""
    match answers[DPKG]:
        case Found(text):
            found: dict[str, str] = {}
            for stanza in _STANZA.finditer(text):
                fields = dict(_FIELD.findall(stanza[2]))
                if fields.get("Status", "").split()[-1:] == [_INSTALLED]:
                    found[stanza[1]] = fields.get("Version", "")
            return found
        case Absent() | Unreadable() as reading:
            return reading


def _rpm(answers: Answers) -> Reading:
    match answers[RPM]:
        case Unreadable() as unreadable:
            return unreadable
        case Completed() as done if done.missing:
            return Absent()
        case Completed() as done if done.timed_out:
            return Unreadable("it did not end within its time limit", passing=True)
        case Completed() as done if not done.returncode and plain(done.stdout).endswith("\n"):
            return version(plain(done.stdout))
        case Completed() as done if "is not installed" in done.stdout:
            return Absent()
        case Completed() as done:
            return Unreadable(_said(done))


def _rpms(answers: Answers) -> dict[str, str] | Absent | Unreadable:
    if RPMS not in answers.given:
        # Where nothing of MetaX's was seen, the one package that matters was asked for.
        return _none(_rpm(answers))
    match answers[RPMS]:
        case Unreadable() as unreadable:
            return unreadable
        case Completed() as done if done.missing:
            return Absent()
        case Completed() as done if done.timed_out:
            return Unreadable("it did not end within its time limit", passing=True)
        case Completed() as done if done.returncode == 0:
            listed = _LINE.findall(plain(done.stdout))
            return {name: told for name, told in listed if _OWN.fullmatch(name)}
        case Completed() as done:
            return Unreadable(_said(done))


def _none(driver: Reading) -> Absent | Unreadable:
    match driver:
        case Observed():
            return Unreadable("not asked")
        case Absent() | Unreadable():
            return driver


def _said(done: Completed) -> str:
    return f"it exited with {done.returncode}: {excerpt(done.stdout or done.stderr)}"
