"""Batches for masked language models: documents, sentence pairs, masked positions."""
