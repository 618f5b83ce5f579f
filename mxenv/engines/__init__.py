"""Ways to make an image from a lock: one file each, as ``ENGINE``."""
