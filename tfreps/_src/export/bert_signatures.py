"""Signatures of a BERT model without a head, which map raw strings to vectors."""

from typing import Any

import tensorflow as tf

from tfreps._src.export.explanations import explain_attention
from tfreps._src.export.signature_base import (
    TEXT,
    Signatures,
    asset_folder,
    cut_tokens,
    is_long,
    mean_over_tokens,
    read_pieces,
    with_vocabulary,
)
from tfreps._src.export.stored_weights import StoredWeights
from tfreps._src.text.bert.piece_indexer import PieceIndexer


class BertSignatures(Signatures):
    """Signatures of an exported BERT model: `default`, `tokens`, `vectors` and `explain`.

    Each signature splits the texts into pieces, and adds `[CLS]` and `[SEP]` around the pieces of
    each text. `default` and `tokens` return, with zeros on padding:

        tokens              str [N, T], the pieces, "" on padding
        sequence_output     float32 [N, T, D]
        default             float32 [N, D], the mean of sequence_output over the pieces
        pooled_output       float32 [N, D], if there is a pooler
        sequence_len        int32 [N], the number of pieces, including [CLS] and [SEP]

    Texts that are too long for the model's positions, or longer than the tokenizer's `max_length`,
    are truncated. To keep responses small, the signature `vectors` returns only `sequence_len` and
    the output `default`, under the name `vectors`. `explain` returns `tokens`, `sequence_output`,
    `sequence_len`, and the outputs of `export.explanations.explain_attention`.

    Args:
        bert: `tfreps.inference.TextBert`.
        explain: bool. Whether to add the signature `explain`. Defaults to `False`.
        core_ops: bool. Whether the export uses only core TensorFlow operations. If `False`, an
            operation of TensorFlow Text splits words into pieces. Defaults to `True`.
    """

    def __init__(self, bert, explain=False, core_ops=True):
        bert.check_tokenizer()
        self.encoder = bert.encoder
        self.max_length = bert.max_length
        self.text_counts = {
            "tokens": "characters",
            "most_per_text": self.max_length,
            "added_per_text": 2,
            "attends": is_long(self.max_length),
        }
        self.indexer = with_vocabulary(PieceIndexer(bert.tokenizer), asset_folder(self), core_ops)
        size = self.encoder.count_params()
        title = f"a BERT model with {size:,} parameters ({type(self.encoder).__name__})"
        super().__init__(self.indexer, StoredWeights([self.encoder]), title, explain)
        self.encode = self.weights.shared(self.encoder)

    def more_functions(self) -> dict[str, Any]:
        """Returns a dict with the traced function of the signature `vectors`."""
        return {"vectors": self.weights.trace(self.text_vectors, TEXT)}

    def expected(self, texts):
        features, _, lengths = self._read(tf.constant(texts))
        out = self.encoder.predict_on_batch(features)
        names = "sequence_output", "pooled_output"
        return {**{n: out[n] for n in names if n in out}, "sequence_len": lengths.numpy()}

    def from_text(self, text):
        features, tokens, sequence_len = self._read(text)
        return {**self.outputs_of(self.encode(features), sequence_len), "tokens": tokens}

    def outputs_of(self, out, sequence_len):
        """Converts `out`, the dict that the encoder returns, to the outputs of `default`, a dict.

        The output `tokens` is left out.
        """
        sequence = tf.cast(out["sequence_output"], tf.float32)  # [N, T, D]
        outputs = {"sequence_output": sequence, "default": mean_over_tokens(sequence, sequence_len)}
        if "pooled_output" in out:
            outputs["pooled_output"] = tf.cast(out["pooled_output"], tf.float32)
        return {**outputs, "sequence_len": sequence_len}

    def from_tokens(self, tokens, sequence_len):
        words, _ = cut_tokens(tokens, sequence_len)
        return self.from_text(tf.strings.reduce_join(words, axis=1, separator=" "))

    def explain_text(self, text):
        features, tokens, sequence_len = self._read(text)
        vectors = tf.cast(self.encoder(features)["sequence_output"], tf.float32)
        outputs = {"tokens": tokens, "sequence_output": vectors, "sequence_len": sequence_len}
        return {**outputs, **explain_attention(self.encoder, features, tokens)}

    def _read(self, text):
        return read_pieces(self.indexer, text, self.max_length)
