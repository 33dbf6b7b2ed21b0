"""Strings to ids and back; importing it loads no TensorFlow."""

from tfreps.text import tags
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

__all__ = [
    "CharacterTokenizer",
    "NUM_CHARACTER_IDS",
    "PADDING_CHARACTER",
    "TOKENIZERS",
    "TagSet",
    "TokenIndexer",
    "Vocabulary",
    "WordPieceTokenizer",
    "WordVectors",
    "batch_to_ids",
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
    if name == "TokenIndexer":  # a tf.Module, so its file needs TensorFlow
        from tfreps.text.token_indexer import TokenIndexer

        globals()[name] = TokenIndexer
        return TokenIndexer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
