"""Masks the tokens of a batch for masked language modeling, in a TensorFlow graph."""

import numpy as np
import tensorflow as tf

from tfreps._src.data.masked_lm.tokenizer_protocols import SpecialIds

try:
    import tensorflow_text as tf_text
except ImportError as error:
    raise ValueError(
        f"Masked language modeling needs tensorflow-text, which cannot be imported ({error}). "
        "On Linux or macOS with Python 3.10 to 3.13, run pip install tensorflow-text."
    ) from error

_NO_LIMIT = 2**31 - 1
# Probabilities that a masked token becomes the mask token or a random one.
_MASK_RATE, _RANDOM_RATE = 0.8, 0.1


class StatelessSelector(tf_text.RandomItemSelector):
    """Variant of tensorflow-text's `RandomItemSelector` that uses a given seed.

    Of the n selectable items of a row, it selects the `floor(rate * n + u)` items with the smallest
    random numbers, where u is uniform in [0, 1). The expected number is exactly `rate * n`. (The
    original selector rounds up, and a stateless `shuffle_fn` would shuffle all of its rows of equal
    length identically.)
    """

    def __init__(self, rate: float, is_special: np.ndarray, seed: tf.Tensor):
        super().__init__(max_selections_per_batch=_NO_LIMIT, selection_rate=rate)
        self.rate = rate
        self.is_special = is_special
        self.seed = seed

    def get_selectable(self, input_ids: tf.RaggedTensor, axis: int = 1) -> tf.RaggedTensor:
        """Returns a ragged bool tensor `[B, (items)]`, `True` for items without special ids."""
        special = tf.ragged.map_flat_values(lambda ids: tf.gather(self.is_special, ids), input_ids)
        while special.ragged_rank > axis:
            special = tf.reduce_any(special, axis=-1)
        return tf.ragged.map_flat_values(tf.logical_not, special)

    def get_selection_mask(self, input_ids: tf.RaggedTensor, axis: int = 1) -> tf.RaggedTensor:
        """Returns a ragged bool tensor `[B, (items)]`, `True` for items that are selected."""
        selectable = self.get_selectable(input_ids, axis)
        lengths = selectable.row_lengths()
        selectable = selectable.to_tensor(False)  # [B, W]
        draws = tf.random.stateless_uniform(tf.shape(selectable), self.seed)
        draws = tf.where(selectable, draws, 2.0)
        own_seed = tf.random.experimental.stateless_fold_in(self.seed, 1)  # pyright: ignore[reportAttributeAccessIssue]
        u = tf.random.stateless_uniform([tf.shape(selectable)[0]], own_seed)  # pyright: ignore[reportArgumentType]
        count = self.rate * tf.reduce_sum(tf.cast(selectable, "float32"), axis=1) + u  # [B]
        rank = tf.argsort(tf.argsort(draws, axis=1, stable=True), axis=1)  # [B, W]
        selected = selectable & (rank < tf.cast(tf.floor(count), "int32")[:, None])
        return tf.RaggedTensor.from_tensor(selected, lengths)  # pyright: ignore[reportAttributeAccessIssue]


