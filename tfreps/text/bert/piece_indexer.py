"""PieceIndexer: converts pieces, words or whole texts to the ids that a BERT reads."""

from collections.abc import Iterable, Sequence

import tensorflow as tf

from tfreps.text.bert.piece_tokenizer import PieceTokenizer, check_too_long
from tfreps.text.lookup_table import PieceTable


class PieceIndexer(tf.Module):
    """Converts strings to a BERT's ids inside a TensorFlow graph, with core operations only.

    As `TokenIndexer` it is called with tokens. These are pieces, start and separator among
    them, as `piece_texts` gives them: so for classifiers. For taggers they are words, each with
    its pieces. It is a `tf.Module`, and is saved with its tables.

    Args:
        tokenizer: `WordPieceTokenizer` or `CharacterTokenizer`.
        words: bool. Whether tokens are words; else they are pieces.

    Call arguments:
        tokens: str tensor, shape `[B, T]`, UTF-8, padded with `""`.

    Returns:
        dict of

        - `token_ids` int32 `[B, T]`: the piece's id; of a word, that of its first piece. The
          padding id on padding.
        - `piece_ids` int32 `[B, T, W]`, of words only: the ids of the pieces, the padding id
          behind them; W being the word with the most. A word without any, such as a zero-width
          space, is the unknown piece.
        - `mask` bool `[B, T]`.

    Masking: `mask` is True where the token is not `""`.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps.text.bert.tokenizer_files import WordPieceTokenizer
        >>> from tfreps.text.bert.piece_indexer import PieceIndexer
        >>> specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        >>> tokenizer = WordPieceTokenizer([*specials, "run", "##s"])
        >>> indexer = PieceIndexer(tokenizer)
        >>> indexer(tf.constant([["[CLS]", "run", "##s", "[SEP]"]]))["token_ids"].numpy().tolist()
        [[2, 5, 6, 3]]
        >>> words = PieceIndexer(tokenizer, words=True)(tf.constant([["runs", "", ""]]))
        >>> words["piece_ids"].numpy().tolist()
        [[[5, 6], [0, 0], [0, 0]]]
    """

    vocabulary = max_characters = None  # what TokenIndexer has

    def __init__(self, tokenizer: PieceTokenizer, words: bool = False):
        super().__init__(name="piece_indexer")
        self.tokenizer = tokenizer
        self.words = words
        self.graph = tokenizer.graph(core_ops=True)
        self.table = PieceTable(tokenizer.vocabulary, tokenizer.unknown_id)

    @property
    def vocabulary_size(self) -> int:
        """Number of pieces in the vocabulary; ids are smaller."""
        return len(self.tokenizer.vocabulary)

    def with_vocabulary_file(self, path, core_ops=True):
        """Returns a copy whose tables a SavedModel stores as a file; see `lookup_table`.

        Args:
            path: of the file.
            core_ops: bool. False for an operation of tensorflow-text in the place of a table.

        Raises:
            ValueError: tensorflow-text is to be used, and is missing or cannot cut such pieces.
        """
        copy = PieceIndexer(self.tokenizer, self.words)
        copy.graph = self.tokenizer.make_graph(core_ops)
        by_table = copy.graph.table is not None
        if by_table and not core_ops:
            raise ValueError(
                "tensorflow-text cuts no texts like this model's: it needs WordPiece with "
                "Chinese characters apart. Core operations can: leave it to them."
            )
        vocabulary = self.tokenizer.vocabulary
        unknown = self.tokenizer.unknown_id
        copy.table = PieceTable(vocabulary, unknown, path)
        if by_table:
            copy.graph.table = PieceTable(vocabulary, copy.graph.default_id, path)
        return copy

    def strings(self, piece_ids):
        """Returns the pieces of ids: int of any shape to str of that shape."""
        return tf.gather(tf.constant(self.tokenizer.vocabulary), piece_ids)

    def __call__(self, tokens):
        tokens = tf.convert_to_tensor(tokens, tf.string)  # [B, T]
        mask = tokens != ""
        if not self.words:
            ids = tf.where(mask, self.table(tokens), self.tokenizer.padding_id)
            return {"token_ids": ids, "mask": mask}
        pieces = self.graph(tf.reshape(tokens, [-1]))  # [B * T, (W)]
        without = tf.cast(pieces.row_lengths() == 0, tf.int64)
        unknown = tf.fill([tf.reduce_sum(without)], self.tokenizer.unknown_id)
        unknown = tf.RaggedTensor.from_row_lengths(unknown, without)
        pieces = tf.concat([unknown, pieces], axis=1).to_tensor(self.tokenizer.padding_id)
        width = tf.maximum(tf.shape(pieces)[1], 1)
        pieces = tf.reshape(pieces, [*tf.unstack(tf.shape(tokens)), width])
        pieces = tf.where(mask[..., None], pieces, self.tokenizer.padding_id)  # [B, T, W]
        return {"token_ids": pieces[..., 0], "piece_ids": pieces, "mask": mask}

    def of_texts(self, texts, max_length=None):
        """Converts raw texts to the ids of `[CLS] text [SEP]`.

        Args:
            texts: str tensor, shape `[N]`, UTF-8.
            max_length: int. Longer texts are cut to so many ids, special ones included.

        Returns:
            dict of `token_ids` int32 and `mask` bool, `[N, T]`.
        """
        room = self.tokenizer.room(max_length)
        t = self.tokenizer
        ids = self.graph(texts)[:, :room]  # [N, (pieces)]
        column = tf.ones([tf.size(texts), 1], tf.int32)
        ids = tf.concat([t.start_id * column, ids, t.separator_id * column], axis=1)
        mask = tf.sequence_mask(ids.row_lengths())
        return {"token_ids": ids.to_tensor(t.padding_id), "mask": mask}


