"""What exported models that read raw text have in common: their inputs, functions and module."""

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
    """Makes a folder for the files that an export copies; it is removed together with its owner."""
    folder = tempfile.mkdtemp(prefix="tfreps-export-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


class StringSignatures:
    """Signatures that answer strings; a model says how, in three methods.

        default     from_text(text str [N]), also called serving_default
        tokens      from_tokens(tokens str [N, T], sequence_len int32 [N])
        explain     explain_text(text str [N]), if asked for

    Each returns a dict of tensors.

    Args:
        indexer: what makes ids of strings in the graph, with its vocabulary as an asset.
        weights: `tfreps.export.stored_weights.StoredWeights` of the model.
        title: str. What the model is, for people.
        explains: bool. Whether there is `explain`.
    """

    def __init__(self, indexer, weights, title, explains):
        self.indexer = indexer
        self.weights = weights
        self.title = title
        self.explains = explains

    def functions(self):
        """The traced functions by name, as `tf.saved_model.save` takes them."""
        trace = self.weights.trace
        default = trace(self.from_text, TEXT)
        functions = {"default": default, "serving_default": default}
        functions["tokens"] = trace(self.from_tokens, TOKENS, LENGTHS)
        if self.explains:
            functions["explain"] = trace(self.explain_text, TEXT)
        return functions

    def module(self):
        """What the functions use, for `tf.saved_model.save` to keep: weights and vocabulary."""
        module = tf.Module()
        module.weights = self.weights.tracked()
        module.indexer = self.indexer
        return module


def with_vocabulary(indexer, assets, core_ops=True):
    """An indexer whose vocabulary becomes an asset of the SavedModel.

    Args:
        indexer: `TokenIndexer` or `PieceIndexer`.
        assets: folder to which the vocabulary is written.
        core_ops: bool. False for a BERT's pieces by tensorflow-text's operation.

    Raises:
        ValueError: tensorflow-text is to be used, and is missing or cannot cut such texts.
    """
    path = os.path.join(assets, "vocabulary.txt")
    if core_ops:
        return indexer.with_vocabulary_file(path)
    if not isinstance(indexer, PieceIndexer):
        raise ValueError("This model reads whole tokens, which are in no need of WordPiece.")
    return indexer.with_vocabulary_file(path, core_ops=False)


def cut_tokens(tokens, sequence_len, max_length):
    """Tokens `[N, T]` with `""` beyond each sentence's length, and the lengths.

    Args:
        tokens: str `[N, T]`.
        sequence_len: int32 `[N]`.
        max_length: int. Where longer sentences are cut; None for nowhere.

    Raises:
        tf.errors.InvalidArgumentError: for lengths that do not fit the tokens.
    """
    rows, longest = tf.unstack(tf.shape(tokens))
    fits = tf.reduce_all((sequence_len >= 0) & (sequence_len <= longest))
    fits &= tf.size(sequence_len) == rows
    message = "sequence_len must have one value per row of tokens, none above its length"
    tf.debugging.Assert(fits, [message, sequence_len, tf.shape(tokens)])
    tokens = tokens[:, :max_length]
    sequence_len = tf.minimum(sequence_len, tf.shape(tokens)[1])
    tokens = tf.where(tf.sequence_mask(sequence_len, tf.shape(tokens)[1]), tokens, "")
    return tokens, sequence_len
