"""Converters between checkpoints of other libraries and the weights of tfreps."""
