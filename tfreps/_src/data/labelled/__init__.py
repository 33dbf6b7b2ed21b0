"""Reads tagged sentences and labelled texts and groups them by length into batches."""

__all__: list[str] = []  # tfreps.data exports the public names
