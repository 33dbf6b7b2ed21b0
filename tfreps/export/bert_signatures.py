"""Signatures of a BERT without a head: raw strings in, vectors of pieces and texts out."""

import tensorflow as tf

from tfreps.export.explanations import explain_attention
from tfreps.export.signature_base import (
    StringSignatures,
    asset_folder,
    cut_tokens,
    with_vocabulary,
)
from tfreps.export.stored_weights import StoredWeights
from tfreps.text.bert.piece_indexer import PieceIndexer


class BertSignatures(StringSignatures):
    """The signatures of an exported BERT: strings in, dense float32 out.

        default     text str [N] (also called serving_default)
        tokens      tokens str [N, T], sequence_len int32 [N]: words; what is beyond is ignored

    They cut the text, put `[CLS]` before and `[SEP]` behind it, and answer, zero on padding,

        tokens              str [N, T], the pieces, "" on padding
        sequence_output     float32 [N, T, D]
        default             float32 [N, D], the mean of sequence_output over the pieces
        pooled_output       float32 [N, D], where there is a pooler
        sequence_len        int32 [N], pieces

    A text that is too long for the model's positions, or for `max_length` of the tokenizer, is
    cut. If asked for, `explain` takes `text` and answers `tokens`, `sequence_output`,
    `sequence_len`, `attention` and `attention_tokens`.

    Args:
        bert: `tfreps.inference.TextBert`.
        explain: bool. Whether there is a signature `explain`.
        core_ops: bool. Whether the export is to need TensorFlow alone; else tensorflow-text's
            operation cuts words into pieces, which is faster.

    Raises:
        ValueError: the BERT has no tokenizer; tensorflow-text is to be used, and is missing or
            cannot cut such texts.
    """

    def __init__(self, bert, explain=False, core_ops=True):
        bert.check_tokenizer()
        self.encoder = bert.encoder
        self.max_length = bert.max_length
        self.text_counts = {
            "tokens": "characters",
            "most_per_text": self.max_length,
            "added_per_text": 2,
            "attends": False,  # as far as that counts, in texts that are cut
        }
        size = self.encoder.count_params()
        super().__init__(
            with_vocabulary(PieceIndexer(bert.tokenizer), asset_folder(self), core_ops),
            StoredWeights([self.encoder]),
            f"a BERT of {size:,} parameters ({type(self.encoder).__name__})",
            explain,
        )

    def expected(self, texts):
        """What `predict` of the model itself says: dict of some outputs of `default`."""
        features, _, lengths = self._read(tf.constant(texts))
        out = self.encoder.predict_on_batch(features)
        names = "sequence_output", "pooled_output"
        return {**{n: out[n] for n in names if n in out}, "sequence_len": lengths.numpy()}

    def from_text(self, text):
        """Signature `default`: str `[N]`."""
        features, tokens, sequence_len = self._read(text)
        out = self.encoder(features)
        sequence = tf.cast(out["sequence_output"], tf.float32)  # [N, T, D]
        count = tf.cast(tf.maximum(sequence_len, 1), tf.float32)[:, None]
        answer = {"sequence_output": sequence, "default": tf.reduce_sum(sequence, axis=1) / count}
        if "pooled_output" in out:
            answer["pooled_output"] = tf.cast(out["pooled_output"], tf.float32)
        return {**answer, "tokens": tokens, "sequence_len": sequence_len}

    def from_tokens(self, tokens, sequence_len):
        """Signature `tokens`: words, str `[N, T]`, with lengths int32 `[N]`."""
        words, _ = cut_tokens(tokens, sequence_len, None)
        return self.from_text(tf.strings.reduce_join(words, axis=1, separator=" "))

    def explain_text(self, text):
        """Signature `explain`: str `[N]`."""
        features, tokens, sequence_len = self._read(text)
        vectors = tf.cast(self.encoder(features)["sequence_output"], tf.float32)
        answer = {"tokens": tokens, "sequence_output": vectors, "sequence_len": sequence_len}
        return {**answer, **explain_attention(self.encoder, features, tokens)}

    def _read(self, text):
        """Raw text to what the encoder reads, its pieces `[N, T]` and their number."""
        features = self.indexer.of_texts(text, self.max_length)
        pieces = tf.where(features["mask"], self.indexer.strings(features["token_ids"]), "")
        return features, pieces, tf.reduce_sum(tf.cast(features["mask"], tf.int32), axis=1)
