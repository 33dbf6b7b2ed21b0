"""MaskedLMBatches: batches of texts or sentence pairs with masked tokens, to pre-train BERT."""

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from tfreps.data.length_plan import LengthPlan
from tfreps.data.masked_lm.sentence_pairs import SentencePairs, Stretches
from tfreps.data.masked_lm.token_documents import TokenDocuments
from tfreps.data.masked_lm.token_masking import TokenMasking

_PREFETCH = 8


class MaskedLMBatches:
    """Makes batches for a masked LM and next sentences, sized by their padded tokens.

    Texts are `[CLS] stretch [SEP]`, or with pairs `[CLS] stretch [SEP] stretch [SEP]` (see
    `SentencePairs`), those of like length in a batch (see `LengthPlan`); their tokens are hidden
    anew in every epoch (see `TokenMasking`). Every random choice depends on the seed, the number
    of the epoch and the place in it alone, so that a position to resume from is two numbers:
    `dataset(epoch, first_batch)`.

    Elements: a dict of tensors, as `BertPretrainer` reads it.

    - `token_ids` int32 `[B, T]`: with masks and replacements in place; padding at the end.
    - `segment_ids` int32 `[B, T]`: 0 up to the first `[SEP]`, 1 up to the second, 0 on padding.
    - `masked_positions`, `masked_ids` int32 `[B, M]`: where tokens are hidden, ascending, and
      which; 0 on filler.
    - `masked_weights` float32 `[B, M]`: 1, and 0 on filler.
    - with `next_sentence`, `next_sentence_labels` int32 `[B]`.

    Args:
        documents: TokenDocuments, as `read_documents` returns it.
        tokenizer: the one that made them, with `vocabulary`, `padding_id`, `start_id`,
            `separator_id`, `mask_id` and `special_ids`; see `tfreps.text.bert.tokenizer_files`.
        batch_tokens: int. Most tokens of a batch, padding and special tokens included. A longer
            text makes a batch of its own.
        max_length: int. Most tokens of a text, special ones included.
        batch_rows: int or None. Most texts of a batch.
        next_sentence: bool. Whether there are pairs.
        next_label: int, 0 or 1. Label of a pair whose second stretch is next: 0 in Google's BERT.
        mask_rate: float. Share of tokens, or words, that are hidden: 0.15 in BERT.
        whole_words: bool. Whether the pieces of a word are hidden together.
        shuffle: bool. Whether batches come in a new order every epoch, with other company. Pairs
            and masks are new anyway.
        seed: int, not negative.

    Attributes:
        num_texts: int, of every epoch.
        num_tokens: int, in the first epoch, without padding; other epochs have about as many.
        num_left_out: int, documents that have no pair, being a single sentence.
        num_cut: int, pairs of sentences that are cut to `max_length`.

    Raises:
        ValueError: sizes out of range, or what `SentencePairs` and `TokenMasking` raise.

    Reference: Devlin et al., 2019, "BERT"; google-research/bert, "create_pretraining_data.py".

    Example:
        >>> from types import SimpleNamespace
        >>> tokenizer = SimpleNamespace(
        ...     vocabulary=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"],
        ...     special_ids=[0, 1, 2, 3, 4], padding_id=0, start_id=2, separator_id=3, mask_id=4)
        >>> ids, starts = np.array([5, 6, 7, 5, 6, 5]), np.array([0, 4, 6])
        >>> documents = TokenDocuments(ids, starts, np.array([0, 1, 2]), 0)
        >>> options = {"next_sentence": False, "mask_rate": 0.5}
        >>> batches = MaskedLMBatches(documents, tokenizer, 64, **options)
        >>> for batch in batches.dataset():
        ...     batch["token_ids"].shape, int(tf.reduce_sum(batch["masked_weights"]))
        (TensorShape([2, 6]), 3)
    """

    def __init__(
        self,
        documents: TokenDocuments,
        tokenizer: Callable,
        batch_tokens: int = 4096,
        *,
        max_length: int = 128,
        batch_rows: int | None = None,
        next_sentence: bool = True,
        next_label: int = 0,
        mask_rate: float = 0.15,
        whole_words: bool = False,
        shuffle: bool = True,
        seed: int = 0,
    ):
        num_special = 3 if next_sentence else 2
        for name, value, least in (
            ("max_length", max_length, num_special + (2 if next_sentence else 1)),
            ("batch_tokens", batch_tokens, 1),
            ("batch_rows", 1 if batch_rows is None else batch_rows, 1),
            ("seed", seed, 0),
        ):
            if value < least:
                raise ValueError(f"`{name}` must be at least {least}; got {value}.")
        if seed >= 2**31:
            raise ValueError(f"`seed` must be below 2^31; got {seed}.")
        if next_label not in (0, 1):
            raise ValueError(f"`next_label` must be 0 or 1; got {next_label!r}.")
        self.documents = documents
        self.tokenizer = tokenizer
        self.batch_tokens = batch_tokens
        self.batch_rows = batch_rows
        self.next_sentence = next_sentence
        self.next_label = next_label
        self.shuffle = shuffle
        self.seed = seed
        self._num_special = num_special
        self._pairs = SentencePairs(documents, max_length - num_special, next_sentence, seed)
        self._mask = TokenMasking(tokenizer, mask_rate, whole_words)
        # Traced once for all epochs: it takes more than a second.
        self._traced = tf.function(self._hide, [self._signature()], autograph=False)
        self._plans: dict[int, tuple[Stretches, LengthPlan]] = {}
        self.num_texts = self._pairs.num_texts
        self.num_left_out = self._pairs.num_left_out
        self.num_cut = self._pairs.num_cut
        self.num_tokens = int(self._plan(0)[1].lengths.sum())

    def dataset(self, epoch: int = 0, first_batch: int = 0) -> tf.data.Dataset:
        """Returns the batches of an epoch.

        Args:
            epoch: int, not negative.
            first_batch: int. How many of its batches are left out, those before the position to
                resume from. They cost no time.

        Returns:
            `tf.data.Dataset` of known cardinality; reading it again gives the same.
        """
        size = self.num_batches(epoch) - first_batch
        if epoch < 0 or first_batch < 0 or size < 0:
            raise ValueError(
                f"Expected an `epoch` from 0 and `first_batch` from 0 to "
                f"{self.num_batches(max(epoch, 0))}; got {epoch} and {first_batch}."
            )
        dataset = tf.data.Dataset.from_generator(
            lambda: self._batches(epoch, first_batch), output_signature=self._signature()
        )
        dataset = dataset.map(self._traced, num_parallel_calls=2, deterministic=True)
        return dataset.apply(tf.data.experimental.assert_cardinality(size)).prefetch(_PREFETCH)

    def num_batches(self, epoch: int = 0) -> int:
        """Returns the number of batches of an epoch. With pairs it varies a little by epoch."""
        return self._plan(max(epoch, 0))[1].num_batches

    def _plan(self, epoch: int) -> tuple[Stretches, LengthPlan]:
        """The texts of an epoch and how they are divided; those of the last epochs are kept."""
        key = epoch if self.next_sentence else 0
        if key not in self._plans:
            texts = self._pairs.texts(epoch)
            lengths = texts.lengths() + self._num_special
            options = self.batch_tokens, self.batch_rows, 1, self.shuffle, self.seed
            self._plans[key] = texts, LengthPlan(lengths, *options)
            for old in list(self._plans)[:-2]:
                del self._plans[old]
        return self._plans[key]

    def _batches(self, epoch: int, first_batch: int) -> Iterator[dict]:
        texts, plan = self._plan(epoch)
        for number, (rows, length) in enumerate(plan.batches(epoch)[first_batch:], first_batch):
            batch = self._rows(Stretches(*(part[rows] for part in texts)), length)
            batch["place"] = np.array([self.seed, epoch, number], np.int64)
            if self.next_sentence:
                batch["next_sentence_labels"] = np.where(
                    texts.is_next[rows], self.next_label, 1 - self.next_label
                ).astype(np.int32)
            yield batch

    def _rows(self, texts: Stretches, length: int) -> dict[str, np.ndarray]:
        """Texts as rows of ids with special tokens, and their segments: `[B, T]`."""
        place = np.arange(length)
        token_ids = np.full([len(texts.first), length], self.tokenizer.padding_id, np.int32)
        token_ids[:, 0] = self.tokenizer.start_id
        segment_ids = np.zeros_like(token_ids)
        begin = np.ones_like(texts.first)  # [B], where in the rows the stretch begins
        parts = [(texts.first, texts.first_end), (texts.second, texts.second_end)]
        for segment, (first, end) in enumerate(parts[: 1 + self.next_sentence]):
            stop = begin + end - first
            inside = (place >= begin[:, None]) & (place < stop[:, None])  # [B, T]
            source = (first - begin)[:, None] + place
            token_ids[inside] = self.documents.ids[source[inside]]
            token_ids[np.arange(len(stop)), stop] = self.tokenizer.separator_id
            segment_ids[(place >= begin[:, None]) & (place <= stop[:, None])] = segment
            begin = stop + 1
        return {"token_ids": token_ids, "segment_ids": segment_ids, "lengths": begin}

    def _hide(self, batch):
        """The element of a batch: its tokens hidden by the random numbers of its place."""
        batch = dict(batch)
        seed, epoch, number = tf.unstack(tf.cast(batch.pop("place"), "int32"))
        seed = tf.random.experimental.stateless_fold_in(tf.stack([seed, 2]), epoch)
        seed = tf.random.experimental.stateless_fold_in(seed, number)
        masked = self._mask(batch["token_ids"], batch.pop("lengths"), seed)
        return {**batch, **masked}

    def _signature(self):
        rows = tf.TensorSpec([None, None], tf.int32)
        signature = {"token_ids": rows, "segment_ids": rows}
        signature["lengths"] = tf.TensorSpec([None], tf.int64)
        signature["place"] = tf.TensorSpec([3], tf.int64)
        if self.next_sentence:
            signature["next_sentence_labels"] = tf.TensorSpec([None], tf.int32)
        return signature
