"""What gives a distribution, or an index, away as built for CUDA."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv import version

if TYPE_CHECKING:
    from mxenv.asked import Asked

TAG = "cu"
"""The vendor that a build tag for CUDA names."""

_PLACE = re.compile(r"(?:^|[/=+._-])cu(?:da)?-?[0-9]{2,4}(?:\.[0-9]+)?(?=$|[/?#._-])")
_NAME = re.compile(r"(?:nvidia-.+-cu|cupy-cuda)[0-9]+x?|pytorch-cuda|cuda-toolkit|cudatoolkit")


def place(url: str) -> bool:
    """Tell whether an address is one of builds for CUDA: ``…/whl/cu126``."""
    return _PLACE.search(url.lower()) is not None


def built(one: Asked) -> bool:
    """Tell whether what is asked for is built for CUDA, by its tag, its name or its address."""
    pinned = version.tag(one.specifier.removeprefix("=="))
    tagged = pinned is not None and pinned.vendor == TAG
    return tagged or bool(_NAME.fullmatch(one.name)) or place(one.url)
