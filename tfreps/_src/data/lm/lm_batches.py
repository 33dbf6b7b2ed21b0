"""LMBatches: batches for training a biLM, in the order of bilm-tf's data generator."""

import itertools
import math
import os
import weakref
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfreps._src.data.element_types import Dataset
from tfreps._src.data.lm.corpus_counts import CorpusCounts, count_corpus
from tfreps._src.data.lm.lm_elements import Batch, Characters, check_characters, to_dataset
from tfreps._src.data.lm.lm_streams import LMStream
from tfreps._src.data.lm.sentence_slices import Corpus
from tfreps._src.data.lm.word_rows import WordRows, number_by_first_use
from tfreps._src.data.text_files import Files, find_files
from tfreps._src.files.argument_checks import check_integers
from tfreps._src.text.vocabulary import Vocabulary

_BATCHES_PER_SNAPSHOT = 32
_SNAPSHOTS_KEPT = 32
_UNKNOWN_WORDS_KEPT = 1 << 15


class LMBatches:
    """Language model batches whose rows continue from one batch to the next.

    Reads text files with one sentence per line and tokens separated by white space. Each row of
    a batch continues in the next batch at the position where it stopped. When a row reaches the
    end of its sentence, it continues with the next sentence from the files. If several rows do
    so, they take sentences in the order of the rows. In the forward direction, `</S>` is never an
    input, and `<S>` is never a target; in the reverse direction, the two are exchanged. The two
    directions read the files independently. Without shuffling, the order is that of bilm-tf,
    position for position, up to the last full batch. bilm-tf discards the positions that remain;
    `LMBatches` pads the last batches instead, so that no token is lost. The position in the text
    can be saved and restored.

    Elements: dicts of tensors, with B = `batch_size`, T = `unroll_steps` and C = `max_characters`.

    - `token_ids`: int32 `[B, T]`. Inputs; words outside the vocabulary are `<UNK>`.
    - `next_token_id`: int32 `[B, T]`. Targets.
    - `mask`: bool `[B, T]`. `False` on padding, where ids are 0. Padding occurs only in the last
      batches of a finite number of passes.
    - `tokens_characters`, if `characters` is `"ids"`: int32 `[B, T, C]`. Character ids as defined
      by `tfreps.text`: 0 is padding, and all other ids are 1 greater than in bilm-tf's training
      arrays. Words outside the vocabulary keep their own characters.
    - `character_rows` and `unknown_characters`, if `characters` is `"table"`: int32 `[B, T]` and
      `[U, C]`. They represent the same character ids in less space. `character_rows` contains row
      numbers of the table that consists of `vocabulary.character_table()` followed by
      `unknown_characters`. The latter has one row for each of the U distinct words of the batch
      that are outside the vocabulary, in order of first appearance. Padding has row 0. The model
      looks up the characters on its device.
    - If `bidirectional` is `True`, elements also have these keys with the suffix `_reverse`, except
      for `unknown_characters`, which both directions share. The reverse inputs of a sentence are
      `</S> wn .. w1`, and its reverse targets are `wn .. w1 <S>`.

    Args:
        files: str, path-like object, or list of them. Paths or glob patterns, read in order of
            name; `*.gz` files are decompressed.
        vocabulary: `tfreps.text.Vocabulary`. Converts words to ids.
        batch_size: int. Number of rows B.
        unroll_steps: int. Number of positions T in each row of a batch.
        bidirectional: bool. Whether elements have the `_reverse` keys. Defaults to `True`.
        characters: str or None. `"ids"` or `"table"`, the form of the character ids described
            above. If `None`, elements have no character ids. Defaults to `"ids"`.
        max_characters: int, at least 3. Number of character ids C per token. Defaults to 50.
        shuffle: bool. Whether to shuffle the files in every pass, and the sentences within each
            block of text. The directions are shuffled differently. Defaults to `False`.
        seed: int, non-negative. Random seed. All shuffling depends only on it and on the
            direction, the pass, the file and the block. Defaults to 0.
        passes: int or None. Number of passes over the files. Rows continue from one pass to the
            next. If `None`, the data set is endless. Defaults to `None`.
        skip_blank: bool. If `True`, blank lines are skipped; if `False`, a blank line is a
            sentence without words and takes one position, as in bilm-tf. Defaults to `False`.
        block_bytes: int. Size in bytes of the block of text that each direction holds in memory and
            within which sentences are shuffled. Defaults to 4 MiB, about 30,000 sentences.

    Masking: `mask` is `True` on real positions.

    Raises:
        ValueError: If no file matches `files`, `characters` is not one of the values above, or
            another argument is out of range.
        tf.errors.InvalidArgumentError: During iteration, if the text is unreadable, is not UTF-8,
            or contains no sentence. The tokens `<S>` and `</S>` in the text raise no error during
            iteration and are read like words. Call `count()`, which reads all of the text and
            rejects these tokens as well, to find such errors before training.

    Reference: bilm-tf, `BidirectionalLMDataset` and `_get_batch`.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import LMBatches
        >>> from tfreps.text import Vocabulary
        >>> folder = tempfile.TemporaryDirectory()
        >>> text = pathlib.Path(folder.name, "text.txt")
        >>> _ = text.write_text("a b c\\nb a\\n")
        >>> vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])
        >>> batches = LMBatches(text, vocabulary, 1, 4, passes=1)
        >>> for batch in batches.dataset():
        ...     print(batch["token_ids"].numpy(), batch["next_token_id"].numpy())
        [[0 3 4 2]] [[3 4 2 1]]
        [[0 4 3 0]] [[4 3 1 0]]
        >>> batches.count().positions
        7
        >>> rest = batches.dataset(batches.state(1))  # all but the first batch
        >>> folder.cleanup()
    """

    def __init__(
        self,
        files: Files,
        vocabulary: Vocabulary,
        batch_size: int,
        unroll_steps: int,
        *,
        bidirectional: bool = True,
        characters: Characters | None = "ids",
        max_characters: int = 50,
        shuffle: bool = False,
        seed: int = 0,
        passes: int | None = None,
        skip_blank: bool = False,
        block_bytes: int = 1 << 22,
    ):
        check_integers(1, batch_size=batch_size, unroll_steps=unroll_steps)
        check_integers(1, block_bytes=block_bytes)
        check_integers(1, or_none=True, passes=passes)
        check_integers(0, seed=seed)
        check_characters(characters, max_characters)
        self.files: list[str] = find_files(files)
        self.vocabulary = vocabulary
        self.batch_size = batch_size
        self.unroll_steps = unroll_steps
        self.bidirectional = bidirectional
        self.characters: Characters | None = characters
        self.max_characters = max_characters
        self.shuffle = shuffle
        self.seed = seed
        self.passes = passes
        self.skip_blank = skip_blank
        self.block_bytes = block_bytes
        self._counts: CorpusCounts | None = None
        # Number of delivered batches -> positions of the streams after these batches.
        self._snapshots: dict[int, list[Callable[[], dict[str, Any]]] | None] = {0: None}

    def dataset(self, state: dict[str, Any] | None = None) -> Dataset:
        """Returns the batches from the beginning or from a saved position.

        Args:
            state: dict or None. A return value of the method `state`, from this or another process.
                If `None`, the data set starts at the beginning. Defaults to `None`.

        Returns:
            `tf.data.Dataset`. From a saved position, it yields exactly the elements that would
            have followed without the interruption.

        Raises:
            ValueError: If the state belongs to different files, a different vocabulary or
                different arguments. `characters`, `max_characters` and `passes` may differ.
        """
        start = 0
        streams = None
        skip = 0
        if state is not None:
            self._check_state(state)
            start = state["batches"]
            streams = state["streams"]
            skip = state["skip"]
            if streams:
                self._snapshots.setdefault(start, [dict(stream).copy for stream in streams])
        return to_dataset(
            lambda: self._batches(start, streams, skip),
            self.vocabulary,
            (self.batch_size, self.unroll_steps),
            self.bidirectional,
            self.characters,
            self.max_characters,
        )

    def state(self, num_batches: int) -> dict[str, Any]:
        """Returns the position after a number of batches, counted from the very first batch.

        The call is always cheap: it returns the nearest earlier position that was recorded while
        reading, and the number of batches to skip from there.

        Args:
            num_batches: int, non-negative. Number of batches consumed so far, including those
                before a restored state.

        Returns:
            JSON-serializable dict, which can be passed to `dataset`.
        """
        check_integers(0, num_batches=num_batches)
        start = max(n for n in list(self._snapshots) if n <= num_batches)
        streams = self._snapshots[start]
        return {
            "options": self._options(),
            "batches": start,
            "skip": num_batches - start,
            "streams": streams and [write_out() for write_out in streams],
        }

    def count(self) -> CorpusCounts:
        """Returns the `CorpusCounts` of one pass. The first call reads all files.

        Raises:
            ValueError: If a file is unreadable, binary or not UTF-8, or contains the token `<S>`
                or `</S>`; or if the files contain no token, or no token that is in the vocabulary.
        """
        if self._counts is None:
            self._counts = count_corpus(self.files, self.vocabulary, self.skip_blank)
        return self._counts

    @property
    def batches_per_pass(self) -> int:
        """Number of batches that the positions of one pass fill, rounded up.

        An endless data set yields about this many batches per pass. A finite data set ends with
        a few more batches, which are padded because some rows end before others. The property uses
        `count`, which reads all files in its first call.
        """
        return math.ceil(self.count().positions / (self.batch_size * self.unroll_steps))

    def _batches(
        self, start: int, snapshots: list[dict[str, Any]] | None, skip: int
    ) -> Iterator[Batch]:
        """Yields the batches after a snapshot, except the first `skip` of them."""
        words = WordRows(self.vocabulary, self.max_characters)
        streams = self._open_streams(words, snapshots)
        limit = _UNKNOWN_WORDS_KEPT
        for number in itertools.count(start + 1):
            batches = [stream.next_batch() for stream in streams]
            if all(batch is None for batch in batches):
                return
            if number % _BATCHES_PER_SNAPSHOT == 0:
                self._keep_snapshot(number, [stream.snapshot() for stream in streams])
            if number > start + skip:
                yield self._join_directions(batches, words)
            if len(words.unknown) > limit:
                limit = _UNKNOWN_WORDS_KEPT + 2 * _forget_delivered(words, streams)

    def _join_directions(
        self, batches: list[tuple[np.ndarray, np.ndarray] | None], words: WordRows
    ) -> Batch:
        """Returns one batch of all directions, with padding for a direction that has ended.

        Unknown words are numbered in order of first use.
        """
        shape = [len(batches), self.batch_size, self.unroll_steps]
        rows = np.zeros(shape, np.int32)
        targets = np.full(shape, -1, np.int32)
        for direction, batch in enumerate(batches):
            if batch is not None:
                rows[direction], targets[direction] = batch
        unknown = number_by_first_use(rows, words.first_unknown)
        return rows, targets, words.characters(unknown)

    def _open_streams(
        self, words: WordRows, snapshots: list[dict[str, Any]] | None
    ) -> list[LMStream]:
        corpus = Corpus(
            self.files, self.shuffle, self.seed, self.passes, self.skip_blank, self.block_bytes
        )
        directions = (False, True) if self.bidirectional else (False,)
        shared = (corpus, self.vocabulary, words, weakref.WeakValueDictionary())
        return [
            LMStream(*shared, self.batch_size, self.unroll_steps, reverse, snapshot)
            for reverse, snapshot in zip(directions, snapshots or [None, None], strict=False)
        ]

    def _keep_snapshot(self, number: int, streams: list[Callable[[], dict[str, Any]]]) -> None:
        self._snapshots[number] = streams
        for old in sorted(self._snapshots, reverse=True)[_SNAPSHOTS_KEPT:-1]:
            # Snapshot 0, the beginning, is never removed. `None` prevents an error if another
            # thread has already removed this snapshot.
            self._snapshots.pop(old, None)

    def _options(self) -> dict[str, Any]:
        """Returns the options on which a saved position depends, by name."""
        return {
            "files": [_fingerprint(path) for path in self.files],
            "vocabulary": zlib.crc32("\n".join(self.vocabulary.tokens).encode()),
            "batch_size": self.batch_size,
            "unroll_steps": self.unroll_steps,
            "bidirectional": self.bidirectional,
            "shuffle": self.shuffle,
            "seed": self.seed,
            "skip_blank": self.skip_blank,
            "block_bytes": self.block_bytes,
        }

    def _check_state(self, state: dict[str, Any]) -> None:
        ours = self._options()
        theirs = state.get("options", {})
        different = [name for name in ours if ours[name] != theirs.get(name)]
        if different:
            was = ", ".join(f"{name} = {theirs.get(name)}" for name in different)
            now = ", ".join(f"{name} = {ours[name]}" for name in different)
            raise ValueError(
                f"The data must be those of the saved position: expected {was}; got {now}. "
                "Continue with the same files, vocabulary and options, or start a new run."
            )


def _fingerprint(path: str) -> list[int]:
    """Returns a file's size and a checksum of its beginning, to detect changes."""
    with open(path, "rb") as file:
        return [os.path.getsize(path), zlib.crc32(file.read(1 << 16))]


def _forget_delivered(words: WordRows, streams: list[LMStream]) -> int:
    """Drops the unknown words that no stream needs, and returns the number of those kept."""
    arrays = {id(array): array for stream in streams for array in stream.arrays_of_rows()}
    first = words.first_unknown
    unknown = [(array, np.flatnonzero(array >= first)) for array in arrays.values()]
    keep = np.unique(np.concatenate([array[positions] for array, positions in unknown]))
    new_rows = words.forget(keep)
    for array, positions in unknown:
        array[positions] = new_rows[array[positions] - first]
    return len(keep)
