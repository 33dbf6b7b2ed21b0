"""Converts strings to ids and back. Importing the package does not import TensorFlow."""

import importlib

from tfreps.text import bert, tags
from tfreps.text.bert import (
    CharacterTokenizer,
    WordPieceTokenizer,
    checkpoint_tokenizer,
)
from tfreps.text.char_ids import (
    NUM_CHARACTER_IDS,
    PADDING_CHARACTER,
    batch_to_ids,
    character_ids,
    sentence_end_ids,
    sentence_start_ids,
    token_character_ids,
)
from tfreps.text.tags.tag_set import TagSet
from tfreps.text.tokenizers import TOKENIZERS, check_tokenizer, tokenize, tokenize_texts
from tfreps.text.vocabulary import Vocabulary
from tfreps.text.word_vectors import WordVectors

# These modules need TensorFlow and are imported on first use.
_HOMES = {
    "PieceIndexer": "bert.piece_indexer",
    "TokenIndexer": "token_indexer",
}
__all__ = [
    "CharacterTokenizer",
    "NUM_CHARACTER_IDS",
    "PADDING_CHARACTER",
    "PieceIndexer",
    "TOKENIZERS",
    "TagSet",
    "TokenIndexer",
    "Vocabulary",
    "WordPieceTokenizer",
    "WordVectors",
    "batch_to_ids",
    "bert",
    "character_ids",
    "check_tokenizer",
    "checkpoint_tokenizer",
    "sentence_end_ids",
    "sentence_start_ids",
    "tags",
    "token_character_ids",
    "tokenize",
    "tokenize_texts",
]


def __getattr__(name):
    if name in _HOMES:
        module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
