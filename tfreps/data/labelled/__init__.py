"""Batches of tagged sentences and labelled texts, of similar length."""
