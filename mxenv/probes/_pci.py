"""Where RDMA devices lie on the PCI bus."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.question import Found, Glob, Part

if TYPE_CHECKING:
    from mxenv.question import Answer

RDMA = Glob("/sys/class/infiniband/*/device", Part.LINK)
"""The device behind each RDMA device, by where the link leads."""
ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def address(leads: Answer[str]) -> str:
    """Return the PCI address that a link leads to; empty if it leads elsewhere."""
    last = leads.value.rpartition("/")[2] if isinstance(leads, Found) else ""
    return last if ADDRESS.fullmatch(last) else ""
