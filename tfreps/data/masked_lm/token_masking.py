"""Masks tokens of a batch for the masked language model, inside a TensorFlow graph."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

_NO_LIMIT = 2**31 - 1


class StatelessSelector(tf_text.RandomItemSelector):
    """tensorflow-text's random item selector, with random numbers from a given seed.

    Of n items that can be selected it selects the `floor(rate * n + u)` with the smallest random
    numbers, u uniform in [0, 1): on average exactly `rate * n`. (tensorflow-text's own rounds
    up, and with a fixed seed would shuffle all rows alike.)

    Args:
        rate: float. Share of the items that are selected.
        is_special: bool `[V]`. Ids that are never selected, nor is what contains them.
        seed: int `[2]` tensor.
    """

    def __init__(self, rate, is_special, seed):
        super().__init__(max_selections_per_batch=_NO_LIMIT, selection_rate=rate)
        self.rate = rate
        self.is_special = is_special
        self.seed = seed

    def get_selectable(self, input_ids, axis=1):
        """Returns which items hold no special id: bool ragged `[B, (items)]`."""
        special = tf.ragged.map_flat_values(lambda ids: tf.gather(self.is_special, ids), input_ids)
        while special.ragged_rank > axis:
            special = tf.reduce_any(special, axis=-1)
        return tf.ragged.map_flat_values(tf.logical_not, special)

    def get_selection_mask(self, input_ids, axis=1):
        """Returns which items are selected: bool ragged `[B, (items)]`."""
        selectable = self.get_selectable(input_ids, axis)
        lengths = selectable.row_lengths()
        selectable = selectable.to_tensor(False)  # [B, W]
        draws = tf.random.stateless_uniform(tf.shape(selectable), self.seed)
        draws = tf.where(selectable, draws, 2.0)
        own_seed = tf.random.experimental.stateless_fold_in(self.seed, 1)
        u = tf.random.stateless_uniform([tf.shape(selectable)[0]], own_seed)
        count = self.rate * tf.reduce_sum(tf.cast(selectable, "float32"), axis=1) + u  # [B]
        rank = tf.argsort(tf.argsort(draws, axis=1, stable=True), axis=1)  # [B, W]
        selected = selectable & (rank < tf.cast(tf.floor(count), "int32")[:, None])
        return tf.RaggedTensor.from_tensor(selected, lengths)


class StatelessChooser(tf_text.MaskValuesChooser):
    """tensorflow-text's chooser with random numbers from a given seed; never draws a special id.

    Args:
        mask_id: int. What stands for hidden tokens in `mask_token_rate` of all cases.
        ordinary: int `[U]`. Ids to draw from in `random_token_rate` of all cases.
        seed: int `[2]` tensor.
    """

    def __init__(self, mask_id, ordinary, seed, mask_token_rate=0.8, random_token_rate=0.1):
        super().__init__(len(ordinary), mask_id, mask_token_rate, random_token_rate)
        self.ordinary = ordinary
        self.seed = seed

    def get_mask_values(self, masked_lm_ids):
        """Returns what replaces each masked token, ragged as they are."""
        ids = masked_lm_ids.flat_values
        case = tf.random.stateless_uniform(tf.shape(ids), self.seed)
        own_seed = tf.random.experimental.stateless_fold_in(self.seed, 1)
        which = tf.random.stateless_uniform(
            tf.shape(ids), own_seed, maxval=len(self.ordinary), dtype=tf.int32
        )
        others = tf.cast(tf.gather(self.ordinary, which), ids.dtype)
        kept = self._mask_token_rate + self._random_token_rate
        values = tf.where(case < kept, others, ids)
        values = tf.where(case < self._mask_token_rate, tf.cast(self.mask_token, ids.dtype), values)
        return masked_lm_ids.with_flat_values(values)


class TokenMasking:
    """Masks 15 % of the tokens as BERT does: 80 % become `[MASK]`, 10 % another token, 10 % stay.

    Special tokens are neither hidden nor put in the place of another.

    Args:
        tokenizer: has `vocabulary`, `mask_id` and `special_ids`, as in `tfreps.text.bert`.
        rate: float. Share of the tokens, or words, that are hidden; on average exactly that.
        whole_words: bool. Whether all pieces of a word are hidden together. A piece `##...`
            belongs to the word before it. Replacements are drawn piece by piece.

    Raises:
        ValueError: a rate outside of 0..1, or a vocabulary of special tokens alone.

    Reference: Devlin et al., 2019, "BERT"; `tensorflow_text.mask_language_model`.
    """

    def __init__(self, tokenizer: Callable, rate: float = 0.15, whole_words: bool = False):
        if not 0 < rate < 1:
            raise ValueError(f"`rate` must be between 0 and 1; got {rate}.")
        pieces = tokenizer.vocabulary
        self.rate = rate
        self.whole_words = whole_words
        self.mask_id = tokenizer.mask_id
        self._is_special = np.zeros([len(pieces)], bool)
        self._is_special[list(tokenizer.special_ids)] = True
        self._goes_on = np.array([str(piece).startswith("##") for piece in pieces])
        self._ordinary = np.flatnonzero(~self._is_special).astype(np.int32)
        if not len(self._ordinary):
            raise ValueError("The vocabulary has special tokens only: there is nothing to mask.")

    def __call__(self, token_ids, lengths, seed):
        """Masks a batch.

        Args:
            token_ids: int32 `[B, T]`.
            lengths: int `[B]`, how many of them are real.
            seed: int `[2]` tensor, on which alone all choices depend.

        Returns:
            dict of `token_ids` int32 `[B, T]`, `masked_positions` int32 `[B, M]` ascending,
            `masked_ids` int32 `[B, M]`, `masked_weights` float32 `[B, M]`: 1, and 0 on filler.
        """
        rows = tf.RaggedTensor.from_tensor(token_ids, lengths)  # [B, (T)]
        seeds = tf.random.experimental.stateless_split(seed, 2)
        selector = StatelessSelector(self.rate, self._is_special, seeds[0])
        chooser = StatelessChooser(self.mask_id, self._ordinary, seeds[1])
        items = self._words(rows) if self.whole_words else rows
        masked, positions, ids = tf_text.mask_language_model(items, selector, chooser, axis=1)
        real = tf.ones_like(positions.flat_values, tf.float32)
        return {
            # What follows the rows is padding, which stays what it was.
            "token_ids": _replace_front(token_ids, masked),
            "masked_positions": tf.cast(positions.to_tensor(0), "int32"),  # [B, M]
            "masked_ids": tf.cast(ids.to_tensor(0), "int32"),
            "masked_weights": positions.with_flat_values(real).to_tensor(0.0),
        }

    def _words(self, rows):
        """The same ids with the pieces of each word apart: `[B, (W), (pieces)]`."""
        ids = rows.flat_values
        special = tf.gather(self._is_special, ids)
        behind_special = tf.concat([[True], special], 0)[:-1]
        begins = ~tf.gather(self._goes_on, ids) | behind_special  # a row begins with [CLS]
        starts = tf.concat([tf.where(begins)[:, 0], [tf.size(ids, tf.int64)]], 0)
        words = tf.RaggedTensor.from_row_splits(ids, starts, validate=False)
        per_row = tf.reduce_sum(rows.with_flat_values(tf.cast(begins, tf.int64)), axis=1)
        return tf.RaggedTensor.from_row_lengths(words, per_row, validate=False)


def _replace_front(token_ids, rows):
    """`token_ids` with the ragged `rows` of the same lengths in their place."""
    real = tf.sequence_mask(rows.row_lengths(), tf.shape(token_ids)[1])
    return tf.where(real, rows.to_tensor(0, shape=tf.shape(token_ids, tf.int64)), token_ids)
