"""Requests: limits, queues, time limits, errors and metrics."""

__all__: list[str] = []  # tfreps.server exports the public names
