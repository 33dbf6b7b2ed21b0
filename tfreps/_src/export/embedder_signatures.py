"""Signatures of a model that computes one vector per text, from raw strings."""

import tensorflow as tf

from tfreps._src.export.labeling_signatures import TextSignatures


class EmbedderSignatures(TextSignatures):
    """Signatures of an exported text embedder: `default`, `tokens` and `explain`.

    All three signatures truncate texts to `trained.max_length` tokens or pieces, and return

        vectors         float32 [N, D], the vector of each text
        sequence_len    int32 [N], the number of tokens or pieces that were read

    The text of the default prompt is put before each text, except by the signature `tokens` of a
    model that reads tokens. `explain` also returns the `tokens` or pieces that were read, and the
    attention of a Transformer.

    Args:
        trained: `tfreps.inference.TextEmbedder`.
        explain: bool. Whether to add the signature `explain`. Defaults to `False`.
        core_ops: bool. Whether the export uses only core TensorFlow operations. Defaults to `True`.
    """

    def __init__(self, trained, explain=False, core_ops=True):
        super().__init__(trained, explain, core_ops)
        before = trained.prompt_text()
        if before:
            self.notices = (f"The text {before!r} is put before each text.",)
        self.before = before

    def expected(self, texts):
        return {"vectors": self.trained.embed(texts).vectors}

    def _read(self, text):
        return super()._read(tf.strings.join([self.before, text]) if self.before else text)

    def _outputs(self, features, tokens, sequence_len):
        return {"vectors": self.model(features)["vectors"], "sequence_len": sequence_len}

    def _explained(self, features):
        return {}
