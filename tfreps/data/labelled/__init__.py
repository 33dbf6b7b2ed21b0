"""Reads tagged sentences and labelled texts, and makes batches of similar length."""

__all__: list[str] = []  # tfreps.data exports the public names
