"""What is asked of every node, whoever made its accelerators: one probe a file, as ``PROBE``."""
