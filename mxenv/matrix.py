"""What is known to work together, and what is not: the rows of a matrix, each with evidence."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from mxenv import version
from mxenv.frozen import frozen
from mxenv.verdict import Evidence, Outcome

if TYPE_CHECKING:
    from mxenv.constraint import Agreement, Constraint
    from mxenv.overlay import Override

SCHEMA = "mxenv.matrix/1"
GRADES = ("site", "vendor", "partner", "os-vendor", "observed", "third-party")
"""Whose word evidence can be; the first one counts where several say the same."""
FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "int4")
"""How numbers can be held, widest first; scaled ones (mxfp8, nvfp4) count as what they hold."""
SUPPORTS = ("no", "unknown", "software", "native")
"""How a card computes in a format, worst first; ``software``: it is held so, and converted."""
SEEN_KINDS = ("missing", "wrong", "traps", "slow", "works", "unknown")
"""What a row can say of operators.

``missing``: it refuses, or has no kernel; ``wrong``: its result is; ``traps``: it takes the process
with it, or hangs; ``slow``: right, by a slow way; ``works``: somebody saw it; ``unknown``: somebody
looked, and cannot tell, or spoke of kernels that need not be used.
"""
FAILS = ("missing", "wrong", "traps")
WORKS = "works"
ELEMENTS = (
    *("f64", "f32", "f16", "bf16", "f8_e4m3", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0"),
    *("i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool", "c128", "c64", "c32"),
    *("qint8", "quint8", "qint32"),
)
"""What the elements of tensors are called, as inventories have them."""
SDK_FIELDS = 3
"""How many fields make an SDK family: the fourth counts separately for each product.

