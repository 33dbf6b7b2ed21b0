"""Counts what one pass over a corpus holds."""

from typing import NamedTuple

import numpy as np

from tfreps.data.lm.word_rows import LINE_END, WordRows
from tfreps.data.text_files import Files, find_files, read_blocks, refusal
from tfreps.text import Vocabulary


class CorpusCounts(NamedTuple):
    """Counts of one pass over a corpus.

    `positions` is the number of predictions per direction, n + 1 for a sentence of n words;
    `tokens` counts words, `unknown_tokens` those that a model reads or predicts as `<UNK>`:
    outside the vocabulary, or `<UNK>` in the text itself. `token_counts` (int64 `[V]`) counts
    the others, each token of the vocabulary, as `Vocabulary.check_order` takes it; it is 0 for
    `<UNK>`, `<S>` and `</S>`, so that its sum and `unknown_tokens` make `tokens`.
    """

    positions: int
    sentences: int
    tokens: int
    unknown_tokens: int
    token_counts: np.ndarray


def count_corpus(files: Files, vocabulary: Vocabulary, skip_blank: bool = False) -> CorpusCounts:
    """Reads every line of the files once and counts tokens, sentences and positions.

    Args:
        files: path, pattern or list of them.
        vocabulary: Vocabulary.
        skip_blank: bool. Whether a blank line is no sentence, or one of no words.

    Returns:
        CorpusCounts.

    Raises:
        ValueError: a file is unreadable, binary or not UTF-8, or holds the token `<S>` or `</S>`
            (named with the line); there is no token at all; or none is in the vocabulary.
    """
    words = WordRows(vocabulary)
    sentences = tokens = unknown = 0
    counts = np.zeros([len(vocabulary)], np.int64)
    paths = find_files(files)
    for path in paths:
        for block in read_blocks(path):
            rows = words.encode(block.text)
            words.forget(np.zeros([0], np.int32))
            ends = np.flatnonzero(rows == LINE_END)
            blank = np.count_nonzero(np.diff(ends, prepend=-1) == 1) if skip_blank else 0
            known = rows[(rows >= 0) & (rows < len(vocabulary))]
            found = np.bincount(known, minlength=len(vocabulary))
            for boundary in (vocabulary.start_id, vocabulary.end_id):
                if found[boundary]:
                    raise ValueError(refusal(path, block, vocabulary.tokens[boundary]))
            found[vocabulary.unknown_id] = 0
            sentences += len(ends) - blank
            tokens += len(rows) - len(ends)
            unknown += len(rows) - len(ends) - found.sum()
            counts += found
    where = ", ".join(paths[:3]) + (", ..." if len(paths) > 3 else "")
    if not tokens:
        raise ValueError(f"There is no text in {where}: every line is blank, or there is none.")
    if unknown == tokens:
        raise ValueError(
            f"None of the {tokens} tokens in {where} is in the vocabulary {vocabulary.source}. "
            "Is it the right vocabulary, and is the text split into tokens by spaces?"
        )
    return CorpusCounts(tokens + sentences, sentences, tokens, int(unknown), counts)
