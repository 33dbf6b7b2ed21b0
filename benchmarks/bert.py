"""Measures the tokens per second of BERT, and compares them with those of other libraries.

    make peers
    python -m benchmarks.bert --torch-python .venv-peers/torch/bin/python \\
        --keras-hub-python .venv-peers/keras_hub/bin/python

The models have random weights and published shapes. Each row runs in its own process. Each other
library runs in another process and alternates with tfreps every few batches, so that other load on
the machine slows both; all use two threads. The number in parentheses is the median speed of tfreps
divided by that of the other library; "tokens/s" and "spread" (half the distance between the
quartiles) are from the calls that alternate with the library that is measured last. The other
libraries are the BERT of transformers in PyTorch, OpenVINO and ONNX Runtime, and that of KerasHub.
In bfloat16 rows, all compute in bfloat16 (PyTorch under autocast); ONNX Runtime has no bfloat16 on
CPUs.

Encoding calls the function that `tfreps export` writes. Encoding and training use texts without
padding. Training consists of masked-LM steps with Adam on texts of 128 tokens, of which 20 are
masked, without next-sentence prediction. Fine-tuning trains a classifier with two labels on the
first 3 layers, on texts as long as those of hotel_reviews. tfreps reads the texts in the batches of
`tfreps train-classifier`. Another library reads them in batches of 32, padded to the longest text
of the batch; "by length" means that the texts are sorted by length first. Padding does not count as
tokens. Steps of training are repeated a third as often as --repeats, and epochs of fine-tuning a
twelfth. The tokenizer rows split the help topics of the standard library into WordPieces inside
tf.data, unchanged or with accents in every sixth line, and count pieces instead of tokens. They
are compared with FastBertTokenizer of tensorflow-text, which runs in the same process, and with the
library tokenizers; each uses one thread.
"""

import sys

from benchmarks.random_berts import SHAPES
from benchmarks.review_lengths import random_texts
from benchmarks.runner import THREADS, Peer, run_rows
from benchmarks.topics_text import lines, pieces

PYTHONS = {"torch_python": "transformers", "keras_hub_python": "keras-hub"}
MASKED = 20
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
# Name of a row -> (function, shape, texts, tokens of a text, precision).
ROWS = {
    "base-8x128-float32": ("encode", "base", 8, 128, "float32"),
    "base-8x128-bfloat16": ("encode", "base", 8, 128, "bfloat16"),
    "6x384-8x128-float32": ("encode", "6x384", 8, 128, "float32"),
    "6x384-1x128-float32": ("encode", "6x384", 1, 128, "float32"),
    "6x384-1x16-float32": ("encode", "6x384", 1, 16, "float32"),
    "6x384-8x128-bfloat16": ("encode", "6x384", 8, 128, "bfloat16"),
    "6x384-1x128-bfloat16": ("encode", "6x384", 1, 128, "bfloat16"),
    "6x384-1x16-bfloat16": ("encode", "6x384", 1, 16, "bfloat16"),
    "mlm-32x128-float32": ("train", "6x384", 32, 128, "float32"),
    "mlm-32x128-bfloat16": ("train", "6x384", 32, 128, "bfloat16"),
    "reviews-float32": ("tune", "6x384", 384, None, "float32"),
    "reviews-bfloat16": ("tune", "6x384", 384, None, "bfloat16"),
    "wordpiece": ("cut", "base", 80000, False),
    "wordpiece-accents": ("cut", "base", 80000, True),
}


def main(argv=None):
    return run_rows(sys.modules[__name__], argv, repeats=24, pythons=PYTHONS)


def peers_of(task, shape, texts, length, precision):
    """Returns a dict from the names of the other libraries to their calls.

    The job that each gets contains the arguments of this function, the number of threads, and
    `by_length`: whether texts of fine-tuning are sorted by length.
    """
    found, job = {}, {"task": task, "shape": SHAPES[shape], "texts": texts, "length": length}
    job |= {"precision": precision, "threads": THREADS}
    engines = {"torch": "PyTorch", "openvino": "OpenVINO", "onnxruntime": "ONNX Runtime"}
    for by_length in (False, True) if task == "tune" else (False,):
        suffix, given = " by length" * by_length, {**job, "by_length": by_length}
        for engine, name in engines.items():
            trains = engine == "torch" or task == "encode"
            if trains and (engine != "onnxruntime" or precision == "float32"):
                found[name + suffix] = Peer("torch_python", "transformers", (engine, given))
        found["KerasHub" + suffix] = Peer("keras_hub_python", "keras_hub", (given,))
    return found


