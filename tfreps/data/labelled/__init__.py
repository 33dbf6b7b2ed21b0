"""Batches of tagged sentences and labelled texts, of similar length."""

__all__: list[str] = []  # tfreps.data exports what users need
