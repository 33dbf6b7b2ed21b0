"""Finds, checks, loads, warms up and replaces versions of models."""

__all__: list[str] = []  # tfreps.server exports what users need
