"""Base class and helpers for the signatures of exported models that read raw text."""

import os
import shutil
import tempfile
import weakref

import tensorflow as tf

from tfreps.text.bert.piece_indexer import PieceIndexer

TEXT = tf.TensorSpec([None], tf.string, "text")
TOKENS = tf.TensorSpec([None, None], tf.string, "tokens")
LENGTHS = tf.TensorSpec([None], tf.int32, "sequence_len")


def asset_folder(owner) -> str:
    """Creates a temporary folder for the assets of an export.

    The folder is deleted when `owner` is garbage-collected.
    """
    folder = tempfile.mkdtemp(prefix="tfreps-export-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


class StringSignatures:
    """Base class of signatures that take strings.

    Subclasses implement three methods, each of which returns a dict of tensors:

        default     from_text(text str [N]), also called serving_default
        tokens      from_tokens(tokens str [N, T], sequence_len int32 [N])
        explain     explain_text(text str [N]), only if `explains` is `True`

    Args:
        indexer: `TokenIndexer` or `PieceIndexer`. Converts strings to ids in the graph; its
            vocabulary is an asset of the SavedModel.
        weights: `tfreps.export.stored_weights.StoredWeights` of the model.
        title: str. Description of the model for its README.
        explains: bool. Whether to add the signature `explain`.

    Attributes:
        known: dict. Facts about the training, as returned by `tfreps.runs.run_card.run_card`.
        notices: tuple of str. Paragraphs for users of the signatures, for the README.
        reads_text: bool. Whether there is a signature that reads text; `True` in this class.
    """

    known: dict = {}
    notices: tuple = ()
    reads_text = True

    def __init__(self, indexer, weights, title, explains):
        self.indexer = indexer
        self.weights = weights
        self.title = title
        self.explains = explains

    def functions(self):
        """Returns a dict from signature names to traced functions, for `tf.saved_model.save`."""
        trace = self.weights.trace
        default = trace(self.from_text, TEXT)
        functions = {"default": default, "serving_default": default}
        functions["tokens"] = trace(self.from_tokens, TOKENS, LENGTHS)
        if self.explains:
            functions["explain"] = trace(self.explain_text, TEXT)
        return functions

    def module(self):
        """Returns a `tf.Module` with the weights and the vocabulary that the functions use."""
        module = tf.Module()
        module.weights = self.weights.tracked()
        module.indexer = self.indexer
        return module


def with_vocabulary(indexer, assets, core_ops=True):
    """Returns the indexer with its vocabulary as an asset of the SavedModel.

    Args:
        indexer: `TokenIndexer` or `PieceIndexer`.
        assets: str. Folder to which the vocabulary is written.
        core_ops: bool. Whether to use only core TensorFlow operations. If `False`, an operation of
            TensorFlow Text splits the words for a BERT model into pieces. Defaults to `True`.

    Raises:
        ValueError: If `core_ops` is `False` and the model reads whole tokens, TensorFlow Text is
            not installed, or TensorFlow Text does not support the tokenizer.
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


def cut_tokens(tokens, sequence_len, max_length):
    """Truncates sentences and replaces the tokens after the end of each sentence with `""`.

    Args:
        tokens: str tensor of shape `[N, T]`.
        sequence_len: int32 tensor of shape `[N]`. Number of tokens of each sentence.
        max_length: int or None. Maximum number of tokens. If `None`, sentences are not truncated.

    Returns:
        Tuple `(tokens, sequence_len)`. `tokens` is str `[N, min(T, max_length)]`, the truncated
        sentences; `sequence_len` is int32 `[N]`, their lengths.

    Raises:
        tf.errors.InvalidArgumentError: If `sequence_len` does not have one value from 0 to T per
            sentence.
    """
    rows, longest = tf.unstack(tf.shape(tokens))
    fits = tf.reduce_all((sequence_len >= 0) & (sequence_len <= longest))
    fits &= tf.size(sequence_len) == rows
    message = (
        "`sequence_len` must have one value per row of tokens, from 0 to the length of the row; "
        "got these lengths and this shape of the tokens:"
    )
    tf.debugging.Assert(fits, [message, sequence_len, tf.shape(tokens)])
    tokens = tokens[:, :max_length]
    sequence_len = tf.minimum(sequence_len, tf.shape(tokens)[1])
    tokens = tf.where(tf.sequence_mask(sequence_len, tf.shape(tokens)[1]), tokens, "")
    return tokens, sequence_len
