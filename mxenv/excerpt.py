"""Which few words leave a node of a file that may hold secrets.

Whoever reads such a file takes the excerpt at once; everything after that sees nothing else. The
excerpt of an excerpt is the excerpt, and it has the form of the file itself.
"""

from __future__ import annotations

import json
import re
from string import ascii_letters, digits

from mxenv import installed
from mxenv.credential import MASK
from mxenv.question import Part

PARAMETERS = (
    "amd_iommu",
    "amd_pstate",
    "cgroup_disable",
    "cgroup_enable",
    "cgroup_no_v1",
    "cpufreq.default_governor",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "intel_idle.max_cstate",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "iommu.passthrough",
    "iommu.strict",
    "isolcpus",
    "lockdown",
    "maxcpus",
    "mem",
    "mitigations",
    "modprobe.blacklist",
    "module.sig_enforce",
    "module_blacklist",
    "nohz_full",
    "nomodeset",
    "nosmt",
    "nouveau.modeset",
    "numa",
    "numa_balancing",
    "pci",
    "pcie_acs_override",
    "pcie_aspm",
    "pcie_ports",
    "processor.max_cstate",
    "rcu_nocbs",
    "rd.driver.blacklist",
    "swiotlb",
    "systemd.unified_cgroup_hierarchy",
    "transparent_hugepage",
    "vfio_pci.ids",
)
"""What decides about accelerators, memory and their isolation; all else on the line is dropped."""
_KEPT = frozenset(PARAMETERS)
_SIGNS = frozenset(ascii_letters + digits + "_.,:;=+@/%!-")
_LONGEST = 200
"""What values are made of, and how long they get."""
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_KEY = rf"(?:([A-Za-z0-9_-]{{1,64}})|\"({_NAME})\"|'({_NAME})')"
_HANDLER = rf"\s*\[[^\]#]*\.runtimes\.{_KEY}\s*\]\s*(?:#.*)?"
_DEFAULT = rf"\s*default_runtime_name\s*=\s*[\"']({_NAME})[\"']\s*(?:#.*)?"


def of(part: Part, text: str) -> str:
    """Return what ``part`` leaves of the text of a file; of other parts than these, all of it."""
    match part:
        case Part.BOOT:
            return boot(text)
        case Part.RUNTIMES:
            return runtimes(text)
        case Part.ORIGIN:
            return installed.origin(text)
        case Part.PROGRAM:
            return installed.program(text)
        case _:
            return text


def boot(line: str) -> str:
    """Return of the kernel's command line what is in `PARAMETERS`, in the order given.

    What stands after ``--`` is for init, and is dropped with the rest. A line that is cut short
    stays without its end.
    """
    kept = []
    for word in _words(line):
        name, sign, value = word.partition("=")
        name = name.replace("-", "_")
        if name in _KEPT:
            sound = len(value) <= _LONGEST and _SIGNS.issuperset(value)
            kept.append(f"{name}{sign}{value if sound else MASK}")
    return " ".join(kept) + ("\n" if line.endswith("\n") else "")


def _words(line: str) -> list[str]:
    """Return the words before ``--``, split as the kernel's ``next_arg`` does: not in quotes."""
    words = _quoted(line) if '"' in line else line.split()
    return words[: words.index("--")] if "--" in words else words


def _quoted(line: str) -> list[str]:
    words, word = [], ""
    for number, piece in enumerate(line.split('"')):
        if number % 2:
            word += piece
            continue
        first, *rest = re.split(r"\s", piece)
        word += first
        for further in rest:
            words.append(word)
            word = further
    return [*words, word]


def runtimes(text: str) -> str:
    """Return of the set-up of Docker (JSON) or containerd (TOML) the names of its runtimes.

    Of a JSON text that is none, nothing is left.
    """
    return _json(text) if text.lstrip()[:1] == "{" else _toml(text)


def _json(text: str) -> str:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    kept: dict[str, object] = {}
    if isinstance(default := given.get("default-runtime"), str):
        kept["default-runtime"] = _named(default)
    if isinstance(names := given.get("runtimes"), dict):
        kept["runtimes"] = {_named(name): {} for name in names}
    return f"{json.dumps(kept, sort_keys=True)}\n"


def _named(name: str) -> str:
    return name if re.fullmatch(_NAME, name) else MASK


def _toml(text: str) -> str:
    kept = []
    for line in text.splitlines():
        # Looked at more closely only if it may be one: such a file has hundreds of lines.
        if ".runtimes." in line and (match := re.fullmatch(_HANDLER, line)):
            kept.append(f'[containerd.runtimes."{match[match.lastindex or 1]}"]\n')
        elif "default_runtime_name" in line and (match := re.fullmatch(_DEFAULT, line)):
            kept.append(f'default_runtime_name = "{match[1]}"\n')
    return "".join(kept)
