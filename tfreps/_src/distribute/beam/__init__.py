"""Annotates a corpus of any size on Apache Beam with an exported SavedModel."""

__all__: list[str] = []  # internal; docs/howto/large_corpora.md describes `Annotate`
