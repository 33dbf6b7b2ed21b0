"""Converts strings to ids and back. Importing the package does not import TensorFlow."""

from typing import TYPE_CHECKING

import lazy_loader

from tfreps._src.text.bert.character_tokens import CharacterTokenizer
from tfreps._src.text.bert.tokenizer_files import checkpoint_tokenizer
from tfreps._src.text.bert.wordpiece import WordPieceTokenizer
from tfreps._src.text.char_ids import (
    NUM_CHARACTER_IDS,
    PADDING_CHARACTER,
    batch_to_ids,
    character_ids,
    sentence_end_ids,
    sentence_start_ids,
    token_character_ids,
)
from tfreps._src.text.tags.tag_set import TagSet
from tfreps._src.text.tokenizers import TOKENIZERS, tokenize
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_char_ids import WordCharIndexer
from tfreps._src.text.word_vectors import WordVectors
from tfreps.text import bert, tags

if TYPE_CHECKING:
    from tfreps._src.text.bert.piece_indexer import PieceIndexer
    from tfreps._src.text.token_indexer import TokenIndexer
else:  # these modules need TensorFlow and are imported on first use
    __getattr__, *_ = lazy_loader.attach(
        "tfreps",
        submod_attrs={
            "_src.text.bert.piece_indexer": ["PieceIndexer"],
            "_src.text.token_indexer": ["TokenIndexer"],
        },
    )

__all__ = [
    "CharacterTokenizer",
    "NUM_CHARACTER_IDS",
    "PADDING_CHARACTER",
    "PieceIndexer",
    "TOKENIZERS",
    "TagSet",
    "TokenIndexer",
    "Vocabulary",
    "WordCharIndexer",
    "WordPieceTokenizer",
    "WordVectors",
    "batch_to_ids",
    "bert",
    "character_ids",
    "checkpoint_tokenizer",
    "sentence_end_ids",
    "sentence_start_ids",
    "tags",
    "token_character_ids",
    "tokenize",
]
