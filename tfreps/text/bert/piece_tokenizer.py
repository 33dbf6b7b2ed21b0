"""PieceTokenizer: the base class of BERT's tokenizers, with vocabulary, special ids and packing."""

import abc
import os
from collections.abc import Iterable, Sequence

import numpy as np

from tfreps.files.atomic_files import write_text
from tfreps.files.utf8_files import read_utf8

SPECIALS = ("padding", "unknown", "start", "separator", "mask")
TOO_LONG = ("refuse", "cut")
NONE = type(None)


class PieceTokenizer(abc.ABC):
    """Base class of tokenizers whose ids are the places of pieces in a vocabulary.

    Subclasses have `SPECIAL_TOKENS`, the names of padding, unknown piece, start, separator and
    mask in that order; `OPTIONS`, the types of their options by name; `tokenize`; `word_rules`;
    and `make_graph`.

    Args:
        vocabulary: pieces in the order of their ids.
        max_length: int or None. The most ids of a text, special ones included, that models get
            to see. The tokenizer itself does not apply it; see
            `tfreps.runs.bert_loading.max_length`.
        source: str. How errors call the vocabulary.

    Attributes:
        vocabulary: list of str.
        padding_id, unknown_id, start_id, separator_id, mask_id: int.
        special_ids: list of int, ascending: those, and others that text never gives.

    Raises:
        ValueError: a special token is missing, or a piece comes twice, is blank or no string; a
            `max_length` without room for a text.
    """

    SPECIAL_TOKENS: tuple[str, ...] = ()
    OPTIONS: dict[str, tuple[type, ...]] = {}

    def __init__(
        self,
        vocabulary: Iterable[str],
        max_length: int | None = None,
        source: str | os.PathLike = "vocabulary",
    ):
        self.vocabulary = list(vocabulary)
        self.source = str(source)
        self.max_length = max_length
        self.room(max_length)  # checks it
        self._ids = _check(self.vocabulary, self.SPECIAL_TOKENS, self.source)
        self.padding_id, self.unknown_id, self.start_id, self.separator_id, self.mask_id = (
            self._ids[token] for token in self.SPECIAL_TOKENS[:5]
        )
        self.unknown = self.vocabulary[self.unknown_id]
        self._graphs: dict[bool, object] = {}

    @property
    def special_ids(self) -> list[int]:
        """Ids that no text produces: special tokens, reserved and unused ones."""
        return sorted(n for n, token in enumerate(self.vocabulary) if self.is_special(token))

    def is_special(self, token: str) -> bool:
        """Whether a piece of the vocabulary is a special token."""
        return token in self.SPECIAL_TOKENS

    @abc.abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """Splits a text into pieces, without start and separator."""

    @property
    @abc.abstractmethod
    def word_rules(self) -> list[tuple[str, str]]:
        """The regular expressions that split a text into the words that a tagger tags.

        Patterns of RE2 with what takes their place, one after the other; words are then what is
        between white space. `tfreps.text.tokenize` follows them. A text has the pieces of its
        words, and each word has at least one.
        """

    def ids(self, text: str) -> list[int]:
        """Returns the ids of the pieces of a text, without start and separator."""
        return self.piece_ids(self.tokenize(text))

    def piece_ids(self, pieces: Iterable[str]) -> list[int]:
        """Returns the ids of pieces; the id of the unknown piece for others."""
        get = self._ids.get
        unknown = self.unknown_id
        return [get(piece, unknown) for piece in pieces]

    def __call__(self, strings, core_ops: bool = False):
        """Converts texts to ids inside a TensorFlow graph.

        Args:
            strings: str tensor, shape `[B]`, UTF-8. What is no UTF-8 is left out.
            core_ops: whether to make do with TensorFlow's own operations where those of
                tensorflow-text would be faster.

        Returns:
            int32 `RaggedTensor`, shape `[B, None]`, without start and separator.

        Raises:
            ValueError: tensorflow-text is needed and not installed.
        """
        return self.graph(core_ops)(strings)

    def graph(self, core_ops: bool = True):
        """Returns the `tf.Module` behind a call. An object that holds it saves its tables, too."""
        if core_ops not in self._graphs:
            self._graphs[core_ops] = self.make_graph(core_ops)
        return self._graphs[core_ops]

    @abc.abstractmethod
    def make_graph(self, core_ops: bool):
        """Makes the `tf.Module` that a call needs: texts `[B]` to ragged int32 ids `[B, None]`."""

    def pack(
        self,
        ids: Sequence[int],
        second: Sequence[int] | None = None,
        max_length: int | None = None,
        too_long: str = "refuse",
    ) -> tuple[list[int], list[int]]:
        """Joins one or two texts: `[CLS] text [SEP]` or `[CLS] text [SEP] text [SEP]`.

        Args:
            ids: those of a text, as `ids` gives them.
            second: those of a second text, or None.
            max_length: int. The most ids of the result, special ones included; None for any.
            too_long: "refuse", or "cut": texts lose ids at their ends, the longer of two as long
                as it is the longer (the second if they are as long).

        Returns:
            `(token_ids, segment_ids)`, lists of int: segments are 0 up to the first separator
            and 1 after it.

        Raises:
            ValueError: more than `max_length` ids; a `max_length` without room for a text.
        """
        texts = [list(ids)] if second is None else [list(ids), list(second)]
        check_too_long(too_long)
        room = self.room(max_length, len(texts))
        size = sum(map(len, texts))
        if room is not None and size > room:
            if too_long == "refuse":
                raise ValueError(
                    f"The text has {size} pieces, and there is room for {room} (`max_length` "
                    f'{max_length}). Shorten it, or pack with `too_long="cut"`.'
                )
            texts = _cut(texts, room)
        token_ids = [self.start_id]
        segment_ids = [0]
        for segment, text in enumerate(texts):
            token_ids += [*text, self.separator_id]
            segment_ids += [segment] * (len(text) + 1)
        return token_ids, segment_ids

    def batch(
        self,
        texts: Sequence[str],
        second: Sequence[str] | None = None,
        max_length: int | None = None,
        too_long: str = "refuse",
    ) -> dict[str, np.ndarray]:
        """Converts texts, or pairs of texts, to the arrays that a `BertEncoder` reads.

        Args:
            texts: strings.
            second: strings, as many; or None.
            max_length: int. The most ids of a row, special ones included; None for any.
            too_long: as of `pack`.

        Returns:
            dict of `token_ids` int32, `segment_ids` int32 and `mask` bool, `[B, T]`: the rows of
            `pack`, padded at the end with the padding id, 0 and False.

        Raises:
            ValueError: a single string, texts of different number, or what `pack` raises.
        """
        if isinstance(texts, str) or isinstance(second, str):
            raise ValueError("Expected a list of texts; got a single string.")
        others = [None] * len(texts) if second is None else [self.ids(text) for text in second]
        if len(others) != len(texts):
            raise ValueError(f"Expected as many second texts, {len(texts)}; got {len(others)}.")
        firsts = [self.ids(text) for text in texts]
        pairs = zip(firsts, others, strict=True)
        rows = [self.pack(one, other, max_length, too_long) for one, other in pairs]
        shape = len(rows), max((len(ids) for ids, _ in rows), default=0)
        token_ids = np.full(shape, self.padding_id, "int32")
        segment_ids = np.zeros(shape, "int32")
        mask = np.zeros(shape, bool)
        for row, (ids, segments) in enumerate(rows):
            token_ids[row, : len(ids)] = ids
            segment_ids[row, : len(ids)] = segments
            mask[row, : len(ids)] = True
        return {"token_ids": token_ids, "segment_ids": segment_ids, "mask": mask}

    def room(self, max_length: int | None, num_texts: int = 1) -> int | None:
        """Returns how many pieces fit next to the special tokens; None means any number."""
        if max_length is None:
            return None
        if max_length < num_texts + 2:
            raise ValueError(
                f"`max_length` must leave room for text next to {num_texts + 1} special tokens; "
                f"got {max_length}."
            )
        return max_length - num_texts - 1

    def get_config(self) -> dict:
        """Returns the arguments of the constructor, as JSON types."""
        options = {name: getattr(self, name) for name in self.OPTIONS}
        return {"vocabulary": self.vocabulary, **options}

    @classmethod
    def from_config(cls, config: dict) -> "PieceTokenizer":
        """Makes a tokenizer from its config; raises a ValueError for an option of a wrong type."""
        for name, kinds in {"vocabulary": (list,), **cls.OPTIONS}.items():
            if name in config and type(config[name]) not in kinds:
                place = f"{config.get('source', 'config')}: {name!r}"
                wanted = " or ".join(kind.__name__ for kind in kinds)
                raise ValueError(f"{place} must be a {wanted}; got {config[name]!r:.60}.")
        return cls(**config)

    @classmethod
    def from_vocabulary_file(cls, path: str | os.PathLike, **options) -> "PieceTokenizer":
        """Reads a vocabulary with one piece per line, such as the vocab.txt of a checkpoint.

        Raises:
            ValueError: with file and line: no UTF-8, a byte order mark, a blank line, a piece
                that comes twice; a missing special token.
        """
        return cls(read_pieces(path), source=str(path), **options)

    def write_vocabulary(self, path: str | os.PathLike) -> None:
        """Writes the file that `from_vocabulary_file` reads, whole or not at all.

        Raises:
            ValueError: a piece holds a line end, which that file cannot.
        """
        for piece in self.vocabulary:
            if "\n" in piece or "\r" in piece or not piece.strip(" \t"):
                raise ValueError(f"{piece!r} cannot stand in a file with one piece per line.")
        write_text(path, "".join(piece + "\n" for piece in self.vocabulary))


