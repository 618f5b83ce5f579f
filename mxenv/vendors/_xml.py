"""An XML document of a tool as a tree, without anything that makes XML dangerous."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.frozen import slotted

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 8 << 20
"""Characters of a document that is read; sixteen cards with all their processes have a tenth."""
DEEPEST = 32


class Refused(ValueError):
    """The document is not one that a tool writes."""


@slotted
class Element:
    """An element with what is in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the text that stands in the element itself."""
        return "".join(self.texts).strip()

    def all(self, *path: str) -> Iterator[Element]:
        """Yield every element at ``path``, a name a level."""
        for child in self.children:
            if child.name == path[0]:
                if len(path) == 1:
                    yield child
                else:
                    yield from child.all(*path[1:])


def tree(text: str) -> Element:
    """Return the root of the document; raise `Refused` if it is damaged, or more than plain.

    A document may name a type, and declare nothing: entities are what bombs are made of.
    """
    from xml.parsers import expat  # noqa: PLC0415 - imported late: nearly no node needs it

    if len(text) > LONGEST:
        raise Refused("it is too long")
    root = Element("")
    path = [root]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(path) > DEEPEST:
            raise Refused("it is nested too deeply")
        element = Element(name, attributes)
        path[-1].children.append(element)
        path.append(element)

    def characters(data: str) -> None:
        path[-1].texts.append(data)

    def doctype(_name: str, _system: str | None, _public: str | None, subset: int) -> None:
        if subset:
            raise Refused("it declares a type of its own")

    def entity(*_: object) -> None:
        raise Refused("it declares entities")

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: path.pop()
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(text.encode(errors="replace"), True)
    except expat.ExpatError as error:
        raise Refused(
            f"it is damaged: {expat.ErrorString(error.code)}, line {error.lineno}"
        ) from None
    return root.children[0]
