"""with_new_head: a new tagger or classifier on a pre-trained BERT, which reads raw texts."""

import os
from collections.abc import Mapping
from typing import Any

from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.piece_encoder import PieceEncoder
from tfreps._src.models.tagger import Tagger
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.runs.kinds import locate
from tfreps._src.text.bert.piece_indexer import PieceIndexer, piece_texts
from tfreps._src.text.text_features import TextFeatures
from tfreps._src.text.tokenizers import tokenize

# Options of `from_preset` that ask for a new head -> class of the head.
NAMES = {"labels": Classifier, "num_classes": Classifier, "tags": Tagger}


def asks_for_new_head(cls: type, options: Mapping[str, Any]) -> bool:
    """Returns True if `from_preset` of the class `cls` is called with names for a new head."""
    return any(issubclass(cls, head) for name, head in NAMES.items() if name in options)


def with_new_head(
    cls: type, source: str | os.PathLike[str], options: Mapping[str, Any]
) -> Classifier | Tagger:
    """Returns a new classifier or tagger on the pre-trained BERT of a source.

    The weights of the head are random. The model has a `preprocessor`. `options` are those of the
    class, or `num_classes` instead of `labels`.
    """
    with locate(source) as found:
        opened = found.open_with_text({})
    model, reading = opened.model, opened.reading
    encoder = model.find(BertEncoder) if isinstance(model, WholeModel) else None
    tokenizer = None if reading is None else reading.tokenizer
    if encoder is None or tokenizer is None:
        raise ValueError(
            f"{source} must contain a BERT with its tokenizer for a new {cls.__name__}; got a "
            f"{type(model).__name__}. To train on another encoder, call "
            f"`{cls.__name__}(encoder, names)`."
        )
    options = {"dropout": 0.1, **options}
    longest = None if reading is None else reading.max_length
    if issubclass(cls, Tagger):
        words = PieceEncoder(encoder, tokenizer.start_id, tokenizer.separator_id, name="words")
        head = cls(words, **options)
        head.preprocessor = TextFeatures(
            lambda texts: tokenize(texts, tokenizer), PieceIndexer(tokenizer, words=True)
        )
        return head
    if "num_classes" in options:
        count = options.pop("num_classes")
        options["labels"] = [f"LABEL_{number}" for number in range(count)]
    pooling = "mean" if encoder.pooler_dense is None else "pooled_output"
    head = cls(encoder, **{"pooling": pooling, **options})
    head.preprocessor = TextFeatures(
        lambda texts: piece_texts(texts, tokenizer, longest)[0], PieceIndexer(tokenizer)
    )
    return head
