"""How to read ``nvidia-smi -q -x``, whose labels are the same since long before MIG.

A document counts only as a whole: well-formed, with as many cards as it says are attached, each
with one address and each label once. Where lines are missing between two cards, the values of
one would else pass for those of the other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Observed, Reading, Unreadable
from mxenv.vendors._nvidia_smi import (
    AVAILABLE,
    Gpu,
    Output,
    amount,
    bios,
    driver,
    model,
    not_understood,
    release,
    switch,
)
from mxenv.vendors._words import address, excerpt, matched
from mxenv.vendors._xml import Element, Refused, tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = "nvidia_smi_log"
NOT_TOLD = Unreadable("its output does not tell it")

_CAPS = (("gpu_power_readings", "current_power_limit"), ("power_readings", "power_limit"))
"""Where the power cap stands, since release 535 and before."""
_FIRMWARE = (
    ("gsp", ("gsp_firmware_version",), r"(?a)\d{3,4}(?:\.\d{1,3}){1,2}"),
    (
        "inforom",
        ("inforom_version", "img_version"),
        r"(?a)[A-Z]\d{3}\.\d{4}\.\d{2}\.\d{2}",
    ),
    ("inforom-ecc", ("inforom_version", "ecc_object"), r"(?a)\d{1,2}\.\d{1,2}"),
    ("inforom-oem", ("inforom_version", "oem_object"), r"(?a)\d{1,2}\.\d{1,2}"),
    ("inforom-power", ("inforom_version", "pwr_object"), r"(?a)\d{1,2}\.\d{1,2}"),
)
_PROCESSES = r"(?s)<(processes|accounted_processes)>.*?</\1>"
"""Nothing of these is told, and their names may hold anything, masked or not."""
_PCI_ID = r"(?ai)([0-9A-F]{4})(10DE)"
_COUNT = r"(?a)\d{1,3}"
_NUMBER = r"(?a)\d{1,5}"
_FABRIC = r"(?a)Completed|In Progress|Not Started|Not Supported"
_FAULTS = ("GPU is lost", "GPU requires reset", "Unknown Error", "ERR!")
"""What stands in the place of a value once a card has failed."""


def parse(text: str) -> Output | Unreadable:
    """Return what the document says, or why it cannot be trusted."""
    start = max(text.find("<?xml"), 0)
    end = text.rfind(f"</{ROOT}>")
    # A warning about a card may stand before the document, and after it.
    document = text[start : end + len(ROOT) + 3] if end >= 0 else text[start:]
    try:
        return _output(tree(re.sub(_PROCESSES, "", document)))
    except Refused as refused:
        return not_understood(text, str(refused))


def _output(root: Element) -> Output:
    if root.name != ROOT:
        raise Refused(f"it is no {ROOT}")
    attached = _text(root, "attached_gpus") or ""
    cards = list(root.all("gpu"))
    if not re.fullmatch(_COUNT, attached) or int(attached) != len(cards):
        raise Refused(f"{attached or 'nobody knows how many'} attached, {len(cards)} listed")
    gpus = tuple(map(_gpu, cards))
    if len({gpu.bdf for gpu in gpus}) != len(gpus):
        raise Refused("two cards have one address")
    return Output(
        driver=_told(root, driver, "driver_version"),
        cuda=_told(root, release, "cuda_version"),
        gpus=gpus,
    )


def _text(element: Element, *path: str) -> str | None:
    """Return the text at ``path``; a label that stands there twice belongs to two things."""
    found = list(element.all(*path))
    if len(found) > 1 or (found and found[0].children):
        raise Refused(f"{'/'.join(path)} is not there once")
    return found[0].text if found else None


def _told(element: Element, understand: Callable[[str], Reading], *path: str) -> Reading:
    text = _text(element, *path)
    return NOT_TOLD if text is None else understand(text)


def _gpu(card: Element) -> Gpu:
    bdf = address(card.attributes.get("id", ""))
    also = _text(card, "pci", "pci_bus_id")
    if bdf is None or (also is not None and address(also) != bdf):
        raise Refused("a card has not one address")
    return Gpu(
        bdf=bdf,
        model=_told(card, model, "product_name"),
        pci_id=_told(card, _pci_id, "pci", "pci_device_id"),
        memory_mib=_told(card, lambda text: amount(text, "MiB"), "fb_memory_usage", "total"),
        state=_state(card),
        bios=_told(card, bios, "vbios_version"),
        ecc=_told(card, switch, "ecc_mode", "current_ecc"),
        power_cap_w=_power_cap(card),
        persistence=_told(card, switch, "persistence_mode"),
        slicing=_told(card, switch, "mig_mode", "current_mig"),
        fabric=_told(card, _fabric, "fabric", "state"),
        firmware=tuple(_firmware(card)),
        slices=tuple(_slices(card)),
    )


def _pci_id(text: str) -> Reading:
    found = re.fullmatch(_PCI_ID, text.removeprefix("0x"))
    if found is None:
        return Unreadable(f"not a PCI id: {excerpt(text)}")
    return Observed(f"10de:{found[1].lower()}")


def _power_cap(card: Element) -> Reading:
    for path in _CAPS:
        text = _text(card, *path)
        if text is not None:
            return Absent() if text in {"N/A", "[N/A]"} else amount(text, "W")
    return NOT_TOLD


def _fabric(text: str) -> Reading:
    return Absent() if text == "N/A" else matched(text, _FABRIC, "a state of a fabric")


def _state(card: Element) -> Reading:
    """Return whether a card can be used: what it says of itself, and what is said of it."""
    name = _text(card, "product_name") or ""
    faults = [fault for fault in _FAULTS if fault in name]
    if _text(card, "gpu_reset_status", "reset_required") == "Yes":
        faults.append("it requires a reset")
    recovery = _text(card, "gpu_recovery_action")
    if recovery not in {None, "None", "N/A"}:
        faults.append(f"recovery action {excerpt(recovery or '')}")
    if faults:
        return Observed(f"not available: {faults[0]}")
    return Observed(AVAILABLE) if isinstance(model(name), Observed) else NOT_TOLD


def _firmware(card: Element) -> Iterator[tuple[str, Reading]]:
    for unit, path, pattern in _FIRMWARE:
        text = _text(card, *path)
        if text is not None and text != "N/A":
            yield unit, matched(text, pattern, "a firmware's version")


def _slices(card: Element) -> Iterator[tuple[str, Reading]]:
    """Yield the quotas of each MIG device: multiprocessors and memory."""
    for expected, device in enumerate(card.all("mig_devices", "mig_device")):
        if _text(device, "index") != str(expected):
            raise Refused("a MIG device is missing, or has no number of its own")
        yield str(expected), _quota(device)


def _quota(device: Element) -> Reading:
    share = _text(device, "device_attributes", "shared", "multiprocessor_count")
    memory = _told(device, lambda text: amount(text, "MiB"), "fb_memory_usage", "total")
    if share is None or not re.fullmatch(_NUMBER, share):
        return Unreadable("the share of a MIG device is not told")
    if not isinstance(memory, Observed):
        return memory
    return Observed((f"{share} multiprocessors", f"{memory.value} MiB"))
