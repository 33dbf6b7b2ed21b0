"""Measures the speed of ELMo inference and training, also relative to a matrix multiplication.

    python -m benchmarks.elmo
    python -m benchmarks.elmo --only small --repeats 5
    make peers && python -m benchmarks.elmo --bilm-tf-python .venv-peers/tf1/bin/python

The models have random weights and published shapes. The text is Python's documentation, in which
tokens repeat as in other real text. In inference, the two sentence boundaries count among the 25
tokens of a sentence, since they cost as much as other tokens. In training, the tokens of only one
direction are counted. Each row of the table is measured in its own process. "GEMM" is the speed, in
GFLOP/s, of multiplying two 2048 x 2048 float32 matrices (benchmarks/gemm.py), measured before,
between and after the timed batches. "normalized" is tokens per second divided by GEMM, which is
comparable between machines. "peak GiB" is the peak memory, and "distinct" the share of distinct
tokens in a batch. With `--bilm-tf-python`, bilm-tf's graph (benchmarks/peers/bilm_tf.py) runs in
another process and alternates with tfreps, and the ratio is the median speed of tfreps divided by
that of this graph, which always computes in float32.
"""

import itertools
import statistics
import sys
from collections import Counter

from benchmarks.runner import OTHERS, Peer, run_rows
from benchmarks.topics_text import batches_of_tokens, tokens

# Name of a row -> (function, size, rows, tokens per row, precision).
ROWS = {
    "original-32x25-float32": ("embed", "elmo_original", 32, 25, "float32"),
    "original-32x25-bfloat16": ("embed", "elmo_original", 32, 25, "bfloat16"),
    "original-128x25-float32": ("embed", "elmo_original", 128, 25, "float32"),
    "original-128x25-bfloat16": ("embed", "elmo_original", 128, 25, "bfloat16"),
    "original-1x25-float32": ("embed", "elmo_original", 1, 25, "float32"),
    "small-32x25-float32": ("embed", "elmo_small", 32, 25, "float32"),
    "small-32x25-bfloat16": ("embed", "elmo_small", 32, 25, "bfloat16"),
    "train-small-128x20-float32": ("train", "elmo_small", 128, 20, "float32"),
    "train-small-128x20-bfloat16": ("train", "elmo_small", 128, 20, "mixed_bfloat16"),
}
TRAIN_VOCABULARY, TRAIN_NEGATIVES = 4158, 2048
PYTHONS = {"bilm_tf_python": "tensorflow and tf-keras"}


def main(argv=None):
    return run_rows(sys.modules[__name__], argv, repeats=20, pythons=PYTHONS)


def cells(calls, task, size, sentences, length, run):
    """Returns the cells of a row: its normalized speed, and the ratio to bilm-tf's graph."""
    from benchmarks.gemm import normalized

    batches = itertools.cycle(calls)
    call, number = lambda: next(batches)(), sentences * length
    found = normalized(call, run.repeats, number)
    if run.pythons:
        peer = Peer("bilm_tf_python", "bilm_tf", (task, size, sentences, length))
        found[OTHERS] = run.cells(call, number, {"bilm-tf": peer})[OTHERS]
    return found


def embed(size, sentences, length, precision, run):
    """Computes all layers for batches of sentences of equal length."""
    import tensorflow as tf

    from tfreps._src.models.sizes import ELMO
    from tfreps.models import BiLM
    from tfreps.text import batch_to_ids

    model = BiLM(**ELMO[size], dtype=precision)
    graph = tf.function(
        lambda ids: model(ids)["layer_outputs"],
        input_signature=[tf.TensorSpec([None, None, 50], "int32")],
    )
    given = batches_of_tokens(sentences, length - 2, run.repeats + 3)
    calls = [
        lambda ids=ids: graph(ids).numpy() for ids in map(tf.constant, map(batch_to_ids, given))
    ]
    share = statistics.mean(len({t for s in batch for t in s}) + 2 for batch in given[:20])
    found = cells(calls, "embed", size, sentences, length, run)
    return {"distinct": round(share / (sentences * length), 3), **found}


def train(size, sentences, length, precision, run):
    """Runs training steps."""
    import tempfile

    import keras
    import tensorflow as tf

    from tfreps._src.models.sizes import ELMO
    from tfreps.data import LMBatches
    from tfreps.models import BiLM, BiLMPretrainer
    from tfreps.optimizers import TF1Adagrad
    from tfreps.text import Vocabulary

    keras.utils.set_random_seed(1)
    vocabulary = Vocabulary.from_counts(Counter(tokens()), max_size=TRAIN_VOCABULARY)
    model = BiLMPretrainer(
        BiLM(**ELMO[size], dropout=0.1, dtype=precision),
        len(vocabulary),
        num_sampled=min(TRAIN_NEGATIVES, len(vocabulary) - 1),
        batch_size=sentences,
        dtype=precision,
    )
    model.set_character_table(vocabulary.character_table())
    model.compile(optimizer=TF1Adagrad(), jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        words = tokens()
        starts = range(0, len(words), 25)
        file.write("\n".join(" ".join(words[i : i + 25]) for i in starts) + "\n")
        file.flush()
        batches = LMBatches(
            file.name, vocabulary, sentences, length, characters="table", shuffle=True
        ).dataset()
        elements = list(batches.take(run.repeats + 3))
    step = tf.function(model.train_step, input_signature=[batches.element_spec])
    calls = [lambda element=element: step(element)["gradient_norm"].numpy() for element in elements]
    return cells(calls, "train", size, sentences, length, run)


if __name__ == "__main__":
    raise SystemExit(main())