def encode(shape, texts, length, precision, run):
    """Encodes a batch as exports do."""
    import keras
    import numpy as np
    import tensorflow as tf

    from tfreps._src.export.stored_weights import StoredWeights
    from tfreps.models import BertEncoder

    keras.config.set_dtype_policy(POLICIES[precision])
    encoder = BertEncoder(**SHAPES[shape], pooler=False)
    encoder({"token_ids": tf.ones([1, 4], "int32")})
    rng = np.random.default_rng(0)
    for weight in encoder.trainable_weights:
        # TensorFlow would remove a bias of 0, and would then fuse no operations.
        if len(weight.shape) == 1:
            weight.assign(weight + rng.normal(0.0, 0.02, weight.shape))
    weights = StoredWeights([encoder])
    vectors = weights.shared(lambda ids: encoder({"token_ids": ids})["sequence_output"])
    spec = tf.TensorSpec([None, None], "int32", name="ids")
    encode = weights.trace(lambda ids: {"y": tf.cast(vectors(ids), "float32")}, spec)
    ids = tf.constant(rng.integers(5, 30000, [texts, length]), "int32")
    peers = peers_of("encode", shape, texts, length, precision)
    return run.cells(lambda: encode(ids=ids)["y"].numpy(), texts * length, peers)


def train(shape, texts, length, precision, run):
    """Runs one step of masked-LM training."""
    import keras
    import numpy as np

    from tfreps.models import BertEncoder, BertPretrainer
    from tfreps.optimizers import FusedAdam

    keras.config.set_dtype_policy(POLICIES[precision])
    model = BertPretrainer(BertEncoder(**SHAPES[shape], pooler=False), next_sentence=False)
    model.compile(FusedAdam(1e-4))
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 30000, [texts, length]).astype("int32")
    positions = np.sort(rng.permuted(np.tile(np.arange(length), (texts, 1)), axis=1)[:, :MASKED])
    features = {"token_ids": ids, "masked_positions": positions.astype("int32")}
    features["masked_ids"] = np.take_along_axis(ids, positions, 1)
    features["masked_weights"] = np.ones(positions.shape, "float32")
    peers = peers_of("train", shape, texts, length, precision)
    return run.cells(lambda: model.train_on_batch(features), texts * length, peers, fewer=3)


def tune(shape, texts, length, precision, run):
    """Fine-tunes a classifier for one epoch."""
    import keras
    import tensorflow as tf

    from tfreps.data import SequenceBatches
    from tfreps.models import BertEncoder, Classifier
    from tfreps.optimizers import FusedAdam

    keras.config.set_dtype_policy(POLICIES[precision])
    sizes = SHAPES[shape]
    bert = BertEncoder(**{**sizes, "num_layers": min(sizes["num_layers"], 3)}, pooler=False)
    model = Classifier(bert, ["bad", "good"], pooling="mean_max")
    model.compile(FusedAdam(1e-4))
    tokens = [list(map(str, text)) for text in random_texts(texts, sizes["vocabulary_size"])]
    labels = [number % 2 for number in range(texts)]

    def ids(pieces):
        numbers = tf.strings.to_number(tf.where(pieces == "", "0", pieces), tf.int32)
        return {"token_ids": numbers}

    batches = SequenceBatches(tokens, labels, ids, 2048, batch_size=32, shuffle=True)
    elements = list(batches.dataset())

    def epoch():
        for element in elements:
            model.train_on_batch(*element)

    peers = peers_of("tune", shape, texts, length, precision)
    return run.cells(epoch, batches.num_tokens, peers, fewer=12)


def cut(shape, texts, accents, run):
    """Tokenizes all texts once."""
    import itertools

    import tensorflow as tf
    import tensorflow_text

    from tfreps.text import WordPieceTokenizer

    text = [line.strip() for line in lines()]
    special = WordPieceTokenizer.SPECIAL_TOKENS
    ours = WordPieceTokenizer(pieces(SHAPES[shape]["vocabulary_size"], special))
    theirs = tensorflow_text.FastBertTokenizer(
        ours.vocabulary, lower_case_nfd_strip_accents=True, token_out_type=tf.int32
    )

    if accents:
        text = [s if n % 6 else s.replace("e", "é") for n, s in enumerate(text)]

    again = list(itertools.islice(itertools.cycle(text), texts))

    def reader(cut):
        dataset = tf.data.Dataset.from_tensor_slices(again).batch(64).map(cut)
        return lambda: [ids.flat_values.shape[0] for ids in dataset]

    call, peers = reader(ours.graph(core_ops=False)), {"TensorFlow Text": reader(theirs.tokenize)}
    peers["tokenizers"] = Peer("torch_python", "tokenizers", (list(ours.vocabulary), again))
    return run.cells(call, sum(call()), peers)


if __name__ == "__main__":
    raise SystemExit(main())
