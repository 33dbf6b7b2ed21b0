"""Checks arguments, writes files atomically, and reads UTF-8, JSON, gzip and HDF5 files."""

__all__: list[str] = []  # internal: not part of the public API
