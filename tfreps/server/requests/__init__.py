"""Requests on their way to a model: limits, order, time, errors, counts."""

__all__: list[str] = []  # tfreps.server exports what users need
