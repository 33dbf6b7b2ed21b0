"""Base class and helpers for the signatures of exported models."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfreps._src.export.stored_weights import StoredWeights
from tfreps._src.text.bert.piece_indexer import PieceIndexer

TEXT = tf.TensorSpec([None], tf.string, "text")
TOKENS = tf.TensorSpec([None, None], tf.string, "tokens")
LENGTHS = tf.TensorSpec([None], tf.int32, "sequence_len")
ATTENDED = 1024  # up to about this many tokens, attention costs less than the rest of the model


class Signatures:
    """Base class of the signatures of an export.

    Subclasses implement `expected`, which computes some outputs of `default` with the model in
    memory, and three methods, each of which returns a dict of tensors:

        default     from_text(text str [N]), also called serving_default
        tokens      from_tokens(tokens str [N, T], sequence_len int32 [N])
        explain     explain_text(text str [N]), only if `explains` is `True`

    Args:
        table: `TokenIndexer`, `PieceIndexer`, lookup table or None. The vocabulary, which the
            SavedModel stores as an asset.
        weights: `StoredWeights` of the model.
        title: str. Description of the model for its README.
        explains: bool. Whether to add the signature `explain`.

    Attributes:
        text_counts: dict with which a server estimates the cost of a request. `tokens`: the
            tokenization, a key of `notes.UNITS`. `most_per_text`: the number of tokens to which the
            model truncates a text before any further processing, or `None`. `added_per_text`: the
            number of tokens, such as `[CLS]`, that the model adds to a text. `attends`: whether the
            cost of a long text grows with the square of its number of tokens.
        known: dict. Facts about the training, as returned by `runs.run_card.run_card`.
        description: dict or None. Content of the file model.json, by which `tfreps.load` reads the
            export, or `None` if no signature reads strings.
        notices: sequence of str. Paragraphs for users of the signatures, for the README.
        reads_text: bool. Whether there are signatures that read strings.
    """

    text_counts: dict[str, Any]
    known: dict[str, Any] = {}
    description: dict[str, Any] | None = None
    notices: Sequence[str] = ()
    reads_text: bool = True

    def __init__(self, table: Any, weights: StoredWeights, title: str, explains: bool):
        self.table = table
        self.weights = weights
        self.title = title
        self.explains = explains

    def functions(self) -> dict[str, Any]:
        """Returns a dict from signature names to traced functions, for `tf.saved_model.save`."""
        trace = self.weights.trace
        functions = {}
        if self.reads_text:
            functions["default"] = functions["serving_default"] = trace(self.from_text, TEXT)
            functions["tokens"] = trace(self.from_tokens, TOKENS, LENGTHS)
        functions |= self.more_functions()
        if self.explains and self.reads_text:
            functions["explain"] = trace(self.explain_text, TEXT)
        return functions

    def more_functions(self) -> dict[str, Any]:
        """Returns the traced functions of signatures other than `default`, `tokens` and `explain`.

        Returns a dict from names to traced functions. In the base class, the dict is empty;
        subclasses with further signatures override this method.
        """
        return {}

    def expected(self, texts: Sequence[str]) -> dict[str, Any]:
        """Computes outputs for texts with the model in memory, to check the export.

        Returns a dict from names to arrays, for some or all outputs of the signature `default`. The
        export is correct if its signature `default` returns the same values.
        """
        raise NotImplementedError

    def from_text(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Implements the signature `default`: returns a dict of outputs for texts `[N]`."""
        raise NotImplementedError

    def from_tokens(self, tokens: tf.Tensor, sequence_len: tf.Tensor) -> dict[str, tf.Tensor]:
        """Implements the signature `tokens`: returns a dict of outputs for tokens `[N, T]`."""
        raise NotImplementedError

    def explain_text(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Implements the signature `explain`: returns a dict of details for texts `[N]`."""
        raise NotImplementedError

    def text_vectors(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Implements the signature `vectors` of biLMs and BERT models: one vector per text."""
        outputs = self.from_text(text)
        return {"vectors": outputs["default"], "sequence_len": outputs["sequence_len"]}

    def module(self, functions: Mapping[str, Any]) -> tf.Module:
        """Returns a `tf.Module` with the weights and the vocabulary that the functions use."""
        module = tf.Module()
        module.weights = self.weights.tracked([*functions.values()])
        module.table = self.table
        return module


def asset_folder(owner: object) -> str:
    """Returns a new temporary folder, which is deleted when `owner` is garbage-collected."""
    folder = tempfile.mkdtemp(prefix="tfreps-export-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


def with_vocabulary(indexer, assets, core_ops=True):
    """Returns a copy of an indexer that reads its vocabulary from a file, for a SavedModel.

    The file is written to the folder `assets`. `indexer` is a `TokenIndexer` or `PieceIndexer`. If
    `core_ops` is `False`, an operation of TensorFlow Text splits words into pieces.
    """
    path = os.path.join(assets, "vocabulary.txt")
    if core_ops:
        return indexer.with_vocabulary_file(path)
    if not isinstance(indexer, PieceIndexer):
        raise ValueError(
            "`core_ops=False` applies only to BERT models; this model reads whole "
            "tokens, which need no WordPiece. Omit `core_ops=False`."
        )
    return indexer.with_vocabulary_file(path, core_ops=False)


def is_long(max_length: int | None) -> bool:
    """Returns True if texts can be so long that attention dominates the cost of a request.

    `max_length` is the maximum number of tokens in a text, or `None` for no maximum.
    """
    return max_length is None or max_length > ATTENDED


def real_tokens(tokens: tf.Tensor, sequence_len: tf.Tensor) -> tf.Tensor:
    """Returns a mask that is True for tokens and False for padding, bool `[N, T]`.

    `tokens` has the shape `[N, T, ...]`, and `sequence_len`, `[N]`, is the number of tokens in each
    row. When the graph runs, `tf.errors.InvalidArgumentError` is raised unless `sequence_len` has
    one value per row, from 0 to T.
    """
    rows, longest = tf.unstack(tf.shape(tokens)[:2])
    fits = tf.reduce_all((sequence_len >= 0) & (sequence_len <= longest))
    fits &= tf.size(sequence_len) == rows
    message = (
        "`sequence_len` must have one value per row of tokens, from 0 to the length of the row; "
        "got these lengths and this shape of the tokens:"
    )
    check = tf.debugging.Assert(fits, [message, sequence_len, tf.shape(tokens)])
    # Makes this assertion run before the checks of the model.
    with tf.control_dependencies([check]):
        return tf.sequence_mask(sequence_len, longest)


def cut_tokens(
    tokens: tf.Tensor, sequence_len: tf.Tensor, max_length: int | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Truncates rows of tokens `[N, T]` to `max_length`, and fills their padding with `""`.

    The padding of a row begins after `sequence_len` tokens. Returns the tokens, str
    `[N, min(T, max_length)]`, and the number of tokens in each row, int32 `[N]`.
    """
    tokens = tf.where(real_tokens(tokens, sequence_len), tokens, "")[:, :max_length]
    return tokens, tf.minimum(sequence_len, tf.shape(tokens)[1])


def read_pieces(indexer, text, max_length):
    """Splits texts `[N]` into pieces with a `PieceIndexer`.

    Returns a dict of the features for the model, the pieces, str `[N, T]`, with `""` on padding,
    and the number of pieces in each text, int32 `[N]`.
    """
    features = indexer.build_inputs(text, max_length)
    pieces = tf.where(features["mask"], indexer.ids_to_pieces(features["token_ids"]), "")
    return features, pieces, count(features["mask"])


def mean_over_tokens(vectors: tf.Tensor, sequence_len: tf.Tensor) -> tf.Tensor:
    """Returns the mean of the token vectors of each text, `[N, D]`.

    `vectors` has the shape `[N, T, D]` and must be 0 on padding.
    """
    return (
        tf.reduce_sum(vectors, axis=1) / tf.cast(tf.maximum(sequence_len, 1), tf.float32)[:, None]
    )


def count(mask: tf.Tensor) -> tf.Tensor:
    """Returns the number of true values in each row of a mask, int32 `[N]`."""
    return tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
