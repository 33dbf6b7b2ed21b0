"""Writes files atomically, and reads UTF-8, JSON, gzip and HDF5 with precise error messages."""

__all__: list[str] = []  # internal: not part of the public API
