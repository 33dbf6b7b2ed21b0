"""Metrics: perplexity, span F1, token scores, AUC and the mean loss of sentences."""

from tfreps._src.metrics.auc import AUC
from tfreps._src.metrics.perplexity import Perplexity
from tfreps._src.metrics.sentence_loss import SentenceLoss
from tfreps._src.metrics.span_f1 import SpanF1
from tfreps._src.metrics.token_accuracy import TokenAccuracy
from tfreps._src.metrics.weighted_token_f1 import WeightedTokenF1

__all__ = [
    "AUC",
    "Perplexity",
    "SentenceLoss",
    "SpanF1",
    "TokenAccuracy",
    "WeightedTokenF1",
]
