"""Handling of requests: size and time limits, queues, errors and metrics."""

__all__: list[str] = []  # tfreps.server exports the public names