def read_pieces(path: str | os.PathLike) -> list[str]:
    """Reads the lines of a vocabulary file, each a piece; does not look for special tokens."""
    text = read_utf8(path, "the vocabulary")
    if not text:
        raise ValueError(f"{path} is empty. Expected one piece per line.")
    return [line.removesuffix("\r") for line in text.rstrip("\r\n").split("\n")]


def check_too_long(too_long: str) -> None:
    """Raises a ValueError if `too_long` is not one of `TOO_LONG`."""
    if too_long not in TOO_LONG:
        raise ValueError(f"`too_long` must be one of {', '.join(TOO_LONG)}; got {too_long!r}.")


def _cut(texts: list[list[int]], room: int) -> list[list[int]]:
    """Texts without their last ids, always one of the longest text."""
    if len(texts) == 1:
        return [texts[0][:room]]
    first, second = texts
    if len(first) < len(second):
        size = min(len(first), (room + 1) // 2)
    else:
        size = room - min(len(second), room // 2)
    return [first[:size], second[: room - size]]


def _check(vocabulary: list[str], specials: Sequence[str], source: str) -> dict[str, int]:
    """Piece -> id, once it is sure that each piece has one id and specials are there."""
    ids: dict[str, int] = {}
    for line, piece in enumerate(vocabulary, 1):
        if not isinstance(piece, str):
            raise ValueError(f"{source}, line {line}: expected a str, got {piece!r}.")
        if not piece:
            raise ValueError(f"{source}, line {line}: blank. Every line must hold one piece.")
        if ids.setdefault(piece, line - 1) != line - 1:
            raise ValueError(
                f"{source}, line {line}: {piece!r} is already on line {ids[piece] + 1}. "
                "Every piece must occur once, since its line is its id."
            )
        if any("\ud800" <= character <= "\udfff" for character in piece):
            raise ValueError(f"{source}, line {line}: half of a UTF-16 pair in {piece!r}.")
    missing = [token for token in specials if token not in ids]
    if missing:
        raise ValueError(
            f"{source}: {' and '.join(missing)} missing among {len(ids)} pieces. The vocabulary "
            f"needs {', '.join(specials)}, each on a line of its own."
        )
    return ids
