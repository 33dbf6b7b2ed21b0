"""Trains over epochs on one device, several devices or several workers."""

__all__: list[str] = []  # internal: not part of the public API
