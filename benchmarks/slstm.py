"""Measures the speed of S-LSTM training and inference, also relative to a matrix multiplication.

    python -m benchmarks.slstm
    python -m benchmarks.slstm --only train --repeats 5

Weights and inputs are random, with 300 units, 7 steps, window 1 and one sentence state. Training
uses a softmax over two labels on the sentence state, and Adam. Rows without a suffix have the form
of unofficial PyTorch code that an article about the S-LSTM describes (zero initial states, zeros
beyond the ends of a sentence). Rows with the suffix `-paper` have the defaults of the layer:
learned initial states, and `<s>` and `</s>` as two more words of every sentence, which do not count
as tokens. The normalized speed of the article's code was 3.3 in training and 8.5 in inference;
"x the article's" is the normalized speed divided by it. Each row runs in its own process. The other
columns are described in benchmarks/elmo.py.
"""

import sys

from benchmarks.runner import run_rows

UNITS, STEPS, BATCH, LENGTH = 300, 7, 32, 30
FORMS = {
    "article": {"initial_state": "zeros", "boundary": "zeros"},
    "paper": {},
}
# Name of a row -> (function, form, precision, normalized speed of the article's code).
ROWS = {
    "train-32x30-float32": ("train", "article", "float32", 3.3),
    "train-32x30-bfloat16": ("train", "article", "mixed_bfloat16", 3.3),
    "encode-32x30-float32": ("encode", "article", "float32", 8.5),
    "encode-32x30-bfloat16": ("encode", "article", "mixed_bfloat16", 8.5),
    "train-32x30-float32-paper": ("train", "paper", "float32", 3.3),
    "train-32x30-bfloat16-paper": ("train", "paper", "mixed_bfloat16", 3.3),
    "encode-32x30-float32-paper": ("encode", "paper", "float32", 8.5),
    "encode-32x30-bfloat16-paper": ("encode", "paper", "mixed_bfloat16", 8.5),
}


def main(argv=None):
    return run_rows(sys.modules[__name__], argv, repeats=40)


def encode(form, precision, article, run):
    """Encodes one batch."""
    import tensorflow as tf

    layer, inputs, mask = make_layer(form, precision)
    specs = [tf.TensorSpec([None, None, UNITS]), tf.TensorSpec([None, None], "bool")]
    graph = tf.function(lambda x, mask: layer(x, mask=mask), input_signature=specs)
    return cells(lambda: graph(inputs, mask)[0].numpy(), article, run)


def train(form, precision, article, run):
    """Runs one training step, as `fit` does."""
    import keras
    import tensorflow as tf

    layer, inputs, mask = make_layer(form, precision)
    x, given = keras.Input([None, UNITS]), keras.Input([None], dtype="bool")
    logits = keras.layers.Dense(2, dtype="float32")(layer(x, mask=given)[1][:, 0])
    model = keras.Model([x, given], logits)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=loss, jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    labels = tf.constant([0, 1] * (BATCH // 2))
    step = tf.function(lambda: model.train_step(((inputs, mask), labels))["loss"])
    return cells(lambda: step().numpy(), article, run)


def cells(call, article, run):
    """Returns the cells of a row, with the quotient of its speed and that of the article."""
    from benchmarks.gemm import normalized

    found = normalized(call, run.repeats, BATCH * LENGTH)
    return found | {"x the article's": round(found["normalized"] / article, 2)}


def make_layer(form, precision):
    """Returns an SLSTM, a batch of random inputs without padding, and its mask."""
    import keras
    import tensorflow as tf

    from tfreps.layers import SLSTM

    keras.utils.set_random_seed(1)
    layer = SLSTM(UNITS, num_steps=STEPS, dtype=precision, **FORMS[form])
    layer.build([None, None, UNITS])
    return layer, tf.random.normal([BATCH, LENGTH, UNITS]), tf.ones([BATCH, LENGTH], "bool")


if __name__ == "__main__":
    raise SystemExit(main())
