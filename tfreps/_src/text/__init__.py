"""Converts strings to ids and back."""
