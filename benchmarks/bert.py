"""Measures the tokens per second of BERT, and compares them with those of other projects.

    make peers
    python -m benchmarks.bert --torch-python .venv-peers/torch/bin/python \\
        --keras-hub-python .venv-peers/keras_hub/bin/python

The models have random weights and published shapes. Each row runs in its own process. Each peer
runs in another process and alternates with tfreps every few batches, so that other load on the
machine slows both. The number in brackets is the median speed of tfreps divided by that of the
peer; "to reach" is its target, where "faster" means the faster peer. With both peers, "tokens/s" is
from the calls that alternate with KerasHub. Transformers uses one or two threads, whichever is
faster.

Encoding and training use texts of 128 tokens without padding. Training consists of masked-LM steps
with Adam; 20 of the 128 tokens are masked, and there is no next-sentence prediction. Fine-tuning
trains a classifier with two labels on the first 3 layers, on texts as long as those of
hotel_reviews. tfreps reads the texts in the batches of `tfreps train-classifier`. A peer reads them
in batches of 32, in the given order and padded to the longest text of the batch. Padding does not
count as tokens. Steps of training are repeated a third as often as --repeats, and epochs of
fine-tuning a twelfth. The tokenizer rows split the help topics of the standard library into
WordPieces inside tf.data, unchanged or with accents in every sixth line, and count pieces instead
of tokens. Their peer is FastBertTokenizer of tensorflow-text, which runs in the same process.
"""

import json
import statistics
import sys

from benchmarks import rows
from benchmarks.in_turns import alternately, in_turns
from benchmarks.review_lengths import random_texts
from benchmarks.topics_text import lines

SHAPES = {
    "base": {"vocabulary_size": 30522, "hidden_dim": 768, "num_layers": 12, "num_heads": 12},
    "aespresso": {"vocabulary_size": 32162, "hidden_dim": 384, "num_layers": 6, "num_heads": 12},
}
PYTHONS = {"torch_python": "transformers", "keras_hub_python": "keras-hub"}
LENGTH, MASKED = 128, 20
FEWER = {"encode": 1, "train": 3, "tune": 12}  # calls that take longer are repeated less often
# name: (task, shape, texts, precision, target ratio to this peer or to the faster one, if any)
ROWS = {
    "base-8x128-float32": ("encode", "base", 8, "float32", (1.15, "keras_hub")),
    "base-8x128-bfloat16": ("encode", "base", 8, "mixed_bfloat16", (1.6, "keras_hub")),
    "aespresso-8x128-float32": ("encode", "aespresso", 8, "float32", (1.4, "keras_hub")),
    "aespresso-8x128-bfloat16": ("encode", "aespresso", 8, "mixed_bfloat16", None),
    "mlm-32x128-float32": ("train", "aespresso", 32, "float32", (1.5, "faster")),
    "mlm-32x128-bfloat16": ("train", "aespresso", 32, "mixed_bfloat16", None),
    "reviews-float32": ("tune", "aespresso", 384, "float32", (3, "faster")),
    "reviews-bfloat16": ("tune", "aespresso", 384, "mixed_bfloat16", None),
    "wordpiece": ("cut", "base", 80000, "float32", (1, "tensorflow_text")),
    "wordpiece-accents": ("cut", "base", 80000, "float32", None),
}


def main(argv=None):
    return rows.run_rows(sys.modules[__name__], ROWS, argv, repeats=24, peers=PYTHONS)


