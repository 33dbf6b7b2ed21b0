"""BERT's tokenizers, in Python and inside a TensorFlow graph."""

from tfreps._src.text.bert import (
    CharacterTokenizer,
    PieceTokenizer,
    WordPieceTokenizer,
    checkpoint_tokenizer,
    read_tokenizer,
    write_checkpoint_tokenizer,
    write_tokenizer,
)

__all__ = [
    "CharacterTokenizer",
    "PieceTokenizer",
    "WordPieceTokenizer",
    "checkpoint_tokenizer",
    "read_tokenizer",
    "write_checkpoint_tokenizer",
    "write_tokenizer",
]
