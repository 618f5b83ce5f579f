"""The script that runs first in an image, and refuses a host that the lock does not fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv import constraint, gate_script
from mxenv.cards import MODELS
from mxenv.facts import FactKey
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mxenv.constraint import Clause, Constraint

REFUSED = 78
"""What the gate exits with when it does not start (``EX_CONFIG`` of ``sysexits.h``)."""

KMD = "metax.kmd"
NVIDIA = "nvidia.kmd"
MODEL = "metax.device.model"
KERNEL = "kernel.release"
NODE = "metax.node"
CALLS = {KMD: "driver", NVIDIA: "nvidia", KERNEL: "kernel"}
"""The function that holds a version, by the fact."""

READERS = {
    "driver": gate_script.READ_KMD,
    "nvidia": gate_script.READ_NVIDIA,
    "kernel": gate_script.READ_KERNEL,
    "models": gate_script.READ_MODELS,
    "node": gate_script.READ_NODES,
}
"""The functions that a line of the script may call, and what defines each."""

KEYS = {
    KMD: FactKey(name=KMD, meaning="version of the kernel-mode driver"),
    NVIDIA: FactKey(name=NVIDIA, meaning="version of the kernel-mode driver"),
    MODEL: FactKey(name=MODEL, meaning="model of a card", instance="bdf"),
    KERNEL: FactKey(name=KERNEL, meaning="release of the kernel"),
    NODE: FactKey(name=NODE, meaning="that a device node is there", instance="path"),
}
"""What a shell can read in a container, without any tool but the vendor's."""

CONTROL = "/dev/mxcd"
"""Without this node, no program reaches a card."""

DEVICE = re.compile(r"/dev/[A-Za-z0-9_/]+")

PRESENT = (constraint.Clause(operator="present"),)

WANTED = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})*(?:\.\*)?")
"""Versions that a shell can compare: numbers that fit its arithmetic, or a family of them."""


def render(host: Sequence[str], *, root: str = "") -> str:
    """Return the script for the constraints ``host``; equal ones give equal text.

    ``root`` stands before every path that the script looks at: a test's tree, never an image's.
    """
    parts = [gate_script.PROLOGUE]
    if lines := list(_lines(_readable(host))):
        calls = {line.partition(" ")[0] for line in lines}
        readers = [reader for call, reader in READERS.items() if call in calls]
        said = "".join(readers)
        remedies = (text for name, text in gate_script.REMEDIES.items() if f'"${name}"' in said)
        parts.extend([gate_script.FUNCTIONS, "\n", *remedies, *readers])
        parts.extend(["\n", *(f"{line}\n" for line in lines), gate_script.EPILOGUE])
    parts.append(gate_script.END)
    return "".join(parts).replace("@/", f"{root}/").replace('"@$', f'"{root}$')


def unread(host: Iterable[str]) -> tuple[str, ...]:
    """Return the constraints that the script cannot check, for they ask for more than a shell."""
    texts = list(host)
    readable = {text for text, _ in _readable(texts)}
    return tuple(text for text in texts if text not in readable)


def limits(host: Iterable[str], *, gated: bool) -> Iterator[str]:
    """Yield what an image with these constraints does not ask of its host when it starts."""
    if not gated:
        yield "scratch has no shell: the image has no start gate, `mxenv verify` checks a node"
    elif left := unread(host):
        yield f"the start gate cannot check {', '.join(left)}: `mxenv verify` does"


def _readable(host: Iterable[str]) -> Iterator[tuple[str, Constraint]]:
    """Yield the constraints that a shell can check, in a stable order."""
    for text in sorted(set(host)):
        name = re.match(r"\s*([a-z0-9_.]*)", text)
        if name and name[1] in KEYS:
            parsed = constraint.Constraint.parse(text, keys=KEYS)
            if _checkable(parsed):
                yield text, parsed


def _checkable(parsed: Constraint) -> bool:
    """Return whether a shell can compare with what is wanted."""
    instance = parsed.selector.instance
    match parsed.selector.key.name:
        case "metax.device.model":
            absent = any(clause.operator == "absent" for clause in parsed.clauses)
            return instance == "*" and not absent
        case "metax.node":
            return bool(DEVICE.fullmatch(instance)) and parsed.clauses == PRESENT
        case _:
            return all(_comparable(clause) for clause in parsed.clauses)


def _comparable(clause: Clause) -> bool:
    """Return whether a shell can compare with the clause's versions."""
    if clause.operator == "present":
        return True
    return bool(clause.values) and all(WANTED.fullmatch(value) for value in clause.values)


def _lines(constraints: Iterable[tuple[str, Constraint]]) -> Iterator[str]:
    """Yield the calls that check each constraint, every one of them once."""
    found = dict.fromkeys(line for _, parsed in constraints for line in _calls(parsed))
    yield from found


def _calls(parsed: Constraint) -> Iterator[str]:
    """Yield one call a clause; a model needs a control node as well."""
    name = parsed.selector.key.name
    if name == NODE:
        yield f"node {_quoted(parsed.selector.instance)}"
    elif name == MODEL:
        yield f"node {_quoted(CONTROL)}"
        wanted = f"{name} {', '.join(map(str, parsed.clauses))}"
        good, bad = (" ".join(_ids(parsed, o)) for o in (Outcome.COMPATIBLE, Outcome.INCOMPATIBLE))
        yield f"models {_quoted(wanted)} {_quoted(good)} {_quoted(bad)}"
    else:
        for clause in parsed.clauses:
            words = (f"{name} {clause}", clause.operator, *clause.values)
            yield " ".join((CALLS[name], *map(_quoted, words)))


def _ids(parsed: Constraint, outcome: Outcome) -> Iterator[str]:
    """Yield the PCI ids of the models for which the constraint comes out so."""
    for device, model in sorted(MODELS.items()):
        if min(clause.hold(model) for clause in parsed.clauses) is outcome:
            yield f"0x{device}"  # as sysfs spells it


def _quoted(word: str) -> str:
    """Return a word as the shell takes it literally."""
    return "'" + word.replace("'", "'\\''") + "'"
