"""Requests: limits, order, time, errors and counts."""

__all__: list[str] = []  # tfreps.server exports what users need
