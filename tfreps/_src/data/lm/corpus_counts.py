"""Counts the tokens, sentences and positions of a corpus."""

from typing import NamedTuple

import numpy as np

from tfreps._src.data.lm.word_rows import LINE_END, WordRows
from tfreps._src.data.text_files import Files, find_files, read_blocks, refusal
from tfreps._src.text.vocabulary import Vocabulary


class CorpusCounts(NamedTuple):
    """Counts from one pass over a corpus.

    Attributes:
        positions: int. Number of predictions per direction: n + 1 for a sentence of n words.
        sentences: int. Number of sentences.
        tokens: int. Number of words.
        unknown_tokens: int. Number of words that a model reads or predicts as `<UNK>`, because
            they are outside the vocabulary or are `<UNK>` in the text itself.
        token_counts: int64 array, shape `[V]`. Number of occurrences of each token of the
            vocabulary, as expected by `Vocabulary.check_order`. It is 0 for `<UNK>`, `<S>` and
            `</S>`, so that `token_counts.sum() + unknown_tokens == tokens`.
    """

    positions: int
    sentences: int
    tokens: int
    unknown_tokens: int
    token_counts: np.ndarray


def count_corpus(files: Files, vocabulary: Vocabulary, skip_blank: bool = False) -> CorpusCounts:
    """Counts the tokens, sentences and positions of text files with one sentence per line.

    Args:
        files: As in `LMBatches`.
        vocabulary: `tfreps.text.Vocabulary`. Its tokens are counted as known.
        skip_blank: bool. If `True`, blank lines are skipped; if `False`, a blank line counts as
            a sentence without words. Defaults to `False`.

    Returns:
        `CorpusCounts`.

    Raises:
        ValueError: If no file matches `files`; `read_blocks` rejects a file; a file contains the
            token `<S>` or `</S>` (the message names the line); or the files contain no token, or
            no token that is in the vocabulary.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import count_corpus
        >>> from tfreps.text import Vocabulary
        >>> vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "text.txt")
        ...     _ = path.write_text("a b c\\nb a\\n")
        ...     counts = count_corpus(path, vocabulary)
        >>> counts.positions, counts.sentences, counts.tokens, counts.unknown_tokens
        (7, 2, 5, 1)
        >>> counts.token_counts.tolist()
        [0, 0, 0, 2, 2]
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
        raise ValueError(f"There is no text in {where}; expected at least one token.")
    if unknown == tokens:
        raise ValueError(
            f"None of the {tokens} tokens in {where} is in the vocabulary {vocabulary.source}. "
            "Check that this is the right vocabulary and that spaces separate the tokens."
        )
    return CorpusCounts(int(tokens + sentences), int(sentences), int(tokens), int(unknown), counts)
