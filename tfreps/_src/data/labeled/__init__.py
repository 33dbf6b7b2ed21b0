"""Reads tagged sentences and labeled texts and groups them by length into batches."""
