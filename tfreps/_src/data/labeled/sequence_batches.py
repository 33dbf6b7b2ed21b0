"""SequenceBatches: batches of similarly long sentences for taggers and classifiers."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import h5py
import numpy as np
import tensorflow as tf

from tfreps._src.data.element_types import Arrays, Dataset, Specs
from tfreps._src.data.labeled.random_truncation import RandomTruncation
from tfreps._src.data.labeled.sentence_vectors import SentenceVectors
from tfreps._src.data.labeled.sequence_targets import TokenValues, make_targets
from tfreps._src.data.labeled.token_rows import Indexer, TokenRows
from tfreps._src.data.length_plan import LengthPlan, PlannedBatch
from tfreps._src.files.argument_checks import check_integers

_PREFETCH = 8


class SequenceBatches:
    """Batches of tokenized sentences with tags or labels, of at most `batch_tokens` tokens each.

    Every sentence occurs once per epoch, in a batch with sentences of similar length. The
    batches depend only on the seed and the epoch number, so `dataset(epoch, first_batch)` can
    resume from any position. All epochs have the same number of batches.

    Elements: `(features, y, sample_weight)`, or only `features` if `targets` is `None`.

    - `features`: dict of tensors. It contains the features that `indexer` computes from the tokens,
      such as `token_ids`, int32 `[B, T]`, `character_ids`, int32 `[B, T, C]`, and `mask`, bool
      `[B, T]`; `vectors`, float32 `[B, L, T, D]`, if `vectors` is given; and the features in
      `extra`.
    - `y`: tag ids, int32 `[B, T]`, or label ids, int32 `[B]`. Tag ids are 0 on padding. For
      targets with one value for each of K tags, `y` is `[B, T, K]`, bool or float32.
    - `sample_weight`: float32 `[B]`. Keras divides the loss of a batch by its number of rows, so a
      sentence counts more in a small batch. In shuffled batches, which are meant for training, the
      weight compensates for this: it is the number of rows of the batch divided by the mean number
      of rows per batch. With M batches of B_b rows and N sentences, the mean of the batch losses is
      then the mean over sentences: `1/M sum_b 1/B_b sum_i (B_b M/N) loss_i = 1/N sum_i loss_i`. In
      unshuffled batches, which are meant for evaluation, the weight is 1, because Keras itself
      weights batches by their number of rows in evaluation. `sample_weight` is multiplied by
      `sentence_weights`.
    - `batch_weight`, a feature of shuffled batches: float32 `[B]`, the factor in `sample_weight`
      that compensates for the size of the batch. In training, Keras also weights batches by their
      number of rows when it averages the reported `loss`, which is therefore too high. The models
      of tfreps divide by this factor, and report the mean over sentences.

    Args:
        tokens: sequence of lists of str. The tokens of each sentence. A list may be empty.
        targets: sequence or None. For each sentence, a list of tag ids or one label id. In place
            of the id of a tag, each token may have a row with one value for each of K tags: bools,
            which are True for possible tags, or floats, which are the probabilities of the tags. If
            `None`, the batches have no targets and no weights.
        indexer: callable. A `tfreps.text.TokenIndexer`, or any other callable that maps tokens, a
            str tensor `[B, T]`, to a dict of tensors `[B, T, ...]` and treats each token
            independently of the others.
        batch_tokens: int. Maximum number of tokens in a batch, padding included. A longer
            sentence forms a batch of its own. Defaults to 4096.
        batch_size: int or None. Maximum number of sentences in a batch. If `None`, the number
            is not limited. Defaults to `None`.
        shuffle: bool. Whether to shuffle. If `False`, batches are sorted from short to long and
            are the same in every epoch. Defaults to `False`.
        seed: int, non-negative. Random seed for shuffling. Defaults to 0.
        max_length: int or None. Longer sentences are truncated to this number of tokens. If
            `None`, sentences are not truncated. Defaults to `None`.
        length_multiple: int. If greater than 1, T is rounded up to a multiple of it, so that
            only a few shapes occur, the same ones in every epoch. This suits functions that are
            compiled once per shape. Defaults to 1.
        sentence_weights: sequence of float or None. Weight of each sentence, finite and
            non-negative. If `None`, all weights are 1. Defaults to `None`.
        vectors: str, path-like object or None. Path of a file written by `tfreps embed` with the
            vectors of these sentences, either whole or truncated to `max_length`. If `None`, no
            vectors are read. Defaults to `None`.
        vector_numbers: sequence of int or None. Number of each sentence in the file `vectors`. If
            `None`, the file contains all sentences in this order. Defaults to `None`.
        extra: dict or None. Maps the name of each additional feature to its values: for each
            sentence, an array with one value or row per token. The feature is an int32, float32
            or bool tensor `[B, T, ...]`, which is 0 or `False` on padding. Defaults to `None`.
        truncation: `RandomTruncation` or None. Selects the tokens to remove from each sentence in
            each epoch. It must have been created from the same sentences and with the same
            `max_length`. Sentences are grouped by their lengths before the removal, and
            `num_tokens` includes the removed tokens. If `None`, no tokens are removed. Defaults to
            `None`.

    Attributes:
        num_sentences: int. Number of sentences.
        num_tokens: int. Number of tokens per epoch, padding excluded.
        num_truncated: int. Number of sentences that are truncated to `max_length`.
        vector_shape: tuple of int. Number of layers L and width D of the vectors, or `(0, 0)` if
            `vectors` is `None`.

    Masking: `mask` is `True` on real tokens.

    Raises:
        ValueError: If there are no sentences; a token is empty or not a string; arguments have
            different numbers of sentences or tokens; an argument is not as described above; both
            `truncation` and `vectors` are given; or the file `vectors` was computed from different
            sentences or cannot be read.

    Example:
        >>> from tfreps.data import SequenceBatches
        >>> from tfreps.text import TokenIndexer
        >>> sentences = [["a", "dog", "sat"], ["yes"], ["a", "cat"]]
        >>> indexer = TokenIndexer.from_sentences(sentences)
        >>> tags = [[0, 1, 2], [3], [0, 1]]
        >>> batches = SequenceBatches(sentences, tags, indexer, batch_tokens=6)
        >>> for element, y, sample_weight in batches.dataset():
        ...     print(element["token_ids"].numpy().tolist(), y.numpy().tolist())
        [[8, 0], [4, 5]] [[3, 0], [0, 1]]
        [[4, 6, 7]] [[0, 1, 2]]
        >>> batches.order().tolist()
        [1, 2, 0]
    """

    def __init__(
        self,
        tokens: Sequence[Sequence[str]],
        targets: Sequence[Sequence[int] | np.ndarray] | Sequence[int] | np.ndarray | None,
        indexer: Indexer,
        batch_tokens: int = 4096,
        *,
        batch_size: int | None = None,
        shuffle: bool = False,
        seed: int = 0,
        max_length: int | None = None,
        length_multiple: int = 1,
        sentence_weights: Sequence[float] | np.ndarray | None = None,
        vectors: str | os.PathLike[str] | None = None,
        vector_numbers: Sequence[int] | None = None,
        extra: Mapping[str, Sequence[Any]] | None = None,
        truncation: RandomTruncation | None = None,
    ):
        check_integers(1, batch_tokens=batch_tokens, length_multiple=length_multiple)
        check_integers(1, or_none=True, batch_size=batch_size, max_length=max_length)
        check_integers(0, seed=seed)
        if not len(tokens):
            raise ValueError("`tokens` must contain at least one sentence; got none.")
        self.shuffle = shuffle
        self.num_sentences: int = len(tokens)
        lengths = np.array([len(sentence) for sentence in tokens])
        self._rows = TokenRows(tokens, indexer, max_length)
        cut_lengths = self._rows.lengths
        self.num_tokens: int = int(cut_lengths.sum())
        self.num_truncated: int = int((cut_lengths < lengths).sum())
        self._targets = None if targets is None else make_targets(targets, lengths, cut_lengths)
        self._weights = _weights(sentence_weights, len(tokens))
        self._extra = _extra(extra or {}, self._rows, lengths, cut_lengths)
        if truncation is not None and vectors is not None:
            raise ValueError(
                "`truncation` and `vectors` must not both be given: `truncation` removes tokens, "
                "but the vectors belong to whole sentences. Pass only one of the two."
            )
        self._truncation = truncation
        self._vectors: SentenceVectors | None = None
        self.vector_shape: tuple[int, int] = (0, 0)
        if vectors is not None:
            stored = SentenceVectors(vectors, tokens, cut_lengths, vector_numbers)
            self._vectors, self.vector_shape = stored, (stored.num_layers, stored.dim)
        self._plan = LengthPlan(
            cut_lengths, batch_tokens, batch_size, length_multiple, shuffle, seed
        )

    def dataset(self, epoch: int = 0, first_batch: int = 0, epochs: int | None = 1) -> Dataset:
        """Returns the batches of one or more epochs.

        Args:
            epoch: int, non-negative. Number of the first epoch. Defaults to 0.
            first_batch: int. Number of batches to skip at the start of that epoch, for example to
                resume training. Skipping takes no time. Defaults to 0.
            epochs: int or None. Number of consecutive epochs. If `None`, the data set is endless.
                Defaults to 1.

        Returns:
            `tf.data.Dataset` of known cardinality. Each iteration over it yields the same elements.

        Raises:
            ValueError: If `epoch` is negative, `first_batch` is not in [0, `num_batches()`], or
                `epochs` is below 1.
        """
        too_few = epochs is not None and epochs < 1
        if epoch < 0 or not 0 <= first_batch <= self.num_batches() or too_few:
            raise ValueError(
                f"`epoch` must be at least 0, `first_batch` must be in [0, {self.num_batches()}], "
                f"and `epochs` must be None or at least 1; got {epoch}, {first_batch} and {epochs}."
            )
        dataset = tf.data.Dataset.from_generator(
            lambda: self._elements(epoch, first_batch, epochs), output_signature=self.element_spec
        )
        size = tf.data.INFINITE_CARDINALITY
        if epochs is not None:
            size = epochs * self.num_batches() - first_batch
        return dataset.apply(tf.data.experimental.assert_cardinality(size)).prefetch(_PREFETCH)

    def arrays(self, epoch: int = 0) -> Iterator[Arrays]:
        """Returns an iterator over the batches of an epoch, as NumPy arrays.

        A `tf.data.Dataset` prepares the next batch while the current one is being processed, but
        takes about 0.1 seconds to create. This method is faster for a single batch.

        The elements are those of `dataset(epoch)`, with arrays in place of tensors.
        """
        return self._elements(epoch, 0, 1)

    @property
    def element_spec(self) -> Specs:
        """`tf.TensorSpec` of each tensor of an element, as for a `tf.data.Dataset`."""
        spec = self._rows.specs | {name: values.spec for name, values in self._extra.items()}
        weight = tf.TensorSpec([None], tf.float32)
        if self._vectors is not None:
            shape = [None, self.vector_shape[0], None, self.vector_shape[1]]
            spec["vectors"] = tf.TensorSpec(shape, tf.float32)
        if self._targets is None:
            return spec
        if self.shuffle:
            spec["batch_weight"] = weight
        return spec, self._targets.spec, weight

    def num_batches(self, epoch: int = 0) -> int:
        """Returns the number of batches per epoch, which is the same for every `epoch`."""
        return self._plan.num_batches

    def order(self, epoch: int = 0) -> np.ndarray:
        """Returns the positions in `tokens` of the sentences of an epoch, in order: int64 `[N]`."""
        return np.concatenate([batch.sentences for batch in self._plan.batches(epoch)])

    def restore_order(self, rows: Sequence[Any], epoch: int = 0) -> list[Any]:
        """Returns results for the sentences of an epoch in the order of `tokens`.

        `rows` has one item per sentence, in the order of the batches of the epoch.

        Raises:
            ValueError: If `rows` does not have one item per sentence.
        """
        if len(rows) != self.num_sentences:
            raise ValueError(
                f"`rows` must have one item for each of the {self.num_sentences} sentences; got "
                f"{len(rows)}."
            )
        return [rows[position] for position in np.argsort(self.order(epoch)).tolist()]

    def _elements(self, epoch: int, first_batch: int, epochs: int | None) -> Iterator[Arrays]:
        last = None if epochs is None else epoch + epochs
        with self._vectors.open() if self._vectors else contextlib.nullcontext() as file:
            while last is None or epoch < last:
                gaps = None if self._truncation is None else self._truncation.gaps(epoch)
                for batch in self._plan.batches(epoch)[first_batch:]:
                    yield self._element(batch, file, gaps)
                epoch += 1
                first_batch = 0

    def _element(
        self, batch: PlannedBatch, file: h5py.File | None, gaps: np.ndarray | None
    ) -> Arrays:
        sentences, length = batch
        gaps = None if gaps is None else gaps[sentences]
        element = self._rows.batch(sentences, length, gaps)
        positions = self._rows.positions(sentences, length, gaps)
        for name, values in self._extra.items():
            element[name] = values.batch(sentences, *positions)
        if self._vectors is not None and file is not None:
            element["vectors"] = self._vectors.read(file, sentences, (len(sentences), length))
        if self._targets is None:
            return element
        weights = self._weights[sentences]
        if self.shuffle:
            size = len(sentences) * self.num_batches() / self.num_sentences
            element["batch_weight"] = np.full(len(sentences), size, np.float32)
            weights = weights * element["batch_weight"]
        return element, self._targets.batch(sentences, *positions), weights


def _extra(
    extra: Mapping[str, Sequence[Any]],
    rows: TokenRows,
    lengths: np.ndarray,
    cut_lengths: np.ndarray,
) -> dict[str, TokenValues]:
    """Returns the values of `extra` by name; checks that no other feature has the same name."""
    for name in {*rows.specs, "vectors", "batch_weight"}.intersection(extra):
        raise ValueError(
            f"`extra` must not contain {name!r}, which is the name of another feature. Use a "
            "different name."
        )
    return {
        name: TokenValues(values, lengths, cut_lengths, f"`extra[{name!r}]`")
        for name, values in extra.items()
    }


def _weights(given: Sequence[float] | np.ndarray | None, size: int) -> np.ndarray:
    """Returns the weight of each sentence, float32 `[N]`."""
    weights = np.ones([size], np.float32) if given is None else np.asarray(given, np.float32)
    wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
    if weights.shape != (size,) or wrong.size:
        got = f"the value {wrong[0]}" if wrong.size else f"shape {list(weights.shape)}"
        raise ValueError(
            f"`sentence_weights` must be {size} finite non-negative numbers, one per sentence; "
            f"got {got}."
        )
    return weights
