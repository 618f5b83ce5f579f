"""Ways to turn requirements into exact wheels: one file each, as ``RESOLVER``."""
