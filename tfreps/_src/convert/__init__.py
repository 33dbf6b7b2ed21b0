"""Converters between checkpoints of other libraries and the weights of tfreps."""

from tfreps._src.convert.bert_checkpoint import Checkpoint

__all__ = ["Checkpoint"]
