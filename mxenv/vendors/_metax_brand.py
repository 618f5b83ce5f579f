"""Under which names MetaX's stack is sold: tools, folders and device nodes of each brand.

The same cards, driver and SDK are found as HPCC, with ``ht`` where MetaX says ``mx``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.frozen import frozen
from mxenv.question import Answers, Command, Completed, Found, Link, Question, Stat

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 8.0
"""A node of eight cards answers within a few seconds, one with a hanging card within none.

Less than the whole of a probe may take: what hangs costs its own facts only.
"""


@frozen
class Brand:
    """The names of one brand."""

    name: str
    smi: str
    """The management tool."""
    sdk: str
    """The SDK's folder, or a link to it."""
    driver: str
    """The folder of the driver's tools and libraries."""
    compiler: str
    llvm: str
    """The compiler's folder within the SDK."""
    node: str
    """The control node, without which no card can be used."""

    @property
    def table(self) -> Command:
        """The management tool without options."""
        return Command((self.smi,), seconds=SECONDS)

    @property
    def home(self) -> Stat:
        """Whether there is an SDK."""
        return Stat(self.sdk)

    @property
    def real(self) -> Link:
        """Where the SDK lies."""
        return Link(self.sdk)


METAX = Brand(
    name="MetaX",
    smi="mx-smi",
    sdk="/opt/maca",
    driver="/opt/mxdriver",
    compiler="mxcc",
    llvm="mxgpu_llvm",
    node="/dev/mxcd",
)
HPCC = Brand(
    name="HPCC",
    smi="ht-smi",
    sdk="/opt/hpcc",
    driver="/opt/htdriver",
    compiler="htcc",
    llvm="htgpu_llvm",
    node="/dev/htcd",
)
BRANDS = (METAX, HPCC)
QUESTIONS: tuple[Question, ...] = tuple(
    question for brand in BRANDS for question in (brand.table, brand.home, brand.real)
)


def speaks(answers: Answers, brand: Brand) -> bool:
    """Whether the brand's tool is there and could be run to its end, with cards or without."""
    done = answers[brand.table]
    return isinstance(done, Completed) and not (done.missing or done.timed_out)


def spoken(answers: Answers) -> Brand:
    """Return the brand whose tool has to be listened to: one that works, one that may be there."""

    def silence(brand: Brand) -> int:
        done = answers[brand.table]
        if isinstance(done, Completed):
            return 3 if done.missing else 1 if done.returncode else 0
        return 2

    return min(BRANDS, key=silence)


def installed(answers: Answers, brand: Brand) -> bool:
    """Whether there is an SDK of the brand, and not another brand's under its name."""
    there = isinstance(answers[brand.home], Found)
    match answers[brand.real]:
        case Found(path):
            others = [other.sdk for other in BRANDS if other is not brand]
            return there and not path.startswith(tuple(others))
        case _:
            return there


def there(answers: Answers, brand: Brand) -> bool:
    """Whether a tool or an SDK of the brand is there."""
    return speaks(answers, brand) or installed(answers, brand)


def facts(answers: Answers) -> Iterator[Fact]:
    """Yield the brand of the tool and of the SDK."""
    shown = False
    for brand in BRANDS:
        signs = {brand.smi: speaks(answers, brand), brand.sdk: installed(answers, brand)}
        for source in (source for source, there in signs.items() if there):
            shown = True
            yield Fact(key="metax.brand", reading=Observed(brand.name), source=source)
    if not shown:
        yield Fact(key="metax.brand", reading=_none(answers), source=METAX.smi)


def _none(answers: Answers) -> Reading:
    for brand in BRANDS:
        done, home = answers[brand.table], answers[brand.home]
        if isinstance(home, Unreadable):
            return home
        if isinstance(done, Unreadable):
            return done
        if done.timed_out:
            return Unreadable(f"{brand.smi} did not end within its time limit", passing=True)
    return Absent()
