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

from benchmarks import rows

UNITS, STEPS, BATCH, LENGTH = 300, 7, 32, 30
FORMS = {
    "article": {"initial_state": "zeros", "boundary": "zeros"},
    "paper": {},
}
# Name of a row -> (task, form, precision, normalized speed of the article's code).
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
    return rows.run_rows(sys.modules[__name__], ROWS, argv, repeats=40)


def measure(name, repeats):
    """Measures one row: the median over batches."""
    from benchmarks.gemm import normalized, timed

    task, form, precision, peer = ROWS[name]
    call = {"train": make_train, "encode": make_encode}[task](form, precision)
    timed(call, 3)  # the first calls trace the function and fill the caches
    result = {"row": name, **normalized([call] * repeats, BATCH * LENGTH)}
    return {**result, "ratio_to_article": round(result["normalized"] / peer, 2)}


def make_encode(form, precision):
    """Returns a function that encodes one batch."""
    import tensorflow as tf

    layer, inputs, mask = make_layer(form, precision)
    specs = [tf.TensorSpec([None, None, UNITS]), tf.TensorSpec([None, None], "bool")]
    encode = tf.function(lambda x, mask: layer(x, mask=mask), input_signature=specs)
    return lambda: encode(inputs, mask)[0].numpy()


def make_train(form, precision):
    """Returns a function that runs one training step, as `fit` does."""
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
    return lambda: step().numpy()


def make_layer(form, precision):
    """Returns an SLSTM, a batch of random inputs without padding, and its mask."""
    import keras
    import tensorflow as tf

    from tfreps.layers import SLSTM

    keras.utils.set_random_seed(1)
    layer = SLSTM(UNITS, num_steps=STEPS, dtype=precision, **FORMS[form])
    layer.build([None, None, UNITS])
    return layer, tf.random.normal([BATCH, LENGTH, UNITS]), tf.ones([BATCH, LENGTH], "bool")


def print_results(results):
    table = []
    for r in results:
        speed = r["row"], f"{r['tokens_per_second']:,.0f}", r["gemm_gflops"], r["normalized"]
        table.append([*speed, r["ratio_to_article"], r["peak_memory_GiB"]])
    headings = "row | tokens/s | GEMM | normalized | x the article's | peak GiB"
    rows.print_table(headings, table)


if __name__ == "__main__":
    raise SystemExit(main())
