"""How what a recorder answers becomes an inventory."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv import device_choice, inventory_file
from mxenv.errors import InventoryError, ModelError
from mxenv.inventory import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.inventory import Inventory, Stored

PARTS = ("uses", "kernels", "assumptions", "inputs", "gaps")
SAID = ("architecture", "dtype", "mode", "tools", "packages")


def inventory(  # noqa: PLR0913 - each is a part of an inventory
    answer: Mapping[str, object],
    *,
    name: str,
    reader: str,
    source: str,
    formats: Iterable[Stored] = (),
    gaps: Iterable[str] = (),
    device: str = "",
) -> Inventory:
    """Return the inventory that ``answer`` tells of; one that makes no sense raises `ModelError`.

    What a device chooses stands with all of which it chooses one, unless a card was the
    ``device`` that it ran on, and has chosen.
    """
    chosen = device.partition(":")[0] not in {"", "cpu"}
    told = {part: answer[part] for part in (*PARTS, *SAID) if answer.get(part)}
    text = json.dumps({"schema": SCHEMA, "name": name, "reader": reader, "source": source, **told})
    try:
        read = inventory_file.from_json(text, context="the recorder's answer")
    except InventoryError as error:
        hint = "name another interpreter with --python, or a newer mxenv"
        raise ModelError(error.message, context=error.context, hint=hint) from None
    return replace(
        read,
        uses=read.uses
        if chosen
        else tuple(replace(use, one_of=device_choice.one_of(use.operator)) for use in read.uses),
        formats=tuple(formats),
        gaps=(*read.gaps, *gaps),
    )
