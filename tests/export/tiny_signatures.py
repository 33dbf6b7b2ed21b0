"""Minimal hand-written signatures for write_export."""

import tensorflow as tf

from tfreps._src.export.stored_weights import StoredWeights


class TinySignatures:
    """Signatures that tag each word of a text with its length, plus an error of `error`."""

    title = "a toy of 0 parameters"
    notices = ["A notice for users."]
    description = None
    known = {"metrics": {"test": {"accuracy": 0.5}}}
    text_counts = {"tokens": "spaces", "most_per_text": None, "added_per_text": 0, "attends": False}

    def __init__(self, reads_text=True, error=0.0):
        self.weights, self.reads_text, self.error = StoredWeights([]), reads_text, error

    def functions(self):
        if not self.reads_text:
            ids = tf.TensorSpec([None, None], tf.int32, "token_ids")
            outputs = self.weights.trace(lambda ids: {"tags": tf.strings.as_string(ids)}, ids)
            return {"token_ids": outputs, "serving_default": outputs}
        text = tf.TensorSpec([None], tf.string, "text")
        default = self.weights.trace(self.outputs, text)
        explain = self.weights.trace(
            lambda text: {**self.outputs(text), "attention": ATTENTION}, text
        )
        return {"default": default, "serving_default": default, "explain": explain}

    def module(self, functions):
        del functions
        return tf.Module()

    def expected(self, texts):
        outputs = {name: value.numpy() for name, value in self.outputs(tf.constant(texts)).items()}
        return {**outputs, "confidences": outputs["confidences"] + self.error}

    def outputs(self, text):
        tokens = tf.strings.split(text).to_tensor("")
        lengths = tf.strings.length(tokens)
        return {
            "tags": tf.where(tokens != "", tf.strings.as_string(lengths), ""),
            "confidences": tf.sqrt(tf.cast(lengths, tf.float32)),
            "span_types": tf.fill([tf.size(text), 0], ""),
            "sequence_len": tf.reduce_sum(tf.cast(tokens != "", tf.int32), axis=1),
        }


ATTENTION = tf.zeros([1, 2, 3, 4, 4])