Wheels tagged ``3.5.3.9`` and ``3.5.3.18`` are published for the SDK 3.5.3.20.
"""


@frozen
class Release:
    """Versions that were published together; it names no driver."""

    id: str
    file: str
    sdk: str
    """``3.5.3.*``, or exact (``3.0.0.8``); empty if the publisher names none."""
    python: str = ""
    components: tuple[tuple[str, str], ...]
    """Distribution (PEP 503) and version as published; ``2.8.*`` where only the line is told."""
    note: str = ""
    evidence: tuple[Evidence, ...]

    @property
    def row(self) -> str:
        """Return how findings name the row."""
        return f"{self.file}:release:{self.id}"


@frozen
class Rule:
    """What must be so when something else is."""

    id: str
    file: str
    text: str
    when: tuple[Constraint, ...] = ()
    requires: tuple[Constraint, ...] = ()
    agree: tuple[Agreement, ...] = ()
    severity: Outcome = Outcome.INCOMPATIBLE
    """What it means that the rule is broken."""
    covers_driver: bool = False
    """True if the vendor, or the site, says that a driver and SDK which keep it work together."""
    remedy: str = ""
    evidence: tuple[Evidence, ...]

    @property
    def row(self) -> str:
        """Return how findings name the row."""
        return f"{self.file}:rule:{self.id}"


@frozen
class Broken:
    """A state that was seen failing."""

    id: str
    file: str
    text: str
    when: tuple[Constraint, ...]
    severity: Outcome = Outcome.INCOMPATIBLE
    """`UNKNOWN` where only a part fails, and whether a job needs that part cannot be seen."""
    remedy: str = ""
    evidence: tuple[Evidence, ...]

    @property
    def row(self) -> str:
        """Return how findings name the row."""
        return f"{self.file}:broken:{self.id}"


@frozen
class Tested:
    """A set that was seen working."""

    id: str
    file: str
    card: str
    kmd: str
    sdk: str
    packages: tuple[tuple[str, str], ...] = ()
    os: str = ""
    kernel: str = ""
    note: str = ""
    evidence: tuple[Evidence, ...]

    @property
    def row(self) -> str:
        """Return how findings name the row."""
        return f"{self.file}:tested:{self.id}"

    @property
    def components(self) -> tuple[tuple[str, str], ...]:
        """Return its distributions, as a release has them."""
        return self.packages


@frozen
class Series:
    """Cards that one driver and one SDK serve alike: what was seen on one speaks for each."""

    id: str
    file: str
    cards: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    @property
    def row(self) -> str:
        """Return how findings name the row."""
        return f"{self.file}:series:{self.id}"


@frozen
class Requirement:
    """What a place needs beyond versions that go together: limits, parameters, variables.

    It is held against what can be seen, and advice where nothing can; what has to be known stands
    as a rule instead.
    """

    id: str
    file: str
    text: str
    applies: str = ""
    """For whom it is, where no fact tells that (``HAMi``); such a row is shown, and never held."""
    when: tuple[Constraint, ...] = ()
    requires: tuple[Constraint, ...] = ()
    """Empty if no fact tells whether it is met."""
    severity: Outcome = Outcome.UNKNOWN
    """What it means that it is not met; `COMPATIBLE` where it is advice even then."""
    remedy: str = ""
    evidence: tuple[Evidence, ...]

    @property
    def row(self) -> str:
        """Return how findings name the row."""
        return f"{self.file}:requirement:{self.id}"


@frozen
class Format:
    """How some models of card compute in some number formats."""

    id: str
    file: str
    cards: tuple[str, ...]
    formats: tuple[str, ...]
    """Of `FORMATS`."""
    support: str
    """One of `SUPPORTS`."""
    note: str = ""
    evidence: tuple[Evidence, ...]

    @property
    def row(self) -> str:
        """Return how findings name the row."""
        return f"{self.file}:format:{self.id}"


@frozen
class Operator:
    """What is known of some operators of torch on a platform, beyond that they are registered."""

    id: str
    file: str
    text: str
    operators: tuple[str, ...]
    """``aten::mm.default``, or ``aten::mm`` for every overload."""
    kind: str
    """One of `SEEN_KINDS`."""
    dtypes: tuple[str, ...] = ()
    """Of `ELEMENTS`: it is about calls with such a tensor; empty: about all.

    What ``works`` does so where there is no tensor of another format.
    """
    by: str = ""
    """Whose kernels it is about (``flag_gems``); empty: those of the build of torch itself."""
    when: tuple[Constraint, ...] = ()
    remedy: str = ""
    evidence: tuple[Evidence, ...]

    @property
    def row(self) -> str:
        """Return how findings name the row."""
        return f"{self.file}:operator:{self.id}"


Row = Release | Rule | Broken | Tested | Series | Requirement | Format | Operator


@frozen
class Matrix:
    """All rows of all files that were laid over one another."""

    digest: str
    """``sha256:…`` over what the files say, in their order, whatever they are called."""
    files: tuple[tuple[str, str], ...]
    """Name and revision of each."""
    releases: tuple[Release, ...] = ()
    rules: tuple[Rule, ...] = ()
    broken: tuple[Broken, ...] = ()
    tested: tuple[Tested, ...] = ()
    series: tuple[Series, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    formats: tuple[Format, ...] = ()
    operators: tuple[Operator, ...] = ()
    overrides: tuple[Override, ...] = ()
    """Which rows stand in the place of rows of other files."""
    publishing: dict[str, tuple[Release, ...]] = field(
        init=False, repr=False, compare=False, hash=False
    )
    """The releases that have a distribution, by its name."""

    def __post_init__(self) -> None:
        """Sort the releases by what they are made of."""
        index: dict[str, list[Release]] = {}
        for row in self.releases:
            for name, _ in row.components:
                index.setdefault(name, []).append(row)
        object.__setattr__(self, "publishing", {name: tuple(index[name]) for name in index})

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return every row, of whatever kind."""
        held: tuple[Row, ...] = (*self.rules, *self.broken, *self.requirements)
        tables: tuple[Row, ...] = (*self.series, *self.formats, *self.operators)
        return (*self.releases, *self.tested, *held, *tables)

    def alike(self, card: str, other: str) -> bool:
        """Tell whether two models are one, or stand in one series."""
        return card == other or any({card, other} <= set(row.cards) for row in self.series)


def same_family(left: str, right: str) -> bool:
    """Tell whether two SDK versions are of one family."""
    families = version.family(left, SDK_FIELDS), version.family(right, SDK_FIELDS)
    return families[0] == families[1] and families[0].count(".") == SDK_FIELDS - 1


def stem(operator: str) -> str:
    """Return ``aten::mm`` of ``aten::mm.default``: the name that all overloads share."""
    space, _, name = operator.partition("::")
    return f"{space}::{name.partition('.')[0]}"
