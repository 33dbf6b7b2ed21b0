"""Training across epochs: the loop, and what a resumed run must share with the first."""

__all__: list[str] = []  # internal: not part of the public API
