"""WordPieceGraph: WordPieceTokenizer as a TensorFlow graph."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfreps._src.text.bert.character_changes import CharacterChanges
from tfreps._src.text.bert.character_classes import (
    CHINESE,
    characters,
    controls,
    punctuation,
    re2_class,
    replacements,
    spaces,
)
from tfreps._src.text.bert.fast_normalizer import FastNormalizer
from tfreps._src.text.bert.hugging_face_files import CONTINUATION
from tfreps._src.text.lookup_table import PieceTable


class WordPieceGraph(tf.Module):
    """TensorFlow graph of a `WordPieceTokenizer`, from texts `[B]` to ragged ids `[B, None]`.

    If `core_ops` is `True`, it uses only core operations and splits words by a loop over pieces,
    which is slower. Otherwise, tensorflow-text splits words, provided that
    `tokenizer.split_chinese` is `True`, and limits them to `max_characters_per_word` bytes instead
    of characters.
    """

    default_id = -1  # id that the table returns for strings that are not pieces

    # `tokenizer` is a `WordPieceTokenizer`, whose module imports this one.
    def __init__(self, tokenizer: Any, core_ops: bool):
        super().__init__(name="word_pieces")
        self.max_characters = tokenizer.max_characters_per_word
        self.longest_piece = min(tokenizer.longest_piece, self.max_characters)
        new = replacements(tokenizer.lowercase, tokenizer.strips_accents)
        gaps = {gap: " " for gap in characters(spaces()) if gap != " "}
        self.changes = CharacterChanges({**new, **gaps}, controls(), tokenizer.lowercase)
        apart = punctuation() + (CHINESE if tokenizer.split_chinese else ())
        self.apart = f"([{re2_class(apart)}])"
        self.unknown_id = tokenizer.unknown_id
        self.table: Any = None  # a `PieceTable`, unless `fast` splits words
        self.fast: Any = None  # a tokenizer of tensorflow-text, if it can be used
        self.normalizer: FastNormalizer | None = None
        with tf.init_scope():
            # The package tensorflow-text always splits Chinese characters.
            if core_ops or not tokenizer.split_chinese:
                self.table = PieceTable(tokenizer.vocabulary, self.default_id)
            else:
                self.fast = _fast_tokenizer(tokenizer)
                if tokenizer.lowercase == tokenizer.strips_accents:
                    self.normalizer = FastNormalizer(tokenizer.lowercase, self.changes)

    def __call__(self, texts: tf.Tensor | Sequence[str]) -> tf.RaggedTensor:
        texts = tf.convert_to_tensor(texts, tf.string)  # [B]
        texts = (self.normalizer or self.changes)(texts)
        if self.fast is not None:
            return tf.cast(self.fast.tokenize(texts), tf.int32)
        texts = tf.strings.regex_replace(texts, self.apart, r" \1 ")
        words = tf.strings.split(texts)  # [B, (words)]
        distinct, position = tf.unique(words.flat_values)
        pieces = tf.gather(self._pieces(distinct), position)  # [words, (pieces)]
        return words.with_flat_values(pieces).merge_dims(1, 2)

    def _pieces(self, words: tf.Tensor) -> tf.RaggedTensor:
        """Returns the piece ids of distinct words `[W]` as a ragged int32 `[W, (pieces)]`."""
        lengths = tf.strings.length(words, "UTF8_CHAR")
        known = lengths <= self.max_characters
        ids = tf.zeros([tf.size(words), 0], tf.int32)  # one column per step; -1 means no piece
        known, ids, _ = tf.while_loop(
            lambda known, ids, starts: tf.reduce_any(known & (starts < lengths)),
            lambda known, ids, starts: self._step(words, lengths, known, ids, starts),
            (known, ids, tf.zeros_like(lengths)),
            shape_invariants=(known.shape, tf.TensorShape([None, None]), lengths.shape),
        )
        ids = tf.where(known[:, None], ids, -1)
        ids = tf.concat([tf.where(known, -1, self.unknown_id)[:, None], ids], axis=1)
        return tf.ragged.boolean_mask(ids, ids >= 0)

    def _step(
        self,
        words: tf.Tensor,
        lengths: tf.Tensor,
        known: tf.Tensor,
        ids: tf.Tensor,
        starts: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Finds the next piece of each word that has characters left.

        Args:
            words: str, shape `[W]`. The words.
            lengths: int32, shape `[W]`. Number of characters of each word.
            known: bool, shape `[W]`. False for words that cannot be split into pieces.
            ids: int32, shape `[W, P]`. Ids of the pieces found so far; -1 means no piece.
            starts: int32, shape `[W]`. Number of characters that these pieces cover.

        Returns:
            Tuple of the new `known`, `ids` (with one more column) and `starts`.
        """
        sizes = tf.range(1, self.longest_piece + 1)  # [S]
        positions = tf.where(known & (starts < lengths))  # [A, 1]
        # [A], where A is the number of words that have characters left
        words = tf.gather_nd(words, positions)
        start = tf.gather_nd(starts, positions)
        rest = tf.gather_nd(lengths, positions) - start
        prefix = tf.where(start > 0, CONTINUATION, "")
        shape = [tf.size(words), self.longest_piece]
        pieces = tf.strings.substr(
            *(tf.reshape(_all_sizes(x, shape), [-1]) for x in (words, start)),
            tf.tile(sizes, [shape[0]]),
            unit="UTF8_CHAR",
        )
        found = self.table(prefix[:, None] + tf.reshape(pieces, shape))  # [A, S]
        there = (found >= 0) & (sizes <= rest[:, None])
        size = tf.reduce_max(tf.where(there, sizes, 0), axis=1)  # [A]
        taken = tf.gather(found, tf.maximum(size - 1, 0), batch_dims=1)
        column = tf.tensor_scatter_nd_update(tf.fill(tf.shape(known), -1), positions, taken)
        return (
            tf.tensor_scatter_nd_update(known, positions, size > 0),
            tf.concat([ids, column[:, None]], axis=1),
            tf.tensor_scatter_nd_add(starts, positions, size),
        )


def _all_sizes(x: tf.Tensor, shape: Sequence[Any]) -> tf.Tensor:
    return tf.broadcast_to(x[:, None], shape)


def _fast_tokenizer(tokenizer: Any) -> Any:  # returns a tokenizer of tensorflow-text
    try:
        import tensorflow_text
    except ImportError as error:
        raise ValueError(
            f"`core_ops=False` needs tensorflow-text, which cannot be imported ({error}). Install "
            "it (pip install tensorflow-text), or set `core_ops=True`."
        ) from error
    # FastBertTokenizer would also normalize the text, which has already been done.
    return tensorflow_text.FastWordpieceTokenizer(
        vocab=tokenizer.vocabulary,
        suffix_indicator=CONTINUATION,
        max_bytes_per_word=tokenizer.max_characters_per_word,
        token_out_type=tf.int32,  # pyright: ignore[reportArgumentType]
        unknown_token=tokenizer.unknown,
    )
