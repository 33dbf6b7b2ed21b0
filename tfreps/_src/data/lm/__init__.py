"""Batches for language models, as token streams or whole sentences, and corpus counts."""
