"""Reads a file of word vectors into a table whose vocabulary includes the words of the file."""

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfreps._src.presets.sources import local_copy
from tfreps._src.text.token_indexer import TokenIndexer
from tfreps._src.text.vector_files import vector_rows
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_vectors import WordVectors

# Endings of the names of files with static word vectors, to find the file in an archive.
VECTOR_FILES = ".txt", ".vec", ".txt.gz", ".vec.gz", ".npy"
# Limits on the words and bytes of a table if `max_vocabulary` is None.
MAX_WORDS = 1_000_000
MAX_BYTES = 1 << 32
BLOCK = 10_000


class WordTable(NamedTuple):
    """Vocabulary with the vectors of its words.

    The last `num_frozen_words` words do not occur in the training data.
    """

    indexer: TokenIndexer
    vectors: WordVectors
    num_frozen_words: int


def read_word_table(options, indexer, say) -> WordTable:
    """Returns a vocabulary that includes the words of the file `options.vectors`, with vectors.

    The result is a `WordTable`: a `TokenIndexer` with this vocabulary, the vectors of its words,
    and the number of words that occur only in the file, whose vectors are not trained. The words
    of the training data come first in the vocabulary, followed by words of the file in the order of
    the file. The vocabulary has at most `options.max_vocabulary` words. If this option
    is `None`, the table of vectors has at most 1,000,000 words and 4 GB. Words of the training data
    that are not in the file get random vectors. `say` is a function that prints a line.
    """
    num_trained = len(indexer.vocabulary)
    with local_copy(options.vectors, VECTOR_FILES) as path:
        words, is_whole = words_to_add(os.fspath(path), indexer, options.max_vocabulary)
        grown = with_words(indexer, words)
        tokens = grown.vocabulary.tokens
        vectors = WordVectors.read(path, tokens, lowercase_fallback=options.lowercase_fallback)
    fill_missing(vectors, options.seed)
    found = int(vectors.found[:num_trained].sum())
    say(
        f"Word vectors: {found:,} of {num_trained:,} words have a vector in {options.vectors}. "
        f"{len(words):,} more words of the file are in the vocabulary"
        f"{'' if is_whole else ', which is then full (option max_vocabulary)'}; their vectors are "
        f"not trained. The table has {len(tokens):,} x {vectors.matrix.shape[1]} numbers "
        f"({vectors.matrix.nbytes / 1e6:,.0f} MB)."
    )
    if not found:
        say(
            "Warning: no word of the training data has a vector in this file. Check that both have "
            "the same language, and that their texts are split into tokens in the same way."
        )
    return WordTable(grown, vectors, len(words))


def words_to_add(path: str, indexer: TokenIndexer, max_size: int | None) -> tuple[list[str], bool]:
    """Returns the words of a file to add to the vocabulary, and whether there is room for all.

    Words that the indexer changes before the lookup, such as words with capitals if it converts
    words to lower case, are left out, because no lookup finds them.
    """
    known = set(indexer.vocabulary.tokens)
    rows = vector_rows(path)
    first = next(rows, None)
    if first is None:
        return [], True  # `WordVectors.read` raises an error for an empty file
    if max_size is None:
        max_size = min(MAX_WORDS, MAX_BYTES // (4 * first.dimension))
    room = max(0, max_size - len(known))
    new: dict[str, None] = {}  # the tokens in the order of the file
    for word in _reachable(itertools.chain([first], rows), indexer):
        if word not in known and word not in new:
            if len(new) == room:
                return [*new], False
            new[word] = None
    return [*new], True


def with_words(indexer: TokenIndexer, words: list[str]) -> TokenIndexer:
    """Returns a copy of an indexer with more words at the end of its vocabulary."""
    vocabulary = Vocabulary([*indexer.vocabulary.tokens, *words])
    return TokenIndexer.from_config({**indexer.get_config(), "vocabulary": vocabulary})


def fill_missing(vectors: WordVectors, seed: int) -> None:
    """Sets the vectors of words that are not in the file to random values between -b and b.

    `b` is `sqrt(3 / D)` for vectors of width D. New word vectors of a `TokenEmbedder` have the same
    uniform distribution.

    Reference: Ma and Hovy, 2016, "End-to-end Sequence Labeling via Bi-directional LSTM-CNNs-CRF",
    section 3.1.
    """
    missing = ~vectors.found
    bound = (3 / vectors.matrix.shape[1]) ** 0.5
    shape = int(missing.sum()), vectors.matrix.shape[1]
    vectors.matrix[missing] = np.random.default_rng(seed).uniform(-bound, bound, shape)


def _reachable(rows: Iterable, indexer: TokenIndexer) -> Iterator[str]:
    """Yields the words of a file of word vectors that a lookup in the vocabulary can find.

    `rows` are the rows of the file. Words that `indexer` changes before the lookup, and words that
    a vocabulary cannot contain, are left out.
    """
    rows = iter(rows)
    while block := list(itertools.islice(rows, BLOCK)):
        words = [word for row in block if (word := _as_word(row.token))]
        looks = indexer.normalize(tf.constant(words, tf.string)).numpy().tolist()
        yield from (w for w, look in zip(words, looks, strict=True) if w.encode() == look)


def _as_word(token: bytes) -> str | None:
    """Returns the token as a str, or `None` if it is not UTF-8 or not a valid vocabulary entry."""
    try:
        word = token.decode("utf-8")
    except UnicodeDecodeError:
        return None
    is_line = word == word.strip() and not set(word) & {"\n", "\r", "\0"}
    return word if is_line else None
