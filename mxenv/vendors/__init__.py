"""What is known of each accelerator vendor: one file each, as ``VENDOR``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from mxenv.probe import Probe


@frozen
class Grant:
    """What a container must be given to use the vendor's devices."""

    devices: tuple[str, ...]
    groups: tuple[str, ...] = ()


@frozen
class Vendor:
    """An accelerator vendor; a plug-in file holds one as ``VENDOR``."""

    title: str
    pci_vendor: str
    """The PCI vendor id, four hexadecimal digits."""
    backend: str
    probe: Probe
    grant: Grant
    read_only: tuple[tuple[str, ...], ...]
    """Every argv that may ever be run on a node; a vendor's tool can flash firmware."""
