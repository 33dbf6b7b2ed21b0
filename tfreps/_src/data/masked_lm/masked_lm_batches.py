"""MaskedLMBatches: texts or sentence pairs with masked tokens for pre-training BERT."""

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from tfreps._src.data.element_types import Dataset
from tfreps._src.data.length_plan import LengthPlan
from tfreps._src.data.masked_lm.sentence_pairs import SentencePairs, Stretches
from tfreps._src.data.masked_lm.token_documents import TokenDocuments
from tfreps._src.data.masked_lm.tokenizer_protocols import SpecialIds
from tfreps._src.files.argument_checks import check_integers

_PREFETCH = 8


class MaskedLMBatches:
    """Batches for masked language modeling and next-sentence prediction.

    A text is `[CLS] segment [SEP]`, or `[CLS] segment [SEP] segment [SEP]` if `next_sentence` is
    `True`. A segment is one or more consecutive sentences. Texts of similar length share a batch,
    and the masked tokens are drawn anew in every epoch. All random choices depend only on the
    seed, the epoch number and the position in the epoch, so `dataset(epoch, first_batch)` can
    resume from any position.

    Each element is a dict of tensors, the input of `BertPretrainer`, where M is the largest number
    of masked tokens in a text of the batch:

    - `token_ids`: int32 `[B, T]`. Token ids after masking, padded at the end.
    - `segment_ids`: int32 `[B, T]`. 0 up to and including the first `[SEP]`, 1 up to and
      including the second, and 0 on padding.
    - `masked_positions`: int32 `[B, M]`. Positions of the masked tokens in ascending order, 0 on
      padding.
    - `masked_ids`: int32 `[B, M]`. Original ids of the masked tokens, 0 on padding.
    - `masked_weights`: float32 `[B, M]`. 1 for masked tokens, 0 on padding.
    - `next_sentence_labels`: int32 `[B]`. `next_label` if the second segment follows the first in
      the document, otherwise `1 - next_label`. Only present if `next_sentence` is `True`.

    Args:
        documents: `TokenDocuments`. The return value of `read_documents`.
        tokenizer: Tokenizer of `tfreps.text`, or an object with the attributes
            `vocabulary`, `padding_id`, `start_id`, `separator_id`, `mask_id` and `special_ids`.
            It must be the tokenizer with which the documents were read.
        batch_tokens: int. Maximum number of tokens in a batch, padding and special tokens
            included. A longer text forms a batch of its own. Defaults to 4096.
        max_length: int, at least 5, or at least 3 if `next_sentence` is `False`. Maximum number of
            tokens in a text, special tokens included. A sentence that is too long is split into
            several texts if `next_sentence` is `False`; pairs that are too long are truncated.
            Defaults to 128.
        batch_size: int or None. Maximum number of texts in a batch. If `None`, the number is not
            limited. Defaults to `None`.
        next_sentence: bool. Whether texts are pairs of segments, for next-sentence prediction.
            Defaults to `True`.
        next_label: int. 0 or 1, the label of a pair whose second segment follows the first. It
            is 0 in Google's BERT. Defaults to 0.
        mask_rate: float in (0, 1). Expected share of tokens that are masked, or of words if
            `whole_words` is `True`; special tokens are not counted. Of the masked tokens, 80%
            become the mask token, 10% become a random token, and 10% do not change. Defaults to
            0.15, as in BERT.
        whole_words: bool. Whether all pieces of a word are masked together. Pieces that begin with
            `##` belong to the word before them. Defaults to `False`.
        shuffle: bool. Whether to regroup the texts and reorder the batches in every epoch. Pairs
            and masks are drawn anew in either case. Defaults to `True`.
        seed: int in [0, 2^31). Random seed. Defaults to 0.

    Attributes:
        num_texts: int. Number of texts per epoch.
        num_tokens: int. Number of tokens in the first epoch, special tokens included and padding
            excluded. Other epochs have about the same number.
        num_left_out: int. Number of documents that are left out because they have only one
            sentence. It is 0 if `next_sentence` is `False`.
        num_truncated: int. Number of texts that are longer than `max_length` with their original
            second segments. It is 0 if `next_sentence` is `False`.

    Raises:
        ValueError: If a size, `seed`, `next_label` or `mask_rate` is out of range; the vocabulary
            has only special tokens; `next_sentence` is `True` and fewer than two documents have
            two or more sentences; or tensorflow-text is not installed.

    Reference: Devlin et al., 2019, "BERT"; google-research/bert, "create_pretraining_data.py".

    Example:
        >>> from types import SimpleNamespace
        >>> from tfreps.data import MaskedLMBatches, TokenDocuments
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
        tokenizer: SpecialIds,
        batch_tokens: int = 4096,
        *,
        max_length: int = 128,
        batch_size: int | None = None,
        next_sentence: bool = True,
        next_label: int = 0,
        mask_rate: float = 0.15,
        whole_words: bool = False,
        shuffle: bool = True,
        seed: int = 0,
    ):
        num_special = 3 if next_sentence else 2
        check_integers(num_special + (2 if next_sentence else 1), max_length=max_length)
        check_integers(1, batch_tokens=batch_tokens)
        check_integers(1, or_none=True, batch_size=batch_size)
        check_integers(0, seed=seed)
        if seed >= 2**31:
            raise ValueError(f"`seed` must be below 2^31; got {seed}.")
        if next_label not in (0, 1):
            raise ValueError(f"`next_label` must be 0 or 1; got {next_label!r}.")
        if not 0 < mask_rate < 1:
            raise ValueError(f"`mask_rate` must be in (0, 1); got {mask_rate}.")
        self.documents = documents
        self.tokenizer = tokenizer
        self.batch_tokens = batch_tokens
        self.batch_size = batch_size
        self.next_sentence = next_sentence
        self.next_label = next_label
        self.shuffle = shuffle
        self.seed = seed
        self._num_special = num_special
        self._pairs = SentencePairs(documents, max_length - num_special, next_sentence, seed)
        # Imported here, because it needs tensorflow-text, which not every platform has.
        from tfreps._src.data.masked_lm.token_masking import TokenMasking

        self._mask = TokenMasking(tokenizer, mask_rate, whole_words)
        # Traced once for all epochs, because tracing takes more than a second.
        self._traced = tf.function(self._hide, [self._signature()], autograph=False)
        self._plans: dict[int, tuple[Stretches, LengthPlan]] = {}
        self.num_texts: int = self._pairs.num_texts
        self.num_left_out: int = self._pairs.num_left_out
        self.num_truncated: int = self._pairs.num_truncated
        self.num_tokens: int = int(self._plan(0)[1].lengths.sum())

    def dataset(self, epoch: int = 0, first_batch: int = 0) -> Dataset:
        """Returns the batches of an epoch.

        Args:
            epoch: int, non-negative. Number of the epoch, counted from 0. Defaults to 0.
            first_batch: int. Number of batches to skip at the start of the epoch, for example to
                resume training. Skipped batches are not computed. Defaults to 0.

        Returns:
            `tf.data.Dataset` of known cardinality. Each iteration over it yields the same elements.

        Raises:
            ValueError: If `epoch` is negative, or `first_batch` is not in
                [0, `num_batches(epoch)`].
        """
        size = self.num_batches(epoch) - first_batch
        if epoch < 0 or first_batch < 0 or size < 0:
            raise ValueError(
                f"`epoch` must be at least 0 and `first_batch` in [0, "
                f"{self.num_batches(max(epoch, 0))}]; got {epoch} and {first_batch}."
            )
        dataset = tf.data.Dataset.from_generator(
            lambda: self._batches(epoch, first_batch), output_signature=self._signature()
        )
        dataset = dataset.map(self._traced, num_parallel_calls=2, deterministic=True)
        return dataset.apply(tf.data.experimental.assert_cardinality(size)).prefetch(_PREFETCH)

    def num_batches(self, epoch: int = 0) -> int:
        """Returns the number of batches in an epoch.

        With sentence pairs, the number varies slightly between epochs.
        """
        return self._plan(max(epoch, 0))[1].num_batches

    def _plan(self, epoch: int) -> tuple[Stretches, LengthPlan]:
        """Returns the texts of an epoch and their batches; caches the last two epochs."""
        key = epoch if self.next_sentence else 0
        if key not in self._plans:
            texts = self._pairs.texts(epoch)
            lengths = texts.lengths() + self._num_special
            options = self.batch_tokens, self.batch_size, 1, self.shuffle, self.seed
            self._plans[key] = texts, LengthPlan(lengths, *options)
            for old in list(self._plans)[:-2]:
                del self._plans[old]
        return self._plans[key]

    def _batches(self, epoch: int, first_batch: int) -> Iterator[dict[str, np.ndarray]]:
        texts, plan = self._plan(epoch)
        for number, (rows, length) in enumerate(plan.batches(epoch)[first_batch:], first_batch):
            batch = self._rows(Stretches(*(part[rows] for part in texts)), length)
            batch["position"] = np.array([self.seed, epoch, number], np.int64)
            if self.next_sentence:
                batch["next_sentence_labels"] = np.where(
                    texts.is_next[rows], self.next_label, 1 - self.next_label
                ).astype(np.int32)
            yield batch

    def _rows(self, texts: Stretches, length: int) -> dict[str, np.ndarray]:
        """Returns `token_ids` and `segment_ids`, `[B, T]`, and `lengths`, `[B]`, of a batch."""
        position = np.arange(length)
        token_ids = np.full([len(texts.first), length], self.tokenizer.padding_id, np.int32)
        token_ids[:, 0] = self.tokenizer.start_id
        segment_ids = np.zeros_like(token_ids)
        begin = np.ones_like(texts.first)  # [B], position in each row at which the segment begins
        parts = [(texts.first, texts.first_end), (texts.second, texts.second_end)]
        for segment, (first, end) in enumerate(parts[: 1 + self.next_sentence]):
            stop = begin + end - first
            inside = (position >= begin[:, None]) & (position < stop[:, None])  # [B, T]
            source = (first - begin)[:, None] + position
            token_ids[inside] = self.documents.ids[source[inside]]
            token_ids[np.arange(len(stop)), stop] = self.tokenizer.separator_id
            segment_ids[(position >= begin[:, None]) & (position <= stop[:, None])] = segment
            begin = stop + 1
        return {"token_ids": token_ids, "segment_ids": segment_ids, "lengths": begin}

    def _hide(self, batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Returns the batch with random tokens masked; `batch["position"]` determines which."""
        batch = dict(batch)
        seed, epoch, number = tf.unstack(tf.cast(batch.pop("position"), "int32"))
        seed = tf.random.experimental.stateless_fold_in(tf.stack([seed, 2]), epoch)  # pyright: ignore[reportAttributeAccessIssue]
        seed = tf.random.experimental.stateless_fold_in(seed, number)  # pyright: ignore[reportAttributeAccessIssue]
        masked = self._mask(batch["token_ids"], batch.pop("lengths"), seed)
        return {**batch, **masked}

    def _signature(self) -> dict[str, tf.TensorSpec]:
        rows = tf.TensorSpec([None, None], tf.int32)
        signature = {"token_ids": rows, "segment_ids": rows}
        signature["lengths"] = tf.TensorSpec([None], tf.int64)
        signature["position"] = tf.TensorSpec([3], tf.int64)
        if self.next_sentence:
            signature["next_sentence_labels"] = tf.TensorSpec([None], tf.int32)
        return signature
