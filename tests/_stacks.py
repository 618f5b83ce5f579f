"""Nodes and matrices for the tests of the verdict, in one line each."""

from __future__ import annotations

import tomllib
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from mxenv import matrix_reader
from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Snapshot, Unreadable, View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.facts import Value
    from mxenv.matrix import Matrix
    from mxenv.verdict import Finding, Verdict

TODAY = date(2026, 11, 30)
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
ENV = "/opt/conda"
GONE = Absent()
DARK = Unreadable("permission denied")

KEYS = {
    key.name: key
    for key in (
        FactKey(name="kernel.release", meaning="kernel", view=View.HOST),
        FactKey(name="libc.version", meaning="libc"),
        FactKey(name="container.runtime", meaning="runtime"),
        FactKey(name="env", meaning="environment variable", instance="name"),
        FactKey(name="python.version", meaning="Python", instance="env"),
        FactKey(name="python.series", meaning="two fields of it", instance="env"),
        FactKey(name="python.package", meaning="distribution", instance="env/name"),
        FactKey(name="metax.kmd", meaning="driver", view=View.HOST),
        FactKey(name="metax.sdk", meaning="SDK"),
        FactKey(name="metax.module.loaded", meaning="module", view=View.HOST),
        FactKey(name="metax.module.built", meaning="module", instance="kernel", view=View.HOST),
        FactKey(name="metax.node", meaning="device node", instance="path"),
        FactKey(name="metax.smi", meaning="mx-smi"),
        FactKey(name="metax.device.model", meaning="model", instance="bdf"),
        FactKey(name="metax.device.pci_id", meaning="PCI id", instance="bdf"),
        FactKey(name="metax.device.bios", meaning="BIOS", instance="bdf", view=View.HOST),
        FactKey(name="metax.device.state", meaning="state", instance="bdf"),
        FactKey(name="metax.device.count", meaning="number of cards", node_only=True),
        FactKey(name="metax.device.driver", meaning="its driver", instance="bdf", view=View.HOST),
        FactKey(name="metax.device.slice", meaning="slice", instance="bdf/n"),
        FactKey(name="metax.device.sriov", meaning="SR-IOV", instance="bdf", view=View.HOST),
        FactKey(name="metax.brand", meaning="brand"),
        FactKey(name="metax.driver_package", meaning="package of the driver"),
        FactKey(name="metax.bridge", meaning="CUDA that cu-bridge stands for"),
        FactKey(name="metax.tool", meaning="tool", instance="name"),
        FactKey(name="metax.module.gvm", meaning="module", view=View.HOST),
        FactKey(name="machine.arch", meaning="architecture"),
        FactKey(name="os.id", meaning="distribution"),
        FactKey(name="boot.parameter", meaning="parameter", instance="name", view=View.HOST),
        FactKey(name="iommu.groups", meaning="IOMMU", view=View.HOST),
        FactKey(name="limit.memlock", meaning="locked memory", node_only=True),
        FactKey(name="memory.shm_mib", meaning="shared memory", node_only=True),
        FactKey(name="rdma.port.state", meaning="port", instance="@device/port", view=View.HOST),
        FactKey(name="runtime", meaning="container engine", instance="name"),
        FactKey(name="kernel.flavour", meaning="whose kernel", view=View.HOST),
    )
}


def fact(label: str, value: Value | Reading, source: str = "test", view: View = View.HOST) -> Fact:
    """Return the fact that ``key[instance]`` names."""
    key, _, instance = label.partition("[")
    reading = value if isinstance(value, Observed | Absent | Unreadable) else Observed(value)
    return Fact(
        key=key, instance=instance.removesuffix("]"), reading=reading, source=source, view=view
    )


def snapshot(*facts: Fact, view: View = View.HOST) -> Snapshot:
    """Return a node of which ``facts`` are known."""
    return Snapshot(node="node-1", view=view, taken_at=NOW, facts=facts)


def node(
    packages: Mapping[str, Value | Reading] | None = None,
    *more: Fact,
    view: View = View.HOST,
    **changes: Value | Reading | None,
) -> Snapshot:
    """Return a node with a driver, an SDK and one C500; ``kmd=None`` leaves a fact out."""
    values: dict[str, Value | Reading | None] = {
        "metax.kmd": "3.8.30",
        "metax.sdk": "3.5.3.20",
        "metax.device.count": 1,
        "metax.device.model[0000:0e:00.0]": "C500",
    }
    names = {"kmd": "metax.kmd", "sdk": "metax.sdk", "count": "metax.device.count"}
    names["model"] = "metax.device.model[0000:0e:00.0]"
    values |= {names[name]: value for name, value in changes.items()}
    known = {label: value for label, value in values.items() if value is not None}
    facts = [fact(label, value) for label, value in known.items()]
    facts += [
        fact(f"python.package[{ENV}/{name}]", value) for name, value in (packages or {}).items()
    ]
    if not packages:
        facts.append(fact("python.package", GONE))
    return snapshot(*facts, *more, view=view)


def matrix(text: str, *, name: str = "test.toml") -> Matrix:
    """Return the matrix that ``text`` holds; rows write ``EVIDENCE`` for some."""
    return matrix_reader.parse([(name, document(text))], KEYS)


def document(text: str) -> dict[str, object]:
    """Return a file of a matrix with the rows of ``text``."""
    head = 'schema = "mxenv.matrix/1"\nvendor = "metax"\nrevision = "1"\n'
    said = 'evidence = [{ link = "https://vendor.example/notes", who = "V", grade = "vendor" }]'
    return tomllib.loads(head + text.replace("EVIDENCE", said))


def codes(verdict: Verdict) -> list[str]:
    """Return the codes of what is not fine."""
    return sorted(f.code for f in verdict.findings if f.outcome.word != "compatible")


def only(verdict: Verdict, code: str) -> Finding:
    """Return the one finding with ``code``."""
    (found,) = (finding for finding in verdict.findings if finding.code == code)
    return found
