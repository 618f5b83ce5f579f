"""The variables that decide what a program on MetaX loads and sees; no others are ever read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Fact, FactKey, Observed
from mxenv.probe import Probe
from mxenv.question import Env, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

NAMES = (
    "CUCC_PATH",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "MACA_CLANG_PATH",
    "MACA_DIRECT_DISPATCH",
    "MACA_MPS_MODE",
    "MACA_PATH",
    "MACA_SMALL_PAGESIZE_ENABLE",
    "MACA_VISIBLE_DEVICES",
    "MCCL_IB_GID_INDEX",
    "MCCL_IB_HCA",
    "MCCL_SOCKET_IFNAME",
    "METAX_VISIBLE_DEVICES",
)

VARIABLES = tuple(map(Env, NAMES))

KEYS = (
    FactKey(
        name="env",
        meaning="a variable of the environment in which the node was asked",
        instance="name",
        sources="the environment of whoever asks, of an image its configuration",
        # Two shells on one node differ in it.
        node_only=True,
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read each variable; one that is not set is absent."""
    for question in VARIABLES:
        answer = answers[question]
        reading = Observed(answer.value) if isinstance(answer, Found) else answer
        yield Fact(key="env", instance=question.name, reading=reading, source="environment")


PROBE = Probe(keys=KEYS, questions=VARIABLES, read=read)
