"""Trains over epochs and checks that a resumed run has the same data."""

__all__: list[str] = []  # internal: not part of the public API
