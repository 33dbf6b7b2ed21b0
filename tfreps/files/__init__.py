"""Writes files whole or not at all; reads UTF-8, JSON, gzip and HDF5 with errors that say where."""

__all__: list[str] = []  # internal: not part of the public API
