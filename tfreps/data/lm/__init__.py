"""Batches for language models: streams of tokens, whole sentences, counts of a corpus."""
