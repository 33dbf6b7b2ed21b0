"""BERT's tokenizers, in Python and inside a TensorFlow graph."""

from tfreps._src.text.bert.character_tokens import CharacterTokenizer
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer
from tfreps._src.text.bert.tokenizer_files import (
    checkpoint_tokenizer,
    read_tokenizer,
    write_checkpoint_tokenizer,
    write_tokenizer,
)
from tfreps._src.text.bert.wordpiece import WordPieceTokenizer

__all__ = [
    "CharacterTokenizer",
    "PieceTokenizer",
    "WordPieceTokenizer",
    "checkpoint_tokenizer",
    "read_tokenizer",
    "write_checkpoint_tokenizer",
    "write_tokenizer",
]
