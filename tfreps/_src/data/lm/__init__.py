"""Batches for language models, as token streams or whole sentences, and corpus counts."""

__all__: list[str] = []  # tfreps.data exports the public names
