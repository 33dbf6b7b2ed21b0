"""Trains models epoch by epoch on one device, several devices or several workers."""

__all__: list[str] = []  # internal: not part of the public API
