"""How much memory a process has held at most, as a line of a program that a test runs."""

from __future__ import annotations

PEAK = """
def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM:"))
"""
"""MiB since the program began: what getrusage(2) tells begins with what its parent had."""
