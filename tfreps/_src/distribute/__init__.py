"""Devices and workers that train one model together, and bulk inference (beam)."""

__all__: list[str] = []  # internal: not part of the public API
