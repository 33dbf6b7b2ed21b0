"""Handling of requests: size and time limits, queues, errors and metrics."""
