"""Trained models for raw text, as returned by `tfreps.load`, and their outputs."""

import importlib

_HOMES = {
    "ClassifiedText": "answers",
    "EmbeddingsFile": "embeddings_file",
    "SentenceEncoder": "sentence_encoder",
    "TaggedText": "answers",
    "TextAttention": "answers",
    "TextBert": "text_bert",
    "TextBiLM": "text_bilm",
    "TextClassifier": "text_classifier",
    "TextSpan": "answers",
    "TextTagger": "text_tagger",
    "TextVectors": "answers",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
