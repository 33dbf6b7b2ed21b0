"""Options of the programs, in tables by topic, and input and output on a terminal."""

__all__: list[str] = []  # internal: not part of the public API
