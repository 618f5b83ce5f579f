"""Places where images lie: registries, OCI layouts. Read and written by digest, always verified."""
