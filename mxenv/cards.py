"""Which model of card a PCI device id stands for."""

from __future__ import annotations

MODELS = {"4000": "C550", "4001": "C500", "4040": "C500X", "4081": "C280", "4083": "N260"}
"""MetaX cards (PCI vendor 9999) by device id, four hexadecimal digits as ``lspci`` shows them."""
