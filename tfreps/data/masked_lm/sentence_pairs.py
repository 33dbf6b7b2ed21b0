"""SentencePairs: chooses the stretches of documents for the texts of each pre-training epoch."""

from typing import NamedTuple

import numpy as np

from tfreps.data.masked_lm.token_documents import TokenDocuments

_CANDIDATES = 8


class Stretches(NamedTuple):
    """The texts of an epoch, each one or two stretches of `TokenDocuments.ids`: int64 `[N]` each.

    A text is `ids[first[i]:first_end[i]]`, then `ids[second[i]:second_end[i]]`, which is empty
    without pairs. `is_next`, bool `[N]`, says whether the second is what followed.
    """

    first: np.ndarray
    first_end: np.ndarray
    second: np.ndarray
    second_end: np.ndarray
    is_next: np.ndarray

    def lengths(self) -> np.ndarray:
        """Returns the number of tokens of each text, without special ones, int64 `[N]`."""
        return self.first_end - self.first + self.second_end - self.second


class SentencePairs:
    """Splits documents into texts of whole sentences, and draws new pairs for every epoch.

    Consecutive sentences of a document make up a text while they have at most `max_tokens`
    tokens together. Without pairs, a sentence that is longer makes texts of its own, cut into
    parts of like length: every token comes once an epoch.

    With pairs a text has at least two sentences (one that would be left alone at the end of a
    document is taken together with the one before), and every epoch draws for it

    - where, between its sentences, the second stretch begins;
    - whether the second stretch is kept, or another takes its place: even chances. The other
      begins where that of a text of another document does, any such text as likely as any other,
      and has as many of the sentences there as find room: what follows in truth was chosen by
      the same rule, so that lengths give nothing away. (Of 8 texts drawn the first is taken of
      which one sentence fits if one does of the true ones, and none if none does.)

    What is too long nevertheless is cut at the outer ends, the longer stretch first, so that
    the two still meet where they met. A document of a single sentence has no pair.

    Args:
        documents: TokenDocuments.
        max_tokens: int. Most tokens of a text.
        pairs: bool.
        seed: int, not negative.

    Attributes:
        num_texts: int, of every epoch.
        num_left_out: int, documents of a single sentence, where pairs are wanted.
        num_cut: int, texts that are cut, where pairs are wanted, before any is replaced.

    Raises:
        ValueError: pairs are wanted of documents of which less than two have two sentences.
    """

    def __init__(self, documents: TokenDocuments, max_tokens: int, pairs: bool, seed: int):
        self.max_tokens = max_tokens
        self.pairs = pairs
        self.seed = seed
        starts = documents.starts
        self.num_left_out = int((np.diff(documents.documents) == 1).sum()) if pairs else 0
        least = 2 if pairs else 1
        first, end, owner = _texts(documents, max_tokens, least)
        self.num_cut = 0
        if not pairs:
            self._whole = _parts(starts[first], starts[end], max_tokens)
            self.num_texts = len(self._whole.first)
            return
        self.num_texts = len(first)
        self.num_cut = int((starts[end] - starts[first] > max_tokens).sum())
        self._starts = starts
        self._first = first
        self._end = end
        self._document_end = documents.documents[owner + 1]
        self._own = np.searchsorted(owner, owner, "left")  # the first text of its document
        self._others = self.num_texts - (np.searchsorted(owner, owner, "right") - self._own)
        if not self.num_texts or not self._others.all():
            raise ValueError(
                "Next sentences need at least two documents of two sentences or more, for half of "
                f"the pairs come from another document; there are {documents.num_documents:,} "
                f"documents, {self.num_left_out:,} of them of one sentence. Part documents by "
                "blank lines, or train without next sentences."
            )

    def texts(self, epoch: int) -> Stretches:
        """Returns the texts of an epoch, which depend on the seed and its number only."""
        if not self.pairs:
            return self._whole
        bits = np.random.PCG64(np.random.SeedSequence([self.seed, epoch, 1]))
        starts = self._starts
        is_next = bits.random_raw(self.num_texts) >> np.uint64(63) == 1
        split = self._first + 1 + _draw(bits, self._end - self._first - 1)
        room = self.max_tokens - (starts[split] - starts[self._first])  # of the second stretch
        least = starts[split + 1] - starts[split]
        other = self._other(bits)
        for _ in range(_CANDIDATES - 1):
            unlike = (least[other] > room) != (least > room)  # one would be cut, one not
            other = np.where(unlike, self._other(bits), other)
        last = np.searchsorted(starts, starts[split[other]] + room, "right") - 1
        last = np.clip(last, split[other] + 1, self._document_end[other])
        second = np.where(is_next, split, split[other])
        last = np.where(is_next, self._end, last)
        ends = starts[self._first], starts[split], starts[second], starts[last]
        return _cut(Stretches(*ends, is_next), self.max_tokens)

    def _other(self, bits) -> np.ndarray:
        """For each text one of another document."""
        other = _draw(bits, self._others)
        return other + (other >= self._own) * (self.num_texts - self._others)


def _draw(bits, ends: np.ndarray) -> np.ndarray:
    """An integer from 0 below each end. The generator's bits are the same in every NumPy."""
    return (bits.random_raw(len(ends)) % ends.astype(np.uint64)).astype(np.int64)


def _texts(documents: TokenDocuments, max_tokens: int, least: int):
    """First sentence, the one after the last, and the document, of each text: int64 `[N]`."""
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
    """Stretches cut into as few parts of like length as have at most `max_tokens` tokens."""
    counts = -(-(end - first) // max_tokens)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    first, length, counts = (np.repeat(a, counts) for a in (first, end - first, counts))
    begins = first + place * length // counts
    ends = first + (place + 1) * length // counts
    return Stretches(begins, ends, ends, ends, np.zeros(len(begins), bool))


def _cut(texts: Stretches, max_tokens: int) -> Stretches:
    """Texts that are too long lose tokens at the outer ends, the longer stretch first."""
    one = texts.first_end - texts.first
    two = texts.second_end - texts.second
    two = np.minimum(two, np.maximum(max_tokens - one, max_tokens // 2))
    one = np.minimum(one, max_tokens - two)
    return texts._replace(first=texts.first_end - one, second_end=texts.second + two)
