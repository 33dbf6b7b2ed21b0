"""Converters: foreign checkpoints to our weights and back."""
