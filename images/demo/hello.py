"""Say what is installed here: the versions that the lock of this image names."""

from __future__ import annotations

from importlib.metadata import distributions

from tabulate import tabulate

print(tabulate(sorted((d.name, d.version) for d in distributions()), ["package", "version"]))
