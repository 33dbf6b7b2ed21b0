"""Trained models for raw text, as returned by `tfreps.load`, and their outputs."""
