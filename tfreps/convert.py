"""Converters between checkpoints of other libraries and the weights of tfreps."""

from tfreps._src.convert import (
    Checkpoint,
)

__all__ = [
    "Checkpoint",
]
