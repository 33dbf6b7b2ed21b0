"""Batches for masked language models: documents, sentence pairs and masked positions."""

__all__: list[str] = []  # tfreps.data exports the public names
