"""Files: written whole or not at all, read as UTF-8, JSON or HDF5; errors name the place."""

__all__: list[str] = []  # internal: not part of the public API
