"""In which forms ``mx-smi`` is asked, and everything that it said in them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.question import Answers, Command
from mxenv.vendors._metax_brand import SECONDS, Brand
from mxenv.vendors._mxsmi import Heard, NoDevice, NoTool, Output, hear

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.facts import Unreadable
    from mxenv.vendors._mxsmi_topology import Topology

TABLE = ""
JSON = "-j"
VERSIONS = "--show-version"
LIST = "-L"
ECC = "--show-ecc-state"
POWER = "--show-board-power"
VBIOS = "--show-vbios"
LINKS = "topo -m"
NICS = "topo -n"

FORMS = (TABLE, JSON, VERSIONS, LIST, ECC, POWER, VBIOS)
"""By the options; the plain table comes first."""
MAIN = (TABLE, JSON, VERSIONS, LIST)
"""What is asked at once; the rest only of a tool that answers."""
TOPOLOGIES = (LINKS, NICS)
ALL = (*FORMS, *TOPOLOGIES)
"""All of them only read; the same tool can flash a BIOS, reset a card and end processes."""


def command(brand: Brand, form: str) -> Command:
    """Return the command that asks in ``form``."""
    return Command((brand.smi, *form.split()), seconds=SECONDS)


@frozen
class Hearing:
    """What one tool said, form by form."""

    smi: str
    """The tool's name."""
    said: Mapping[str, Heard]
    links: Mapping[str, Topology | NoTool | NoDevice | Unreadable]

    def source(self, form: str) -> str:
        """Return the command of ``form``, for people."""
        return f"{self.smi} {form}".rstrip()

    @property
    def table(self) -> Heard:
        """What the plain table said."""
        return self.said[TABLE]

    @property
    def outputs(self) -> Iterator[tuple[str, Output]]:
        """Yield each form that was understood."""
        for form, said in self.said.items():
            if isinstance(said, Output):
                yield form, said


def parse(form: str, text: str) -> Output | Unreadable:
    """Return what the output of ``form`` says."""
    if form == TABLE:
        from mxenv.vendors import _mxsmi_table  # noqa: PLC0415 - imported late: few nodes need it

        return _mxsmi_table.parse(text)
    if form == JSON:
        from mxenv.vendors import _mxsmi_json  # noqa: PLC0415 - the same

        return _mxsmi_json.parse(text)
    from mxenv.vendors import _mxsmi_lists  # noqa: PLC0415 - the same

    return _mxsmi_lists.PARSERS[form](text)


def listen(answers: Answers, brand: Brand) -> Hearing:
    """Return what the brand's tool said; what only a tool that answers is asked, if it did."""

    def one(form: str) -> Heard:
        return hear(answers[command(brand, form)], partial(parse, form))

    said = {form: one(form) for form in MAIN}
    links: dict[str, Topology | NoTool | NoDevice | Unreadable] = {}
    if isinstance(said[TABLE], Output):
        from mxenv.vendors import _mxsmi_topology  # noqa: PLC0415 - imported late: few need it

        said |= {form: one(form) for form in FORMS if form not in said}
        for form in TOPOLOGIES:
            links[form] = hear(answers[command(brand, form)], _mxsmi_topology.parse)
    return Hearing(smi=brand.smi, said=said, links=links)
