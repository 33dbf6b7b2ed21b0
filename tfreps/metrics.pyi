from ._src.metrics.auc import AUC as AUC
from ._src.metrics.perplexity import Perplexity as Perplexity
from ._src.metrics.sentence_loss import SentenceLoss as SentenceLoss
from ._src.metrics.span_f1 import SpanF1 as SpanF1
from ._src.metrics.token_accuracy import TokenAccuracy as TokenAccuracy
from ._src.metrics.weighted_token_f1 import WeightedTokenF1 as WeightedTokenF1
