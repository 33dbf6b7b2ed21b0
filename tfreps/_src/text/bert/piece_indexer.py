"""PieceIndexer: converts pieces, words or whole texts to the input ids of BERT."""

import os
from collections.abc import Iterable, Sequence

import tensorflow as tf

from tfreps._src.files.argument_checks import check_list
from tfreps._src.text.bert.piece_tokenizer import PieceGraph, PieceTokenizer
from tfreps._src.text.lookup_table import PieceTable


class PieceIndexer(tf.Module):
    """Converter from strings to BERT's ids in a TensorFlow graph of core operations.

    It is called with tokens, like `TokenIndexer`. For classifiers, tokens are pieces, including
    the start and separator tokens, as `TextClassifier.tokenize` returns them. For taggers, tokens
    are words, each of which has one or more pieces. The converter is a `tf.Module` and is saved
    together with its tables.

    Args:
        tokenizer: `WordPieceTokenizer` or `CharacterTokenizer`. Splits words and texts.
        words: bool. Whether tokens are words. If `False`, they are pieces. Defaults to `False`.

    Call arguments:
        tokens: str tensor, shape `[B, T]`, UTF-8, padded with `""`.

    Returns:
        dict of tensors:

        - `token_ids`: int32 `[B, T]`. The id of each piece, or of the first piece of each word.
          Padded positions contain the padding id.
        - `piece_ids`, if `words` is `True`: int32 `[B, T, W]`. The ids of the pieces of each word,
          followed by padding ids; W is the largest number of pieces in a word. A word without
          pieces, such as a zero-width space, becomes the unknown piece.
        - `mask`: bool `[B, T]`.

    Masking: `mask` is `True` where the token is not `""`.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps.text import PieceIndexer, WordPieceTokenizer
        >>> specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        >>> tokenizer = WordPieceTokenizer([*specials, "run", "##s"])
        >>> indexer = PieceIndexer(tokenizer)
        >>> indexer(tf.constant([["[CLS]", "run", "##s", "[SEP]"]]))["token_ids"].numpy().tolist()
        [[2, 5, 6, 3]]
        >>> words = PieceIndexer(tokenizer, words=True)(tf.constant([["runs", "", ""]]))
        >>> words["piece_ids"].numpy().tolist()
        [[[5, 6], [0, 0], [0, 0]]]
    """

    vocabulary = max_characters = None  # attributes of TokenIndexer that do not apply here

    def __init__(self, tokenizer: PieceTokenizer, words: bool = False):
        super().__init__(name="piece_indexer")
        self.tokenizer = tokenizer
        self.words = words
        self.graph: PieceGraph = tokenizer.graph(core_ops=True)
        self.table: PieceTable = PieceTable(tokenizer.vocabulary, tokenizer.unknown_id)

    @property
    def vocabulary_size(self) -> int:
        """Number of pieces in the vocabulary; all ids are less than this number."""
        return len(self.tokenizer.vocabulary)

    def with_vocabulary_file(
        self, path: str | os.PathLike[str], core_ops: bool = True
    ) -> "PieceIndexer":
        """Returns a copy of the indexer whose tables read `path`, a file that a SavedModel copies.

        If `core_ops` is `False`, an operation of tensorflow-text replaces the table that splits
        words. Raises a ValueError if tensorflow-text is not installed or does not support the
        tokenizer.
        """
        self.tokenizer.check_exportable()
        copy = PieceIndexer(self.tokenizer, self.words)
        copy.graph = self.tokenizer.make_graph(core_ops)
        by_table = copy.graph.table is not None
        if by_table and not core_ops:
            raise ValueError(
                "`core_ops=False` does not apply to the tokenizer of this model: tensorflow-text "
                "supports only WordPiece tokenizers that split Chinese characters. Omit "
                "`core_ops=False`."
            )
        vocabulary = self.tokenizer.vocabulary
        unknown = self.tokenizer.unknown_id
        copy.table = PieceTable(vocabulary, unknown, path)
        if by_table:
            copy.graph.table = PieceTable(vocabulary, copy.graph.default_id, path)
        return copy

    def ids_to_pieces(self, piece_ids: tf.Tensor) -> tf.Tensor:
        """Returns the pieces with the given ids, in a str tensor of the same shape."""
        return tf.gather(tf.constant(self.tokenizer.vocabulary), piece_ids)

    def __call__(self, tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        tokens = tf.convert_to_tensor(tokens, tf.string)  # [B, T]
        mask = tokens != ""
        if not self.words:
            ids = tf.where(mask, self.table(tokens), self.tokenizer.padding_id)
            return {"token_ids": ids, "mask": mask}
        pieces = self.graph(tf.reshape(tokens, [-1]))  # [B * T, (W)]
        without = tf.cast(pieces.row_lengths() == 0, tf.int64)
        unknown = tf.fill([tf.reduce_sum(without)], self.tokenizer.unknown_id)
        unknown = tf.RaggedTensor.from_row_lengths(unknown, without)  # pyright: ignore[reportAttributeAccessIssue]
        pieces = tf.concat([unknown, pieces], axis=1).to_tensor(self.tokenizer.padding_id)
        width = tf.maximum(tf.shape(pieces)[1], 1)
        pieces = tf.reshape(pieces, [*tf.unstack(tf.shape(tokens)), width])
        pieces = tf.where(mask[..., None], pieces, self.tokenizer.padding_id)  # pyright: ignore[reportArgumentType]  # [B, T, W]
        return {"token_ids": pieces[..., 0], "piece_ids": pieces, "mask": mask}  # pyright: ignore[reportArgumentType]

    def build_inputs(self, texts: tf.Tensor, max_length: int | None = None) -> dict[str, tf.Tensor]:
        """Returns the `token_ids` and `mask`, `[N, T]`, of `[CLS] text [SEP]` for raw texts `[N]`.

        Longer texts are truncated to `max_length` ids, special tokens included.
        """
        max_pieces = self.tokenizer.max_pieces(max_length)
        t = self.tokenizer
        ids = self.graph(texts)[:, :max_pieces]  # [N, (pieces)]
        column = tf.ones([tf.size(texts), 1], tf.int32)
        ids = tf.concat([t.start_id * column, ids, t.separator_id * column], axis=1)  # pyright: ignore[reportArgumentType, reportCallIssue]
        mask = tf.sequence_mask(ids.row_lengths())
        return {"token_ids": ids.to_tensor(t.padding_id), "mask": mask}


def piece_texts(
    texts: Iterable[str], tokenizer: PieceTokenizer, max_length: int | None = None
) -> tuple[list[list[str]], int]:
    """Splits texts into pieces, and truncates them to `max_length` pieces.

    Returns:
        Tuple `(pieces, num_truncated)`. `pieces` is a list of lists of str: the pieces of each
        text between the start and separator tokens, which count toward `max_length`. Pieces that
        are not in the vocabulary are replaced with the unknown token. `num_truncated` is the number
        of texts that were truncated.
    """
    check_list("`texts`", texts)
    max_pieces = tokenizer.max_pieces(max_length)
    rows = []
    num_truncated = 0
    ends = [tokenizer.vocabulary[i] for i in (tokenizer.start_id, tokenizer.separator_id)]
    for ids in tokenizer.texts_to_ids(list(texts)):
        pieces = [tokenizer.vocabulary[number] for number in ids]
        num_truncated += max_pieces is not None and len(pieces) > max_pieces
        rows.append([ends[0], *pieces[:max_pieces], ends[1]])
    return rows, num_truncated


def check_num_pieces(
    sentences: Sequence[Sequence[str]],
    tokenizer: PieceTokenizer,
    max_length: int | None,
    places: Sequence[str] | None = None,
) -> None:
    """Raises a ValueError if a sentence of words has more pieces than fit in `max_length`.

    The message begins with the item of `places` for the sentence, such as `"a.txt, line 3"`.
    """
    max_pieces = tokenizer.max_pieces(max_length)
    if max_pieces is None:
        return
    words = list({word for sentence in sentences for word in sentence})
    sizes = {w: max(len(p), 1) for w, p in zip(words, tokenizer.texts_to_ids(words), strict=True)}
    for number, sentence in enumerate(sentences):
        size = sum(sizes[word] for word in sentence)
        if size > max_pieces:
            place = places[number] if places else f"Sentence {number} (counted from 0)"
            raise ValueError(
                f"{place}: the model accepts at most {max_pieces} pieces alongside the special "
                f"tokens; got {size}: {' '.join(sentence)[:60]!r}. Split the sentence into shorter "
                "ones."
            )
