"""CharacterGraph: CharacterTokenizer as a TensorFlow graph of core operations."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfreps._src.text.bert.character_changes import CharacterChanges
from tfreps._src.text.bert.character_classes import (
    NUMBER,
    NUMBER_PATTERN,
    re2_class,
    replacements,
    token_pattern,
    white_space,
)
from tfreps._src.text.lookup_table import PieceTable

_END = "\0"  # separates tokens; NUL characters have been removed from the texts


class CharacterGraph(tf.Module):
    """TensorFlow graph of a `CharacterTokenizer`, from texts `[B]` to ragged ids `[B, None]`."""

    # `tokenizer` is a `CharacterTokenizer`, whose module imports this one.
    def __init__(self, tokenizer: Any):
        super().__init__(name="characters")
        self.numbers = tokenizer.numbers
        token = token_pattern(tokenizer.numbers, tokenizer.whole_words, r"[^\x00]")
        self.token = f"({token})"
        self.gaps = None if tokenizer.keep_white_space else f"[{re2_class(white_space())}]"
        new = replacements(tokenizer.lowercase, strip_accents=False)
        self.changes = CharacterChanges(new, ((0, 0),), tokenizer.lowercase)
        # Id that the table returns for tokens that are not in it.
        self.default_id: int = tokenizer.unknown_id
        self.table = PieceTable(tokenizer.vocabulary, self.default_id)

    def __call__(self, texts: tf.Tensor | Sequence[str]) -> tf.RaggedTensor:
        texts = self.changes(tf.convert_to_tensor(texts, tf.string))
        if self.gaps is not None:
            texts = tf.strings.regex_replace(texts, self.gaps, _END)
        texts = tf.strings.regex_replace(texts, self.token, "\\1" + _END)
        tokens = tf.strings.split(texts, _END)
        tokens = tf.ragged.boolean_mask(tokens, tokens != "")
        flat = tokens.flat_values
        if self.numbers:
            is_number = tf.strings.regex_full_match(flat, NUMBER_PATTERN)
            flat = tf.where(is_number, NUMBER, flat)
        return tokens.with_flat_values(self.table(flat))
