"""Metrics: perplexity, span F1, token scores, AUC and the mean loss of sentences."""

from tfreps.metrics.area_under_curve import AreaUnderCurve
from tfreps.metrics.perplexity import Perplexity
from tfreps.metrics.sentence_loss import SentenceLoss
from tfreps.metrics.span_f1 import SpanF1
from tfreps.metrics.token_accuracy import TokenAccuracy
from tfreps.metrics.weighted_token_f1 import WeightedTokenF1

__all__ = [
    "AreaUnderCurve",
    "Perplexity",
    "SentenceLoss",
    "SpanF1",
    "TokenAccuracy",
    "WeightedTokenF1",
]
