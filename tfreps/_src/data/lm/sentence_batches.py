"""Creates batches of whole sentences of similar length for evaluation."""

import itertools
from collections.abc import Iterator

import numpy as np

from tfreps._src.data.element_types import Dataset
from tfreps._src.data.lm.lm_elements import Batch, Characters, check_characters, to_dataset
from tfreps._src.data.lm.sentence_slices import Block
from tfreps._src.data.lm.word_rows import WordRows, as_inputs, as_targets, number_by_first_use
from tfreps._src.data.text_files import Files, find_files, read_blocks
from tfreps._src.files.argument_checks import check_integers
from tfreps._src.text.vocabulary import Vocabulary


def sentence_batches(
    files: Files,
    vocabulary: Vocabulary,
    batch_size: int,
    *,
    batch_tokens: int = 8192,
    bidirectional: bool = True,
    characters: Characters | None = "table",
    max_characters: int = 50,
    block_bytes: int = 1 << 22,
) -> Dataset:
    """Returns batches of whole sentences, one per row, for a model with a fixed initial state.

    Elements are dicts with the same keys and dtypes as those of `LMBatches`. A sentence of n words
    has n + 1 positions: `token_ids` is `<S> w1 .. wn` and `next_token_id` is `w1 .. wn </S>`. If
    `bidirectional` is `True`, `token_ids_reverse` is `</S> wn .. w1` and `next_token_id_reverse` is
    `wn .. w1 <S>`. Rows are padded on the right to a multiple of 8, so that only a few shapes
    occur.

    Blank lines are skipped. Within each block of text, sentences are sorted by length, sentences
    of equal length keep their order, and all sentences of a batch have the same padded length.

    Args:
        files, vocabulary, bidirectional, max_characters: As in `LMBatches`.
        batch_size: int. Maximum number of rows in a batch. The last batch of each length may
            have fewer.
        batch_tokens: int. Maximum number of positions in a batch, padding included, so batches
            of long sentences have fewer rows. A longer sentence forms a batch of its own.
            Defaults to 8192.
        characters: str or None. As in `LMBatches`, but defaults to `"table"`.
        block_bytes: int. Size in bytes of the block of text within which sentences are sorted.
            Defaults to 4 MiB.

    Returns:
        `tf.data.Dataset` of unknown cardinality.

    Masking: `mask`, bool `[B, T]`, is `True` on the n + 1 positions of each sentence.

    Raises:
        ValueError: If no file matches `files`, `characters` is not one of the values in
            `LMBatches`, or another argument is out of range.
        tf.errors.InvalidArgumentError: During iteration, if the text is unreadable or not UTF-8.
            The tokens `<S>` and `</S>` in the text raise no error and are read like words;
            `count_corpus` rejects them.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import sentence_batches
        >>> from tfreps.text import Vocabulary
        >>> folder = tempfile.TemporaryDirectory()
        >>> text = pathlib.Path(folder.name, "text.txt")
        >>> _ = text.write_text("a b\\n\\nb\\n")
        >>> vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])
        >>> for batch in sentence_batches(text, vocabulary, batch_size=2):
        ...     print(batch["next_token_id"][:, :4].numpy().tolist(), batch["mask"].shape)
        [[4, 1, 0, 0], [3, 4, 1, 0]] (2, 8)
        >>> folder.cleanup()
    """
    check_integers(1, batch_size=batch_size, batch_tokens=batch_tokens, block_bytes=block_bytes)
    check_characters(characters, max_characters)
    paths = find_files(files)

    def batches() -> Iterator[Batch]:
        words = WordRows(vocabulary, max_characters)
        for path in paths:
            for text in read_blocks(path, block_bytes):
                block = Block(words.encode(text.text))
                for chosen in _by_length(block, batch_size, batch_tokens):
                    yield _pad(block, chosen, vocabulary, words, bidirectional)
                words.forget(np.zeros([0], np.int32))

    shape = (None, None)
    return to_dataset(batches, vocabulary, shape, bidirectional, characters, max_characters)


def _by_length(block: Block, batch_size: int, batch_tokens: int) -> Iterator[np.ndarray]:
    """Yields the numbers of the sentences in each batch of a block, shortest first."""
    order = np.argsort(block.positions, kind="stable")
    order = order[block.positions[order] > 1]
    width = _round_up(block.positions)
    for _, equal in itertools.groupby(order.tolist(), lambda sentence: width[sentence]):
        equal = np.array(list(equal))
        rows = max(1, min(batch_size, batch_tokens // int(width[equal[0]])))
        for start in range(0, len(equal), rows):
            yield equal[start : start + rows]


def _pad(
    block: Block,
    chosen: np.ndarray,
    vocabulary: Vocabulary,
    words: WordRows,
    bidirectional: bool,
) -> Batch:
    """Returns one batch, in the form that `lm_elements.to_dataset` expects."""
    positions = block.positions[chosen]
    shape = [1 + bidirectional, len(chosen), int(_round_up(positions.max()))]
    rows = np.zeros(shape, np.int32)
    targets = np.full(shape, -1, np.int32)
    real = np.arange(shape[2]) < positions[:, None]  # [B, T]
    for direction in range(shape[0]):
        reverse = direction == 1
        taken = block.take(chosen, reverse)  # the rows of each sentence, followed by a line end
        rows[direction][real] = as_inputs(taken, vocabulary, reverse)
        targets[direction][real] = as_targets(taken, vocabulary, reverse)
    unknown = number_by_first_use(rows, words.first_unknown)
    return rows, targets, words.characters(unknown)


def _round_up(positions: np.ndarray) -> np.ndarray:
    return -(-positions // 8) * 8
