"""SentencePairs: draws sentence pairs from documents for each pre-training epoch."""

from typing import NamedTuple

import numpy as np

from tfreps._src.data.masked_lm.token_documents import TokenDocuments

_CANDIDATES = 8


class Stretches(NamedTuple):
    """Texts of an epoch, each of which is one or two slices of `TokenDocuments.ids`.

    Text i is `ids[first[i]:first_end[i]]`, followed by `ids[second[i]:second_end[i]]`, which is
    empty if the texts are not pairs. `is_next` is `True` if the second slice follows the first in
    the document. All arrays have the shape `[N]`.
    """

    first: np.ndarray
    first_end: np.ndarray
    second: np.ndarray
    second_end: np.ndarray
    is_next: np.ndarray

    def lengths(self) -> np.ndarray:
        """Returns the number of tokens of each text, excluding special tokens: int64 `[N]`."""
        return self.first_end - self.first + self.second_end - self.second


class SentencePairs:
    """Texts of whole sentences, or sentence pairs that are drawn anew in every epoch.

    As many consecutive sentences of a document as fit in `max_tokens` tokens form a text. If
    `pairs` is `False`, a sentence that does not fit is split into texts of similar length, so that
    every token occurs once per epoch.

    If `pairs` is `True`, a text has at least two sentences: a single sentence at the end of a
    document forms a text with the sentence before it. In every epoch, two random choices are made
    for each text:

    - the boundary between its sentences at which the second segment begins;
    - whether the second segment is replaced, with probability 1/2. The replacement begins at the
      boundary of a random text of another document, chosen uniformly, and has as many sentences
      as fit. Original second segments follow the same rule, so lengths do not reveal which
      segments were replaced. (Up to 8 texts are drawn, until the first sentence of the
      replacement fits if and only if the first sentence of the original second segment fits.)

    If the two segments are still too long, they are truncated at their outer ends, the longer one
    first, so that the boundary between them does not change. `num_left_out` documents with one
    sentence yield no pairs, and `num_truncated` texts are longer than `max_tokens` with their
    original second segments.
    """

    def __init__(self, documents: TokenDocuments, max_tokens: int, pairs: bool, seed: int):
        self.max_tokens = max_tokens
        self.pairs = pairs
        self.seed = seed
        starts = documents.starts
        self.num_left_out = int((np.diff(documents.documents) == 1).sum()) if pairs else 0
        least = 2 if pairs else 1
        first, end, owner = _texts(documents, max_tokens, least)
        self.num_truncated = 0
        if not pairs:
            self._whole = _parts(starts[first], starts[end], max_tokens)
            self.num_texts = len(self._whole.first)
            return
        self.num_texts = len(first)
        self.num_truncated = int((starts[end] - starts[first] > max_tokens).sum())
        self._starts = starts
        self._first = first
        self._end = end
        self._document_end = documents.documents[owner + 1]
        # Index of the first text of each text's document.
        self._own = np.searchsorted(owner, owner, "left")
        self._others = self.num_texts - (np.searchsorted(owner, owner, "right") - self._own)
        if not self.num_texts or not self._others.all():
            raise ValueError(
                "Next-sentence prediction needs at least two documents with two or more sentences, "
                "because half of the second segments come from another document; got "
                f"{documents.num_documents:,} documents, {self.num_left_out:,} of them with one "
                "sentence. Separate documents by blank lines, or disable `next_sentence`."
            )

    def texts(self, epoch: int) -> Stretches:
        """Returns the texts of an epoch, which depend only on the seed and the epoch number."""
        if not self.pairs:
            return self._whole
        bits = np.random.PCG64(np.random.SeedSequence([self.seed, epoch, 1]))
        starts = self._starts
        is_next = bits.random_raw(self.num_texts) >> np.uint64(63) == 1
        split = self._first + 1 + _draw(bits, self._end - self._first - 1)
        # Number of tokens that are left for the second segment.
        room = self.max_tokens - (starts[split] - starts[self._first])
        least = starts[split + 1] - starts[split]
        other = self._other(bits)
        for _ in range(_CANDIDATES - 1):
            # True if only one of the two segments would be truncated.
            unlike = (least[other] > room) != (least > room)
            other = np.where(unlike, self._other(bits), other)
        last = np.searchsorted(starts, starts[split[other]] + room, "right") - 1
        last = np.clip(last, split[other] + 1, self._document_end[other])
        second = np.where(is_next, split, split[other])
        last = np.where(is_next, self._end, last)
        ends = starts[self._first], starts[split], starts[second], starts[last]
        return _cut(Stretches(*ends, is_next), self.max_tokens)

    def _other(self, bits: np.random.PCG64) -> np.ndarray:
        """Returns, for each text, the index of a random text of another document."""
        other = _draw(bits, self._others)
        return other + (other >= self._own) * (self.num_texts - self._others)


def _draw(bits: np.random.PCG64, ends: np.ndarray) -> np.ndarray:
    """Returns a random integer in `[0, end)` for each end, the same in every NumPy version."""
    return (bits.random_raw(len(ends)) % ends.astype(np.uint64)).astype(np.int64)


def _texts(documents: TokenDocuments, max_tokens: int, least: int) -> np.ndarray:
    """Returns each text's first sentence, end sentence (exclusive) and document: int64 `[3, N]`."""
    texts = []
    starts = documents.starts.tolist()
    bounds = documents.documents.tolist()
    for number, (begin, end) in enumerate(zip(bounds, bounds[1:], strict=False)):
        if end - begin < least:
            continue
        first = begin
        for sentence in range(begin, end):
            long = starts[sentence + 1] - starts[first] > max_tokens
            if long and sentence - first >= least:
                texts.append((first, sentence, number))
                first = sentence
        texts.append((min(first, end - least), end, number))
    return np.array(texts, np.int64).reshape([-1, 3]).T


def _parts(first: np.ndarray, end: np.ndarray, max_tokens: int) -> Stretches:
    """Returns slices, each split into the fewest parts of at most `max_tokens` tokens.

    The parts of a slice have similar lengths.
    """
    counts = -(-(end - first) // max_tokens)
    position = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    first, length, counts = (np.repeat(a, counts) for a in (first, end - first, counts))
    begins = first + position * length // counts
    ends = first + (position + 1) * length // counts
    return Stretches(begins, ends, ends, ends, np.zeros(len(begins), bool))


def _cut(texts: Stretches, max_tokens: int) -> Stretches:
    """Returns pairs of at most `max_tokens` tokens.

    Pairs that are too long are truncated at their outer ends, the longer segment first.
    """
    one = texts.first_end - texts.first
    two = texts.second_end - texts.second
    two = np.minimum(two, np.maximum(max_tokens - one, max_tokens // 2))
    one = np.minimum(one, max_tokens - two)
    return texts._replace(first=texts.first_end - one, second_end=texts.second + two)