def measure(name, repeats, torch_python=None, keras_hub_python=None):
    """Measures one row: medians over batches, alternating with each peer."""
    task, shape, texts, precision, goal = ROWS[name]
    result = {"row": name, "to_reach": goal, "peers": {}, "ratios": {}}
    if task == "cut":
        size, accents = SHAPES[shape]["vocabulary_size"], name.endswith("accents")
        call, tokens, peer_call = make_cut(size, texts, accents)
        times = alternately({"ours": call, "theirs": peer_call}, repeats, untimed=2)
        return with_figures(result, tokens, *times.values(), "tensorflow_text")
    make = {"encode": make_encode, "train": make_train, "tune": make_tune}[task]
    call, tokens = make(SHAPES[shape], texts, precision)
    repeats = -(-repeats // FEWER[task])
    pythons = {"transformers": torch_python, "keras_hub": keras_hub_python}
    for peer in [name for name, python in pythons.items() if python] or [None]:
        command = None
        if peer:
            sizes = json.dumps(SHAPES[shape])
            command = [pythons[peer], "-m", f"benchmarks.peer_{peer}", task, sizes, str(texts)]
        with_figures(result, tokens, *in_turns(call, repeats, command), peer)
    return result


def with_figures(result, tokens, ours, theirs, peer):
    """Adds the speeds of both sides and their ratio to a result, given the seconds of the calls."""
    result["tokens_per_second"] = tokens / statistics.median(ours)
    if peer:
        result["peers"][peer] = tokens / statistics.median(theirs)
        result["ratios"][peer] = statistics.median(theirs) / statistics.median(ours)
    return result


def make_encode(shape, texts, precision):
    """Returns a function that encodes a batch in a graph, and the number of tokens in the batch."""
    import numpy as np
    import tensorflow as tf

    from tfreps.models import BertEncoder

    encoder = BertEncoder(**shape, dtype=precision)
    ids = np.random.default_rng(0).integers(5, 30000, [texts, LENGTH])
    encode = tf.function(lambda ids: encoder({"token_ids": ids})["sequence_output"])
    ids = tf.constant(ids, "int32")
    return lambda: encode(ids).numpy(), texts * LENGTH


def make_train(shape, texts, precision):
    """Returns a function that runs one step of masked-LM training, and the number of its tokens."""
    import keras
    import numpy as np

    from tfreps.models import BertEncoder, BertPretrainer
    from tfreps.optimizers import FusedAdam

    keras.config.set_dtype_policy(precision)
    model = BertPretrainer(BertEncoder(**shape, pooler=False), next_sentence=False)
    model.compile(FusedAdam(1e-4))
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 30000, [texts, LENGTH]).astype("int32")
    positions = np.sort(rng.permuted(np.tile(np.arange(LENGTH), (texts, 1)), axis=1)[:, :MASKED])
    features = {"token_ids": ids, "masked_positions": positions.astype("int32")}
    features["masked_ids"] = np.take_along_axis(ids, positions, 1)
    features["masked_weights"] = np.ones(positions.shape, "float32")
    return lambda: model.train_on_batch(features), texts * LENGTH


def make_tune(shape, texts, precision):
    """Returns a function that fine-tunes a classifier for one epoch, and the number of tokens."""
    import keras
    import tensorflow as tf

    from tfreps.data import SequenceBatches
    from tfreps.models import BertEncoder, Classifier
    from tfreps.optimizers import FusedAdam

    keras.config.set_dtype_policy(precision)
    bert = BertEncoder(**{**shape, "num_layers": min(shape["num_layers"], 3)}, pooler=False)
    model = Classifier(bert, ["bad", "good"], pooling="mean_max")
    model.compile(FusedAdam(1e-4))
    tokens = [list(map(str, text)) for text in random_texts(texts, shape["vocabulary_size"])]
    labels = [number % 2 for number in range(texts)]

    def ids(pieces):
        numbers = tf.strings.to_number(tf.where(pieces == "", "0", pieces), tf.int32)
        return {"token_ids": numbers}

    batches = SequenceBatches(tokens, labels, ids, 2048, batch_size=32, shuffle=True)
    elements = list(batches.dataset())

    def train():
        for element in elements:
            model.train_on_batch(*element)

    return train, batches.num_tokens


def make_cut(size, texts, accents):
    """Returns a tokenizing function of tfreps, its number of pieces, and one of tensorflow-text."""
    import collections
    import itertools

    import tensorflow as tf
    import tensorflow_text

    from tfreps.text.bert import WordPieceTokenizer

    text = [line.strip() for line in lines()]
    words = collections.Counter(word for line in text for word in line.lower().split())
    characters = sorted({c for line in text for c in line.lower() if not c.isspace()})
    pieces = [*WordPieceTokenizer.SPECIAL_TOKENS, *characters, *(f"##{c}" for c in characters)]
    pieces = list(dict.fromkeys([*pieces, *(word for word, _ in words.most_common(size))]))
    ours = WordPieceTokenizer(pieces[:size])
    theirs = tensorflow_text.FastBertTokenizer(
        ours.vocabulary, lower_case_nfd_strip_accents=True, token_out_type=tf.int32
    )

    if accents:
        text = [s if n % 6 else s.replace("e", "é") for n, s in enumerate(text)]

    def reader(cut):
        again = list(itertools.islice(itertools.cycle(text), texts))
        dataset = tf.data.Dataset.from_tensor_slices(again).batch(64).map(cut)
        return lambda: [ids.flat_values.shape[0] for ids in dataset]

    call = reader(ours.graph(core_ops=False))
    return call, sum(call()), reader(theirs.tokenize)


def print_results(results):
    table = []
    for r in results:
        table.append([r["row"], f"{r['tokens_per_second']:,.0f}"])
        for peer in ("transformers", "keras_hub", "tensorflow_text"):
            found = "-"
            if peer in r["peers"]:
                found = f"{r['peers'][peer]:,.0f} ({r['ratios'][peer]:.2f} x)"
            table[-1].append(found)
        table[-1].append("{} x {}".format(*r["to_reach"]) if r["to_reach"] else "-")
    headings = "row | tokens/s | transformers | KerasHub | TensorFlow Text | to reach"
    rows.print_table(headings, table)


if __name__ == "__main__":
    raise SystemExit(main())
