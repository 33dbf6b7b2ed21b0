"""PieceTokenizer: base class of BERT's tokenizers, with special ids and padded batches."""

import abc
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from tfreps._src.files.argument_checks import as_list
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.utf8_files import read_utf8, split_lines
from tfreps._src.text.code_ranges import Ranges

if TYPE_CHECKING:
    import tensorflow as tf
    from typing_extensions import Self

TooLong = Literal["error", "truncate"]
TOO_LONG: tuple[TooLong, ...] = ("error", "truncate")
NONE = type(None)


class PieceGraph(Protocol):
    """`tf.Module` that converts texts `[B]` to ragged int32 ids `[B, None]`.

    `table` is the `PieceTable` that splits words, or `None` if tensorflow-text splits them.
    `default_id` is the id that the table returns for strings that it does not contain.
    """

    table: Any
    default_id: int

    def __call__(self, texts: "tf.Tensor | Sequence[str]", /) -> "tf.RaggedTensor": ...


class PieceTokenizer(abc.ABC):
    """Base class of tokenizers whose ids are the positions of pieces in a vocabulary.

    Subclasses define `SPECIAL_TOKENS`, which begins with the padding, unknown, start, separator and
    mask tokens in this order; `OPTIONS`, which maps the names of their options to the allowed
    types, and `CONTENT`, which does so for the first argument of the constructor; the methods
    `tokenize`, `make_graph` and `_python_steps`; and the properties `word_rules` and
    `dropped_characters`. The arguments and attributes are described in `WordPieceTokenizer`.
    """

    SPECIAL_TOKENS: tuple[str, ...] = ()
    OPTIONS: dict[str, tuple[type, ...]] = {}
    CONTENT: dict[str, tuple[type, ...]] = {"vocabulary": (list,)}
    num_separators: int = 1  # after the first of two texts
    second_segment: int = 1  # segment id of the second text

    padding_id: int
    unknown_id: int
    start_id: int
    separator_id: int
    mask_id: int

    def __init__(
        self,
        vocabulary: Iterable[str],
        max_length: int | None = None,
        source: str | os.PathLike[str] = "vocabulary",
    ):
        self.vocabulary: list[str] = list(vocabulary)
        self.source: str = str(source)
        self.max_length = max_length
        self.max_pieces(max_length)  # raises an error if `max_length` is too small
        self._ids = _check(self.vocabulary, self.SPECIAL_TOKENS, self.source)
        self.padding_id, self.unknown_id, self.start_id, self.separator_id, self.mask_id = (
            self._ids[token] for token in self.SPECIAL_TOKENS[:5]
        )
        self.unknown: str = self.vocabulary[self.unknown_id]
        self._graphs: dict[bool, PieceGraph] = {}

    @property
    def special_ids(self) -> list[int]:
        """Ids of the special, reserved and unused tokens, in ascending order."""
        return sorted(n for n, token in enumerate(self.vocabulary) if self.is_special(token))

    def is_special(self, token: str) -> bool:
        """Returns `True` if a piece of the vocabulary is a special, reserved or unused token."""
        return token in self.SPECIAL_TOKENS

    @abc.abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """Splits a text into a list of pieces, without the start and separator tokens."""

    @property
    @abc.abstractmethod
    def word_rules(self) -> list[tuple[str, str]]:
        """Regular expressions that split a text into the words to which a tagger assigns tags.

        Each item of the list is a tuple of an RE2 pattern and its replacement. After all of them
        have been applied in order, white space separates the words; see `tfreps.text.tokenize`.
        The pieces of a text are the pieces of its words, and each word has at least one piece.
        """

    @property
    @abc.abstractmethod
    def dropped_characters(self) -> tuple[Ranges, Ranges]:
        """Two tuples of ranges of code points that `word_rules` remove.

        Characters in the ranges of the first tuple are removed anywhere, and those of the second
        tuple only at the start of a word. A range is a pair of its first and last code points. The
        ranges need not include white space, which is always removed.
        """

    def check_exportable(self) -> None:  # noqa: B027  # most tokenizers can be exported
        """Raises a ValueError if the tokenizer has no graph that can be exported."""

    @abc.abstractmethod
    def _python_steps(self) -> dict[str, Any]:
        """Returns a dict that describes how `tokenize` splits a text, for a program without tfreps.

        The keys are `dropped`, a pattern of `re` for characters that are removed; `replaced`, a
        dict from characters to their replacements; `word`, a pattern that finds the tokens or
        words; and `number`, the token that replaces numbers, or `None`.
        """

    def text_to_ids(self, text: str) -> list[int]:
        """Returns the ids of the pieces of a text, without the start and separator tokens."""
        return self.pieces_to_ids(self.tokenize(text))

    def texts_to_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns a list of the result of `text_to_ids` for each text."""
        return list(map(self.text_to_ids, texts))

    def pieces_to_ids(self, pieces: Iterable[str]) -> list[int]:
        """Returns the ids of pieces; pieces outside the vocabulary get the unknown id."""
        get = self._ids.get
        unknown = self.unknown_id
        return [get(piece, unknown) for piece in pieces]

    def __call__(
        self, texts: "tf.Tensor | Sequence[str]", core_ops: bool = False
    ) -> "tf.RaggedTensor":
        """Converts texts to ids in a TensorFlow graph.

        Args:
            texts: str tensor, shape `[B]`, UTF-8. Bytes that are not UTF-8 become U+FFFD, which
                `WordPieceTokenizer` drops.
            core_ops: bool. Whether to use only core TensorFlow operations. If `False`, faster
                operations of tensorflow-text are used where possible. Defaults to `False`.

        Returns:
            int32 `RaggedTensor`, shape `[B, None]`, without the start and separator tokens.

        Raises:
            ValueError: If `core_ops` is `False` and the tokenizer needs tensorflow-text, but it is
                not installed.
        """
        return self.graph(core_ops)(texts)

    def graph(self, core_ops: bool = True) -> PieceGraph:
        """Returns the `tf.Module` that converts texts to ids; its tables are saved with it.

        Args:
            core_ops: bool. Whether to use only core TensorFlow operations. If `False`, the faster
                operations of tensorflow-text are used if they support this tokenizer. Defaults to
                `True`.

        Raises:
            ValueError: If `core_ops` is `False` and tensorflow-text supports this tokenizer but is
                not installed.
        """
        if core_ops not in self._graphs:
            self._graphs[core_ops] = self.make_graph(core_ops)
        return self._graphs[core_ops]

    @abc.abstractmethod
    def make_graph(self, core_ops: bool) -> PieceGraph:
        """Creates the `tf.Module` that converts texts `[B]` to ragged int32 ids `[B, None]`.

        If `core_ops` is `True`, the module uses only core TensorFlow operations.
        """

    def build_inputs(
        self,
        ids: Sequence[int],
        second: Sequence[int] | None = None,
        max_length: int | None = None,
        too_long: TooLong = "error",
    ) -> tuple[list[int], list[int]]:
        """Joins the ids of one or two texts as `[CLS] text [SEP]` or `[CLS] text [SEP] text [SEP]`.

        Args:
            ids: sequence of int. Ids of a text, as returned by `text_to_ids`.
            second: sequence of int or None. Ids of a second text. Defaults to `None`.
            max_length: int or None. Maximum number of ids of the result, special tokens included.
                If `None`, the number is not limited. Defaults to `None`.
            too_long: str. Treatment of longer results: `"error"` raises an error. `"truncate"`
                repeatedly removes the last id of the longer text, or of the second if both have
                the same length. Defaults to `"error"`.

        Returns:
            Tuple `(token_ids, segment_ids)` of two lists of int. `token_ids` are the joined ids.
            `segment_ids` are 0 up to and including the first separator and 1 after it.

        Raises:
            ValueError: If there are more than `max_length` ids and `too_long="error"`,
                `max_length` leaves no room for text, or `too_long` is invalid.
        """
        texts = [list(ids)] if second is None else [list(ids), list(second)]
        if too_long not in TOO_LONG:
            raise ValueError(f"`too_long` must be one of {', '.join(TOO_LONG)}; got {too_long!r}.")
        max_pieces = self.max_pieces(max_length, len(texts))
        size = sum(map(len, texts))
        if max_pieces is not None and size > max_pieces:
            if too_long == "error":
                have = "The text has" if second is None else "The two texts together have"
                raise ValueError(
                    f"{have} {size} pieces, but at most {max_pieces} fit (`max_length` is "
                    f'{max_length}). Shorten the input, or set `too_long="truncate"`.'
                )
            texts = _cut(texts, max_pieces)
        token_ids = [self.start_id]
        segment_ids = [0]
        for text, segment in zip(texts, (0, self.second_segment), strict=False):
            ends = self.num_separators if segment_ids == [0] and len(texts) == 2 else 1
            token_ids += [*text, *[self.separator_id] * ends]
            segment_ids += [segment] * (len(text) + ends)
        return token_ids, segment_ids

    def build_batch(
        self,
        texts: Sequence[str],
        second: Sequence[str] | None = None,
        max_length: int | None = None,
        too_long: TooLong = "error",
    ) -> dict[str, np.ndarray]:
        """Converts texts, or pairs of texts, to the input arrays of `BertEncoder`.

        Args:
            texts: sequence of str. The texts.
            second: sequence of str or None. The second text of each pair. Defaults to `None`.
            max_length: int or None. Maximum number of ids per row, special tokens included. If
                `None`, the number is not limited. Defaults to `None`.
            too_long: str. Treatment of longer rows: `"error"` raises an error, and `"truncate"`
                truncates the texts, as described in `build_inputs`. Defaults to `"error"`.

        Returns:
            dict of three arrays of shape `[B, T]`: `token_ids` (int32), `segment_ids` (int32) and
            `mask` (bool). The rows are those of `build_inputs`, padded at the end with the padding
            id, 0 and `False`, respectively.

        Masking: `mask` is `False` for padding and `True` for all other ids.

        Raises:
            ValueError: If `texts` or `second` is not a list of strings, `second` does not have as
                many texts as `texts`, or `build_inputs` raises an error.
        """
        texts = as_list("`texts`", texts)
        if second is not None:
            second = as_list("`second`", second)
        others = [None] * len(texts) if second is None else self.texts_to_ids(second)
        if len(others) != len(texts):
            raise ValueError(
                f"`second` must have as many texts as `texts`, {len(texts)}; got {len(others)}."
            )
        pairs = zip(self.texts_to_ids(texts), others, strict=True)
        rows = [self.build_inputs(one, other, max_length, too_long) for one, other in pairs]
        shape = len(rows), max((len(ids) for ids, _ in rows), default=0)
        token_ids = np.full(shape, self.padding_id, "int32")
        segment_ids = np.zeros(shape, "int32")
        mask = np.zeros(shape, bool)
        for row, (ids, segments) in enumerate(rows):
            token_ids[row, : len(ids)] = ids
            segment_ids[row, : len(ids)] = segments
            mask[row, : len(ids)] = True
        return {"token_ids": token_ids, "segment_ids": segment_ids, "mask": mask}

    def max_pieces(self, max_length: int | None, num_texts: int = 1) -> int | None:
        """Returns the number of pieces that fit alongside the special tokens.

        Args:
            max_length: int or None. Maximum number of ids, special tokens included.
            num_texts: int. Number of texts that share the ids, 1 or 2. Defaults to 1.

        Returns:
            int or None. The number of pieces, or `None` if `max_length` is `None`.

        Raises:
            ValueError: If no piece fits.
        """
        if max_length is None:
            return None
        specials = 2 if num_texts == 1 else self.num_separators + 2
        if max_length <= specials:
            raise ValueError(
                f"`max_length` must be at least {specials + 1} to leave room for text alongside "
                f"{specials} special tokens; got {max_length}."
            )
        return max_length - specials

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, except `source`, as a JSON-serializable dict."""
        return {name: getattr(self, name) for name in (*self.CONTENT, *self.OPTIONS)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Self":
        """Creates a tokenizer from the return value of `get_config`.

        Raises:
            ValueError: If a value has the wrong type, or the constructor rejects it.
        """
        for name, kinds in {**cls.CONTENT, **cls.OPTIONS}.items():
            if name in config and type(config[name]) not in kinds:
                place = f"{config.get('source', 'config')}: {name!r}"
                wanted = " or ".join(kind.__name__ for kind in kinds)
                raise ValueError(f"{place} must be of type {wanted}; got {config[name]!r:.60}.")
        return cls(**config)

    @classmethod
    def from_vocabulary_file(cls, path: str | os.PathLike[str], **options: Any) -> "Self":
        """Creates a tokenizer from a file with one piece per line, such as BERT's vocab.txt.

        Args:
            path: str or path-like object. Path of the file.
            **options: Arguments of the constructor other than `vocabulary` and `source`.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: If the file cannot be read, is not UTF-8, has an empty line or a repeated
                piece, or lacks a special token (the message names the file and, if possible, the
                line), or an option is out of range.
        """
        return cls(read_pieces(path), source=str(path), **options)

    def write_vocabulary(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `from_vocabulary_file` can read. The write is atomic.

        Raises:
            ValueError: If a piece is blank or contains a line break.
        """
        for piece in self.vocabulary:
            if "\n" in piece or "\r" in piece or not piece.strip(" \t"):
                raise ValueError(
                    f"{piece!r} cannot be written to a file with one piece per line, because it is "
                    "blank or contains a line break. Use `write_tokenizer` instead, which writes "
                    "a JSON file."
                )
        write_text(path, "".join(piece + "\n" for piece in self.vocabulary))


def read_pieces(path: str | os.PathLike[str]) -> list[str]:
    """Returns the list of pieces in a vocabulary file, without checking the special tokens."""
    text = read_utf8(path, "the vocabulary")
    if not text:
        raise ValueError(f"{path} is empty. Expected one piece per line.")
    return split_lines(text.rstrip("\r\n")) or [""]


def _cut(texts: list[list[int]], max_pieces: int) -> list[list[int]]:
    """Returns one or two lists of ids, truncated to `max_pieces` ids in total.

    The last id of the longer list is removed repeatedly. If both lists have the same length, the
    last id of the second list is removed.
    """
    if len(texts) == 1:
        return [texts[0][:max_pieces]]
    first, second = texts
    if len(first) < len(second):
        size = min(len(first), (max_pieces + 1) // 2)
    else:
        size = max_pieces - min(len(second), max_pieces // 2)
    return [first[:size], second[: max_pieces - size]]


def _check(vocabulary: list[str], specials: Sequence[str], source: str) -> dict[str, int]:
    """Returns a dict from pieces to ids.

    Raises a ValueError if a piece is not valid or is repeated, or if a special token is missing.
    """
    ids: dict[str, int] = {}
    for line, piece in enumerate(vocabulary, 1):
        if not isinstance(piece, str):
            raise ValueError(f"{source}, line {line}: a piece must be a str; got {piece!r}.")
        if not piece:
            raise ValueError(
                f"{source}, line {line}: the line is blank. Every line must contain one piece."
            )
        if ids.setdefault(piece, line - 1) != line - 1:
            raise ValueError(
                f"{source}, line {line}: {piece!r} is already on line {ids[piece] + 1}. "
                "Every piece must occur only once, because its line determines its id."
            )
        if any("\ud800" <= character <= "\udfff" for character in piece):
            raise ValueError(
                f"{source}, line {line}: {piece!r} contains a lone surrogate, which UTF-8 cannot "
                "represent. Remove the piece."
            )
    missing = [token for token in specials if token not in ids]
    if missing:
        raise ValueError(
            f"{source}: found no {' or '.join(missing)} among {len(ids)} pieces. The vocabulary "
            f"must contain {', '.join(specials)}, each on its own line."
        )
    return ids
