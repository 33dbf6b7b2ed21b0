"""Metrics: perplexity, span F1, token scores, AUC and the mean loss of sentences."""
