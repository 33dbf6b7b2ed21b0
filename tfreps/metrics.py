"""Metrics: perplexity, span F1, token scores, AUC and the mean loss of sentences."""

from tfreps._src.metrics import (
    AreaUnderCurve,
    Perplexity,
    SentenceLoss,
    SpanF1,
    TokenAccuracy,
    WeightedTokenF1,
)

__all__ = [
    "AreaUnderCurve",
    "Perplexity",
    "SentenceLoss",
    "SpanF1",
    "TokenAccuracy",
    "WeightedTokenF1",
]
