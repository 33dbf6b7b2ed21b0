"""Metrics: perplexity, span F1, token scores, AUC and the mean loss of sentences."""

from tfreps._src.metrics import (
    AUC,
    Perplexity,
    SentenceLoss,
    SpanF1,
    TokenAccuracy,
    WeightedTokenF1,
)

__all__ = [
    "AUC",
    "Perplexity",
    "SentenceLoss",
    "SpanF1",
    "TokenAccuracy",
    "WeightedTokenF1",
]
