"""Batches for masked language models: documents, sentence pairs and masked positions."""
