"""Models: complete networks built from layers."""

from tfreps._src.models import (
    BertEncoder,
    BertPretrainer,
    BiLM,
    BiLMPretrainer,
    BiLSTMEncoder,
    Classifier,
    Elmo,
    HMMTagger,
    LinearEncoder,
    PieceEncoder,
    SLSTMEncoder,
    Tagger,
    TextCNN,
    TokenEmbedder,
    TransformerEncoder,
    sizes,
)

__all__ = [
    "BertEncoder",
    "BertPretrainer",
    "BiLM",
    "BiLMPretrainer",
    "BiLSTMEncoder",
    "Classifier",
    "Elmo",
    "HMMTagger",
    "LinearEncoder",
    "PieceEncoder",
    "SLSTMEncoder",
    "Tagger",
    "TextCNN",
    "TokenEmbedder",
    "TransformerEncoder",
    "sizes",
]
