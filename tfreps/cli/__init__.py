"""Options of the programs, one table per decision, and what a terminal needs."""

__all__: list[str] = []  # internal: not part of the public API
