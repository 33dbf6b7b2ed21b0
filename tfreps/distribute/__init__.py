"""Training across epochs: the loop, and the data that a resumed run must share."""

__all__: list[str] = []  # internal: not part of the public API