class StatelessChooser(tf_text.MaskValuesChooser):
    """Variant of tensorflow-text's `MaskValuesChooser` with a seed and the ids to draw from."""

    def __init__(self, mask_id: int, ordinary: np.ndarray, seed: tf.Tensor):
        super().__init__(len(ordinary), mask_id, _MASK_RATE, _RANDOM_RATE)
        self.ordinary = ordinary
        self.seed = seed

    def get_mask_values(self, masked_lm_ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Returns the ids that replace `masked_lm_ids`, as a ragged tensor of the same shape."""
        ids = masked_lm_ids.flat_values
        case = tf.random.stateless_uniform(tf.shape(ids), self.seed)
        own_seed = tf.random.experimental.stateless_fold_in(self.seed, 1)  # pyright: ignore[reportAttributeAccessIssue]
        which = tf.random.stateless_uniform(
            tf.shape(ids), own_seed, maxval=len(self.ordinary), dtype=tf.int32
        )
        others = tf.cast(tf.gather(self.ordinary, which), ids.dtype)
        values = tf.where(case < _MASK_RATE + _RANDOM_RATE, others, ids)
        values = tf.where(case < _MASK_RATE, tf.cast(self.mask_token, ids.dtype), values)
        return masked_lm_ids.with_flat_values(values)


class TokenMasking:
    """Random masking of tokens as in BERT.

    Of the masked tokens, 80% become `[MASK]`, 10% become a random token, and 10% do not change.
    Special tokens are neither masked nor drawn as random tokens. If `whole_words` is `True`, all
    pieces of a word are masked together; a piece `##...` belongs to the word before it.

    Reference: Devlin et al., 2019, "BERT"; `tensorflow_text.mask_language_model`.
    """

    def __init__(self, tokenizer: SpecialIds, rate: float = 0.15, whole_words: bool = False):
        pieces = tokenizer.vocabulary
        self.rate = rate
        self.whole_words = whole_words
        self.mask_id = tokenizer.mask_id
        self._is_special = np.zeros([len(pieces)], bool)
        self._is_special[list(tokenizer.special_ids)] = True
        self._goes_on = np.array([str(piece).startswith("##") for piece in pieces])
        self._ordinary = np.flatnonzero(~self._is_special).astype(np.int32)
        if not len(self._ordinary):
            raise ValueError(
                "The vocabulary of `tokenizer` has only special tokens, which are never masked. "
                "Use a vocabulary with at least one other token."
            )

    def __call__(
        self, token_ids: tf.Tensor, lengths: tf.Tensor, seed: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Masks the first `lengths` tokens of each row of `token_ids`, int32 `[B, T]`.

        Returns `token_ids` after masking, and `masked_positions`, `masked_ids` and
        `masked_weights`, `[B, M]`, as in `MaskedLMBatches`. All random choices depend only on
        `seed`, int `[2]`.
        """
        rows = tf.RaggedTensor.from_tensor(token_ids, lengths)  # pyright: ignore[reportAttributeAccessIssue]  # [B, (T)]
        seeds = tf.random.experimental.stateless_split(seed, 2)  # pyright: ignore[reportAttributeAccessIssue]
        selector = StatelessSelector(self.rate, self._is_special, seeds[0])
        chooser = StatelessChooser(self.mask_id, self._ordinary, seeds[1])
        items = self._words(rows) if self.whole_words else rows
        masked, positions, ids = tf_text.mask_language_model(items, selector, chooser, axis=1)
        real = tf.ones_like(positions.flat_values, tf.float32)
        return {
            # The padding after each row does not change.
            "token_ids": _replace_front(token_ids, masked),  # pyright: ignore[reportArgumentType]
            "masked_positions": tf.cast(positions.to_tensor(0), "int32"),  # [B, M]
            "masked_ids": tf.cast(ids.to_tensor(0), "int32"),
            "masked_weights": positions.with_flat_values(real).to_tensor(0.0),
        }

    def _words(self, rows: tf.RaggedTensor) -> tf.RaggedTensor:
        """Returns the ids of each row grouped by word, a ragged tensor `[B, (W), (pieces)]`."""
        ids = rows.flat_values
        special = tf.gather(self._is_special, ids)
        behind_special = tf.concat([[True], special], 0)[:-1]
        # Every row begins with [CLS], so a word never spans two rows.
        begins = ~tf.gather(self._goes_on, ids) | behind_special
        starts = tf.concat([tf.where(begins)[:, 0], [tf.size(ids, tf.int64)]], 0)
        words = tf.RaggedTensor.from_row_splits(ids, starts, validate=False)  # pyright: ignore[reportAttributeAccessIssue]
        per_row = tf.reduce_sum(rows.with_flat_values(tf.cast(begins, tf.int64)), axis=1)
        return tf.RaggedTensor.from_row_lengths(words, per_row, validate=False)  # pyright: ignore[reportAttributeAccessIssue]


def _replace_front(token_ids: tf.Tensor, rows: tf.RaggedTensor) -> tf.Tensor:
    """Returns `token_ids` with the start of each row replaced by a row of `rows`."""
    real = tf.sequence_mask(rows.row_lengths(), tf.shape(token_ids)[1])
    return tf.where(real, rows.to_tensor(0, shape=tf.shape(token_ids, tf.int64)), token_ids)