def piece_texts(
    texts: Iterable[str],
    tokenizer: PieceTokenizer,
    max_length: int | None = None,
    too_long: str = "cut",
) -> tuple[list[list[str]], int]:
    """Returns the pieces of each text as strings, with start and separator around them.

    Args:
        texts: strings.
        tokenizer: what cuts them.
        max_length: int. The most pieces of a text, start and separator included.
        too_long: what becomes of longer texts: "cut", or "refuse".

    Returns:
        the lists of pieces, and how many texts were cut.

    Raises:
        ValueError: a text is too long, and that is to be refused; names its number.
    """
    check_too_long(too_long)
    room = tokenizer.room(max_length)
    rows = []
    num_cut = 0
    ends = [tokenizer.vocabulary[i] for i in (tokenizer.start_id, tokenizer.separator_id)]
    known = set(tokenizer.vocabulary)
    for number, text in enumerate(texts):
        pieces = [p if p in known else tokenizer.unknown for p in tokenizer.tokenize(text)]
        if room is not None and len(pieces) > room:
            if too_long == "refuse":
                raise ValueError(
                    f"Text {number} (counted from 0) has {len(pieces)} pieces, and there is room "
                    f"for {room} and the special ones: {text[:60]!r}. Shorten it, or have "
                    "long texts cut."
                )
            pieces = pieces[:room]
            num_cut = num_cut + 1
        rows.append([ends[0], *pieces, ends[1]])
    return rows, num_cut


def check_room(
    sentences: Sequence[Sequence[str]],
    tokenizer: PieceTokenizer,
    max_length: int | None,
    places: Sequence[str] | None = None,
) -> None:
    """Raises a ValueError for a sentence with more pieces than a BERT has positions.

    Args:
        sentences: lists of words.
        tokenizer: what cuts the words.
        max_length: int. The most pieces of a sentence, start and separator included; or None.
        places: list of str. How to call each sentence, such as `"a.txt, line 3"`; by default
            by its number.

    Raises:
        ValueError: for the first such sentence, with its place.
    """
    room = tokenizer.room(max_length)
    if room is None:
        return
    for number, sentence in enumerate(sentences):
        sizes = (len(tokenizer.tokenize(word)) for word in sentence)
        size = sum(max(n, 1) for n in sizes)
        if size > room:
            place = places[number] if places else f"Sentence {number} (counted from 0)"
            raise ValueError(
                f"{place}: expected at most {room} pieces, for which the model has positions "
                f"next to the special ones; got {size}: {' '.join(sentence)[:60]!r}. Cut the "
                "sentence into shorter ones."
            )
