"""Metrics that Keras does not have: perplexity, span F1, masked tags, AUC and loss."""

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
