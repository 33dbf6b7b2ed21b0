"""Objects that answer raw text: taggers, classifiers, sentence encoders, attention."""

import importlib

_HOMES = {
    "AttentionReader": "attention_reader",
    "EmbeddingsFile": "embeddings_file",
    "SentenceEncoder": "sentence_encoder",
    "TextModel": "text_model",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
