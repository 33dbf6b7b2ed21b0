"""LMBatches: batches for training a biLM, in the order of bilm-tf's generator."""

import itertools
import math
import os
import weakref
import zlib
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from tfreps.data.lm.corpus_counts import CorpusCounts, count_corpus
from tfreps.data.lm.lm_elements import Batch, to_dataset
from tfreps.data.lm.lm_streams import LMStream
from tfreps.data.lm.sentence_slices import Corpus
from tfreps.data.lm.word_rows import WordRows, number_by_first_use
from tfreps.data.text_files import Files, find_files
from tfreps.text import Vocabulary

_BATCHES_PER_SNAPSHOT = 32
_SNAPSHOTS_KEPT = 32
_UNKNOWN_WORDS_KEPT = 1 << 15


class LMBatches:
    """Makes batches whose rows continue from batch to batch, with a position to save.

    Reads text files with one sentence per line, tokens split at white space. Each row of a batch
    is a stream: it pulls the next sentence from the files when it has come to the end of its
    own, rows in order, and goes on in the next batch where it stopped. `</S>` is never an input,
    `<S>` never a target. The two directions read the files independently. All of this is
    bilm-tf's order, position for position, up to its last full batch; where bilm-tf throws away
    what then remains, the last batches here are padded, and no token is lost.

    Elements: a dict of tensors, T = `unroll_steps`.

    - `token_ids` int32 `[B, T]`: inputs; words outside the vocabulary are `<UNK>`.
    - `next_token_id` int32 `[B, T]`: targets.
    - `mask` bool `[B, T]`: False on padding, which only the last batches of a finite number of
      passes have; ids are 0 there.
    - with `characters="ids"`, `tokens_characters` int32 `[B, T, C]`: character ids in the
      convention of `tfreps.text` (0 = no token, so padding is 0; bilm-tf's training arrays are
      these less 1). Words outside the vocabulary keep their own characters.
    - with `characters="table"`, the same in less space: `character_rows` int32 `[B, T]` counts
      rows of `vocabulary.character_table()` with `unknown_characters` int32 `[U, C]` below it,
      which holds the words of this batch outside the vocabulary, in order of appearance.
      Padding has row 0. A model gathers the characters on its device.
    - with `bidirectional`, the same under names that end in `_reverse` (`unknown_characters` is
      shared): inputs `</S> wn .. w1`, targets `wn .. w1 <S>`.

    Args:
        files: path, glob pattern or a list of them; `*.gz` is unpacked. Read in order of name.
        vocabulary: Vocabulary.
        batch_size: int, B, rows.
        unroll_steps: int, T, positions of each row in a batch.
        bidirectional: bool.
        characters: "ids", "table" or None (word input).
        max_characters: int, C.
        shuffle: bool. Shards in a new order in every pass, and sentences within each block of
            text; the directions differ.
        seed: int, not negative. All shuffling depends on it, on the direction, the pass, the
            shard and the block only.
        passes: int, how often the files are read; None for endlessly. Rows run on from one pass
            to the next.
        skip_blank: bool. A blank line is a sentence of no words, hence one position, as in
            bilm-tf; True leaves it out.
        block_bytes: int. Text held in memory at once, per direction, and the range of shuffling;
            by default 4 MiB or some 30,000 sentences.

    Raises:
        ValueError: no such files or bad arguments here; text that is unreadable, not UTF-8 or
            without any sentence when it is read. `count()` reads it all, and is where a bad
            file shows before training starts.

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
        characters: str | None = "ids",
        max_characters: int = 50,
        shuffle: bool = False,
        seed: int = 0,
        passes: int | None = None,
        skip_blank: bool = False,
        block_bytes: int = 1 << 22,
    ):
        _check_at_least(1, batch_size=batch_size, unroll_steps=unroll_steps)
        _check_at_least(1, block_bytes=block_bytes)
        if passes is not None:
            _check_at_least(1, passes=passes)
        _check_at_least(0, seed=seed)
        if characters not in ("ids", "table", None):
            raise ValueError(f'`characters` must be "ids", "table" or None; got {characters!r}.')
        self.files = find_files(files)
        self.vocabulary = vocabulary
        self.batch_size = batch_size
        self.unroll_steps = unroll_steps
        self.bidirectional = bidirectional
        self.characters = characters
        self.max_characters = max_characters
        self.shuffle = shuffle
        self.seed = seed
        self.passes = passes
        self.skip_blank = skip_blank
        self.block_bytes = block_bytes
        self._counts: CorpusCounts | None = None
        # Batches delivered -> where the streams then were.
        self._snapshots: dict[int, list[Callable[[], dict]] | None] = {0: None}

    def dataset(self, state: dict | None = None) -> tf.data.Dataset:
        """Returns the batches from the beginning, or from a saved position.

        Args:
            state: what `state` returned, here or in another process, or None.

        Returns:
            `tf.data.Dataset`. Its elements after a restored state are exactly those that would
            have followed.

        Raises:
            ValueError: the state belongs to other files or other arguments.
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

    def state(self, num_batches: int) -> dict:
        """Returns the position after a number of batches, counted from the very first batch.

        Cheap at any time in mid-epoch: the nearest earlier position that was noted down while
        reading, and how many batches to skip from there.

        Args:
            num_batches: int. Batches consumed so far, those before a restored state included.

        Returns:
            dict that `json` can write.
        """
        if num_batches < 0:
            raise ValueError(f"`num_batches` must not be negative; got {num_batches}.")
        start = max(n for n in list(self._snapshots) if n <= num_batches)
        streams = self._snapshots[start]
        return {
            "options": self._options(),
            "batches": start,
            "skip": num_batches - start,
            "streams": streams and [write_out() for write_out in streams],
        }

    def count(self) -> CorpusCounts:
        """Counts one pass, reading every line once (the first time it is called).

        Raises:
            ValueError: a file is unreadable, binary or not UTF-8; there is no sentence; or no
                token of the text is in the vocabulary.
        """
        if self._counts is None:
            self._counts = count_corpus(self.files, self.vocabulary, self.skip_blank)
        return self._counts

    @property
    def batches_per_pass(self) -> int:
        """Number of batches that the positions of one pass fill, rounded up.

        An endless data set uses up just so many per pass; at the end of a finite one a few more
        follow, padded, while the last rows run out.
        """
        return math.ceil(self.count().positions / (self.batch_size * self.unroll_steps))

    def _batches(self, start: int, snapshots: list[dict] | None, skip: int) -> Iterator[Batch]:
        """Batches from a snapshot on, less the first `skip`."""
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

    def _join_directions(self, batches: list[tuple | None], words: WordRows) -> Batch:
        """Stacks the directions (one that has ended is padding) and numbers the unknown words."""
        shape = [len(batches), self.batch_size, self.unroll_steps]
        rows = np.zeros(shape, np.int32)
        targets = np.full(shape, -1, np.int32)
        for direction, batch in enumerate(batches):
            if batch is not None:
                rows[direction], targets[direction] = batch
        unknown = number_by_first_use(rows, words.first_unknown)
        return rows, targets, words.characters(unknown)

    def _open_streams(self, words: WordRows, snapshots: list[dict] | None) -> list[LMStream]:
        corpus = Corpus(
            self.files, self.shuffle, self.seed, self.passes, self.skip_blank, self.block_bytes
        )
        directions = (False, True) if self.bidirectional else (False,)
        shared = (corpus, self.vocabulary, words, weakref.WeakValueDictionary())
        return [
            LMStream(*shared, self.batch_size, self.unroll_steps, reverse, snapshot)
            for reverse, snapshot in zip(directions, snapshots or [None, None], strict=False)
        ]

    def _keep_snapshot(self, number: int, streams: list[Callable[[], dict]]) -> None:
        self._snapshots[number] = streams
        for old in sorted(self._snapshots, reverse=True)[_SNAPSHOTS_KEPT:-1]:
            self._snapshots.pop(old, None)  # but never 0, the beginning; two threads may be here

    def _options(self) -> dict:
        """What a saved position depends on."""
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

    def _check_state(self, state: dict) -> None:
        ours = self._options()
        theirs = state.get("options", {})
        different = [name for name in ours if ours[name] != theirs.get(name)]
        if different:
            was = ", ".join(f"{name} = {theirs.get(name)}" for name in different)
            now = ", ".join(f"{name} = {ours[name]}" for name in different)
            raise ValueError(
                f"The saved position belongs to other data: expected {was}; got {now}. Continue "
                "with the same files, vocabulary and options, or begin a new run."
            )


def _fingerprint(path: str) -> list:
    """Name, size and a sum over the beginning of a file: enough to notice another text."""
    with open(path, "rb") as file:
        return [os.path.basename(path), os.path.getsize(path), zlib.crc32(file.read(1 << 16))]


def _check_at_least(least: int, **given: int) -> None:
    for name, value in given.items():
        if value < least:
            raise ValueError(f"`{name}` must be at least {least}; got {value}.")


def _forget_delivered(words: WordRows, streams: list[LMStream]) -> int:
    """Drops the unknown words that no stream still holds; returns how many stay."""
    arrays = {id(array): array for stream in streams for array in stream.arrays_of_rows()}
    first = words.first_unknown
    unknown = [(array, np.flatnonzero(array >= first)) for array in arrays.values()]
    keep = np.unique(np.concatenate([array[places] for array, places in unknown]))
    new_rows = words.forget(keep)
    for array, places in unknown:
        array[places] = new_rows[array[places] - first]
    return len(keep)
