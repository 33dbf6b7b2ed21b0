"""Command line: tables of options, their checks, and terminal input and output."""

__all__: list[str] = []  # internal: not part of the public API
