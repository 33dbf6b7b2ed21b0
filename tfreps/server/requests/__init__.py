"""Requests on their way to a model: limits, order, time, errors, counts."""
