"""Batches for language models: streams of tokens, whole sentences; counts of a corpus."""

__all__: list[str] = []  # tfreps.data exports what users need
