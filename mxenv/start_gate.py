"""The script that runs first in an image, and refuses a host that the lock does not fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv import constraint, gate_script
from mxenv.facts import FactKey
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mxenv.constraint import Clause, Constraint

REFUSED = 78
"""What the gate exits with when it does not start (``EX_CONFIG`` of ``sysexits.h``)."""

MODELS = {
    "0x4000": "C550",
    "0x4001": "C500",
    "0x4040": "C500X",
    "0x4081": "C280",
    "0x4083": "N260",
}
"""PCI device ids of vendor 0x9999, as sysfs spells them."""

KMD = "metax.kmd"
MODEL = "metax.device.model"
KERNEL = "kernel.release"

KEYS = {
    KMD: FactKey(name=KMD, meaning="version of the kernel-mode driver"),
    MODEL: FactKey(name=MODEL, meaning="model of a card", instance="bdf"),
    KERNEL: FactKey(name=KERNEL, meaning="release of the kernel"),
}
"""What a shell can read in a container, without any tool but the vendor's."""

WANTED = re.compile(r"[0-9]+(?:\.[0-9]+)*(?:\.\*)?")
"""Versions that a shell can compare: dotted numbers, or a family of them."""

LONGEST = 18
"""Characters; the numbers of a longer one may not fit the arithmetic of a shell."""


def render(host: Sequence[str], *, root: str = "") -> str:
    """Return the script for the constraints ``host``; equal ones give equal text.

    ``root`` stands before every path that the script looks at: a test's tree, never an image's.
    """
    parts = [gate_script.PROLOGUE]
    if lines := list(_lines(_readable(host))):
        needed = {line.partition(" ")[0] for line in lines}
        parts.append(gate_script.FUNCTIONS)
        # A host without any accelerator may be what is asked for.
        parts.extend([gate_script.READ_NODE] if needed & {"driver", "models"} else [])
        parts.extend([gate_script.READ_KMD] if "driver" in needed else [])
        parts.extend([gate_script.READ_KERNEL] if "kernel" in needed else [])
        parts.extend([gate_script.READ_MODELS] if "models" in needed else [])
        parts.extend(["\n", *(f"{line}\n" for line in lines), gate_script.EPILOGUE])
    parts.append(gate_script.END)
    return "".join(parts).replace("@/", f"{root}/")


def unread(host: Iterable[str]) -> tuple[str, ...]:
    """Return the constraints that the script cannot check, for they ask for more than a shell."""
    texts = list(host)
    readable = {text for text, _ in _readable(texts)}
    return tuple(text for text in texts if text not in readable)


def _readable(host: Iterable[str]) -> Iterator[tuple[str, Constraint]]:
    """Yield the constraints that a shell can check, in a stable order."""
    for text in sorted(set(host)):
        name = re.match(r"\s*([a-z0-9_.]*)", text)
        if name and name[1] in KEYS:
            parsed = constraint.Constraint.parse(text, keys=KEYS)
            model = parsed.selector.key.name == MODEL
            if parsed.selector.instance == "*" and all(
                model or _comparable(clause) for clause in parsed.clauses
            ):
                yield text, parsed


def _comparable(clause: Clause) -> bool:
    """Return whether a shell can compare with the clause's versions."""
    if clause.operator == "present":
        return True
    return bool(clause.values) and all(
        len(value) <= LONGEST and WANTED.fullmatch(value) for value in clause.values
    )


def _lines(constraints: Iterable[tuple[str, Constraint]]) -> Iterator[str]:
    """Yield one call a clause."""
    calls = {KMD: "driver", KERNEL: "kernel"}
    for _, parsed in constraints:
        name = parsed.selector.key.name
        if name == MODEL:
            good, bad = (" ".join(_ids(parsed, o)) for o in (Outcome.COMPATIBLE, Outcome(0)))
            yield f"models {_quoted(str(parsed))} {_quoted(good)} {_quoted(bad)}"
            continue
        for clause in parsed.clauses:
            words = (str(parsed), clause.operator, *clause.values)
            yield " ".join((calls[name], *map(_quoted, words)))


def _ids(parsed: Constraint, outcome: Outcome) -> Iterator[str]:
    """Yield the PCI ids of the models for which the constraint comes out so."""
    for device, model in sorted(MODELS.items()):
        if min(clause.hold(model) for clause in parsed.clauses) is outcome:
            yield device


def _quoted(word: str) -> str:
    """Return a word as the shell takes it literally."""
    return "'" + word.replace("'", "'\\''") + "'"
