"""Reads tagged sentences and labeled texts and groups them by length into batches."""

__all__: list[str] = []  # tfreps.data exports the public names
