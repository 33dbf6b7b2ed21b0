"""SequenceBatches: batches of sentences of similar length, for taggers and classifiers."""

import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import tensorflow as tf

from tfreps.data.labelled.sentence_vectors import SentenceVectors
from tfreps.data.labelled.sequence_targets import TokenValues, make_targets
from tfreps.data.labelled.text_cuts import TextCuts
from tfreps.data.labelled.token_rows import TokenRows
from tfreps.data.length_plan import LengthPlan, PlannedBatch

_PREFETCH = 8


class SequenceBatches:
    """Makes batches of tokenized sentences with tags or labels, sized by their padded tokens.

    Every sentence comes once in an epoch, with others of like length (see `LengthPlan`). What
    comes in which batch depends on the seed and the number of the epoch alone, so that a
    position to resume from is two numbers: `dataset(epoch, first_batch)`. All epochs have the
    same number of batches.

    Elements: `(features, y, sample_weight)`, or only `features` without targets.

    - `features`: what `indexer` makes of the tokens, as `token_ids` int32 `[B, T]`,
      `character_ids` int32 `[B, T, C]`, `mask` bool `[B, T]`; with `vectors`, also `vectors`
      float32 `[B, L, T, D]`; and what is in `extra`.
    - `y`: int32 `[B, T]`, the tags, 0 on padding; or int32 `[B]`, the labels.
    - `sample_weight`: float32 `[B]`. Keras divides the loss of a batch by its rows, so that in
      small batches a sentence counts more. In shuffled batches, which are for training, the
      weight makes up for it: rows of the batch / mean rows of all batches. With M batches of
      B_b rows and N sentences, the mean of the batches' losses is then that of the sentences:
      `1/M sum_b 1/B_b sum_i (B_b M/N) loss_i = 1/N sum_i loss_i`. Unshuffled batches, which
      are for evaluation, have the weight 1: there Keras itself weighs batches by their rows.
      (In training it does so too, and shows too high a `loss`; `SentenceLoss` does not.)
      `sentence_weights` are multiplied in.

    Args:
        tokens: sentences, each a list of tokens; may be empty lists.
        targets: for each sentence the list of its tag ids, or one label id; or None.
        indexer: `tfreps.text.TokenIndexer`, or another function from tokens, a str tensor
            `[B, T]`, to a dict of tensors `[B, T, ...]` that looks at each token alone.
        batch_tokens: int. Most tokens of a batch, padding included. A longer sentence makes a
            batch of its own.
        batch_rows: int or None. Most sentences of a batch.
        shuffle: bool. Otherwise short sentences come first, always in the same order.
        seed: int, not negative.
        max_length: int or None. Longer sentences are cut to so many tokens.
        length_multiple: int. Above 1, T is rounded up to a multiple of it, and only few shapes
            occur, the same in every epoch: for functions compiled for each shape.
        sentence_weights: float for each sentence, or None for 1.
        vectors: None, or the path of a file of `tfreps embed` with the vectors of these
            sentences, whole or cut to `max_length`.
        vector_numbers: the number of each sentence in that file; by default its place.
        extra: None, or name -> for each sentence an array of one value, or row, per token:
            int32, float32 or bool `[B, T, ...]` under that name, 0 on padding.
        cuts: `TextCuts` of these sentences, with the same `max_length`, whose gaps are left out;
            None for none. Batches are as for whole sentences, and `num_tokens` counts these.

    Attributes:
        num_sentences: int.
        num_tokens: int, in an epoch, padding not included.
        num_cut: int, sentences cut to `max_length`.
        vector_shape: layers and width of the `vectors`, `(0, 0)` without.

    Masking: `mask` is True on real tokens.

    Raises:
        ValueError: no sentences; tokens and tags of different number; a target that is no
            integer or below 0; an empty token; numbers of sentences that differ; a sentence that
            is missing among the vectors, or has vectors for another number of tokens.

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
        targets: Sequence | None,
        indexer: Callable,
        batch_tokens: int = 4096,
        *,
        batch_rows: int | None = None,
        shuffle: bool = False,
        seed: int = 0,
        max_length: int | None = None,
        length_multiple: int = 1,
        sentence_weights: Sequence[float] | None = None,
        vectors: str | os.PathLike | None = None,
        vector_numbers: Sequence[int] | None = None,
        extra: dict[str, Sequence] | None = None,
        cuts: TextCuts | None = None,
    ):
        sizes = {"batch_tokens": batch_tokens, "batch_rows": batch_rows, "max_length": max_length}
        _check_sizes(length_multiple=length_multiple, **sizes)
        if seed < 0:
            raise ValueError(f"`seed` must not be negative; got {seed}.")
        if not len(tokens):
            raise ValueError("There are no sentences to make batches of.")
        self.shuffle = shuffle
        self.num_sentences = len(tokens)
        lengths = np.array([len(sentence) for sentence in tokens])
        self._rows = TokenRows(tokens, indexer, max_length)
        cut_lengths = self._rows.lengths
        self.num_tokens = int(cut_lengths.sum())
        self.num_cut = int((cut_lengths < lengths).sum())
        self._targets = None if targets is None else make_targets(targets, lengths, cut_lengths)
        self._weights = _weights(sentence_weights, len(tokens))
        self._extra = _extra(extra or {}, self._rows, lengths, cut_lengths)
        self._vectors = None
        if cuts is not None and vectors is not None:
            raise ValueError("`cuts` leaves tokens out, and `vectors` are of whole sentences.")
        if vectors is not None:
            numbers = range(len(tokens)) if vector_numbers is None else vector_numbers
            self._vectors = SentenceVectors(vectors, numbers, lengths, cut_lengths)
        self._cuts = cuts
        stored = self._vectors
        self.vector_shape = (0, 0) if stored is None else (stored.num_layers, stored.dim)
        self._plan = LengthPlan(
            cut_lengths, batch_tokens, batch_rows, length_multiple, shuffle, seed
        )

    def dataset(
        self, epoch: int = 0, first_batch: int = 0, epochs: int | None = 1
    ) -> tf.data.Dataset:
        """Returns the batches of one or more epochs.

        Args:
            epoch: int, not negative, the first of them.
            first_batch: int. How many batches of that epoch are left out, those before the
                position to resume from. They cost no time.
            epochs: int, how many follow one another; None for endlessly many.

        Returns:
            `tf.data.Dataset` of known cardinality; reading it again gives the same.
        """
        too_few = epochs is not None and epochs < 1
        if epoch < 0 or not 0 <= first_batch <= self.num_batches() or too_few:
            raise ValueError(
                f"Expected an `epoch` from 0, `first_batch` from 0 to {self.num_batches()} and "
                f"`epochs` from 1; got {epoch}, {first_batch} and {epochs}."
            )
        dataset = tf.data.Dataset.from_generator(
            lambda: self._elements(epoch, first_batch, epochs), output_signature=self._signature()
        )
        size = tf.data.INFINITE_CARDINALITY
        if epochs is not None:
            size = epochs * self.num_batches() - first_batch
        return dataset.apply(tf.data.experimental.assert_cardinality(size)).prefetch(_PREFETCH)

    def num_batches(self, epoch: int = 0) -> int:
        """Returns the number of batches of an epoch, which is the same for every epoch."""
        return self._plan.num_batches

    def order(self, epoch: int = 0) -> np.ndarray:
        """Returns the places of an epoch's sentences in `tokens`, in their order, int64 `[N]`."""
        return np.concatenate([batch.sentences for batch in self._plan.batches(epoch)])

    def in_order(self, rows: Sequence, epoch: int = 0) -> list:
        """Puts a model's answers for the sentences of an epoch back in the order of `tokens`.

        Args:
            rows: one item for each sentence, as they come in that epoch's batches.
            epoch: int.
        """
        if len(rows) != self.num_sentences:
            raise ValueError(
                f"Expected a row for each of {self.num_sentences} sentences; got {len(rows)}."
            )
        return [rows[place] for place in np.argsort(self.order(epoch)).tolist()]

    def _elements(self, epoch: int, first_batch: int, epochs: int | None) -> Iterator:
        file = None if self._vectors is None else self._vectors.open()
        try:
            last = None if epochs is None else epoch + epochs
            while last is None or epoch < last:
                gaps = None if self._cuts is None else self._cuts.gaps(epoch)
                for batch in self._plan.batches(epoch)[first_batch:]:
                    yield self._element(batch, file, gaps)
                epoch += 1
                first_batch = 0
        finally:
            if file is not None:
                file.close()

    def _element(self, batch: PlannedBatch, file, gaps: np.ndarray | None):
        sentences, length = batch
        gaps = None if gaps is None else gaps[sentences]
        element = self._rows.batch(sentences, length, gaps)
        places = self._rows.places(sentences, length, gaps)
        for name, values in self._extra.items():
            element[name] = values.batch(sentences, *places)
        if self._vectors is not None:
            element["vectors"] = self._vectors.read(file, sentences, (len(sentences), length))
        if self._targets is None:
            return element
        weights = self._weights[sentences]
        if self.shuffle:
            weights = weights * np.float32(len(sentences) * self.num_batches() / self.num_sentences)
        return element, self._targets.batch(sentences, *places), weights

    def _signature(self):
        signature = self._rows.specs()
        for name, values in self._extra.items():
            signature[name] = values.spec
        if self._vectors is not None:
            shape = [None, self.vector_shape[0], None, self.vector_shape[1]]
            signature["vectors"] = tf.TensorSpec(shape, tf.float32)
        if self._targets is None:
            return signature
        return signature, self._targets.spec, tf.TensorSpec([None], tf.float32)


def _extra(extra, rows: TokenRows, lengths, cut_lengths) -> dict[str, TokenValues]:
    """The values of `extra` by name, none of which is that of another feature."""
    for name in {*rows.specs(), "vectors"}.intersection(extra):
        raise ValueError(f"`extra` must not be called {name!r}, as another feature is.")
    return {
        name: TokenValues(values, lengths, cut_lengths, f"`extra`, {name!r}")
        for name, values in extra.items()
    }


def _weights(given: Sequence[float] | None, size: int) -> np.ndarray:
    """The weight of each sentence, float32 `[N]`."""
    weights = np.ones([size], np.float32) if given is None else np.asarray(given, np.float32)
    if weights.shape != (size,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"`sentence_weights` must be {size} finite numbers, one for each sentence, none below "
            f"0; got the shape {list(weights.shape)}."
        )
    return weights


def _check_sizes(**sizes: int | None) -> None:
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise ValueError(f"`{name}` must be at least 1; got {size}.")
