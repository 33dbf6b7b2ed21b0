"""Small models and batches of unequal size, trained by the programs of the replica tests."""

import keras
import numpy as np
import tensorflow as tf

from tfreps.models import (
    BertEncoder,
    BertPretrainer,
    BiLM,
    BiLMPretrainer,
    BiLSTMEncoder,
    Classifier,
    Elmo,
    SLSTMEncoder,
    Tagger,
    TokenEmbedder,
    TransformerEncoder,
)
from tfreps.optimizers import FusedAdam, GroupedOptimizer, TF1Adagrad, build_optimizer

B, T, V, C = 8, 7, 30, 8
UNEQUAL = [8, 8, 5, 8, 3, 1, 8, 8, 7, 8]  # rows of the batches of one epoch
NUM_STEPS = 50


def ids(rng, rows):
    return rng.integers(1, V, (rows, T)).astype("int32")


def token_features(rng, rows):
    mask = np.arange(T) < rng.integers(1, T + 1, (rows, 1))
    return {"token_ids": ids(rng, rows), "mask": mask}


def tagged(rng, rows):
    tags = rng.integers(0, 2, (rows, T)).astype("int32")
    return token_features(rng, rows), tags, rng.uniform(0.5, 2.0, rows).astype("float32")


def labeled(rng, rows):
    return token_features(rng, rows), rng.integers(0, 2, rows).astype("int32")


def characters(rng, rows):
    given = {"character_ids": rng.integers(1, 200, (rows, T, C)).astype("int32")}
    return given, rng.integers(0, 2, (rows, T)).astype("int32")


def masked(rng, rows):
    shape = rows, 3
    weights = (np.arange(3) < rng.integers(0, 4, (rows, 1))).astype("float32")
    return {
        "token_ids": ids(rng, rows),
        "segment_ids": np.zeros([rows, T], "int32"),
        "masked_positions": rng.integers(0, T, shape).astype("int32"),
        "masked_ids": rng.integers(1, V, shape).astype("int32"),
        "masked_weights": weights,
        "next_sentence_labels": rng.integers(0, 2, rows).astype("int32"),
    }


def lm_batch(rng, rows, with_characters=False):
    batch = {"token_ids": ids(rng, rows), "next_token_id": ids(rng, rows)}
    batch["mask"] = rng.random((rows, T)) < 0.9
    if with_characters:
        batch["tokens_characters"] = rng.integers(1, 200, (rows, T, C)).astype("int32")
    return {**batch, **{f"{key}_reverse": value[:, ::-1].copy() for key, value in batch.items()}}


def lm_characters(rng, rows):
    return lm_batch(rng, rows, with_characters=True)


def embedder():
    return TokenEmbedder(vocabulary_size=V, embedding_dim=6)


def tagger(encoder, **options):
    return Tagger(encoder, ["O", "A"], dropout=0.0, **options)


def bilm_pretrainer(bilm, **options):
    return BiLMPretrainer(bilm, V, batch_size=B, clip_norm=0.3, **options)


def small_bilm(**options):
    return BiLM(filters=[[1, 4], [2, 4]], units=6, projection_dim=4, max_characters=C, **options)


# Adam divides by the size of the gradient. That of the bias of attention keys is 0 and consists of
# rounding (about 1e-9), which the usual epsilon of 1e-7 would enlarge to steps of 1e-4.
EPSILON = 1e-4


def adam():
    return FusedAdam(1e-2, epsilon=EPSILON, global_clipnorm=0.5)


def two_adams():
    return GroupedOptimizer(FusedAdam(1e-2), {"embed": FusedAdam(1e-3)}, global_clipnorm=0.5)


# name -> (function that makes the model, function that makes a batch, optimizer, rows of batches)
MODELS = {
    "tagger": (
        lambda: tagger(BiLSTMEncoder(embedder(), units=5), reduction="sum"),
        tagged,
        adam,
        UNEQUAL,
    ),
    "softmax tagger": (
        lambda: tagger(
            SLSTMEncoder(embedder(), units=6, num_steps=2), use_crf=False, reduction="token_mean"
        ),
        tagged,
        adam,
        UNEQUAL,
    ),
    "elmo tagger": (
        lambda: tagger(Elmo(small_bilm(), dropout=0.0)),
        characters,
        lambda: keras.optimizers.SGD(0.1),
        UNEQUAL,
    ),
    "classifier": (
        lambda: Classifier(BiLSTMEncoder(embedder(), units=5), ["x", "y"], dropout=0.0),
        labeled,
        two_adams,
        UNEQUAL,
    ),
    "transformer classifier": (
        lambda: Classifier(
            TransformerEncoder(
                embedder(),
                hidden_dim=8,
                num_layers=1,
                num_heads=2,
                dropout=0.0,
                attention_dropout=0.0,
            ),
            ["x", "y"],
            class_weights=[1.0, 2.0],
            dropout=0.0,
        ),
        labeled,
        adam,
        UNEQUAL,
    ),
    "bert": (
        lambda: BertPretrainer(
            BertEncoder(
                vocabulary_size=V,
                hidden_dim=8,
                num_layers=2,
                num_heads=2,
                dropout=0.0,
                attention_dropout=0.0,
            )
        ),
        masked,
        lambda: FusedAdam(1e-3, epsilon=EPSILON, global_clipnorm=0.5, weight_decay=0.01),
        UNEQUAL,
    ),
    "bilm": (
        lambda: bilm_pretrainer(
            BiLM(units=6, projection_dim=4, vocabulary_size=V, num_layers=1),
            num_sampled=5,
            tie_embeddings=True,
        ),
        lm_batch,
        lambda: TF1Adagrad(0.2),
        [B],
    ),
    "character bilm": (
        lambda: bilm_pretrainer(small_bilm()),
        lm_characters,
        adam,
        [B],
    ),
}


def batches_of(name, steps=NUM_STEPS):
    """Returns the batches of a model as a `tf.data.Dataset`, always the same ones."""
    _, make, _, rows = MODELS[name]
    rng = np.random.default_rng(7)
    given = [make(rng, rows[step % len(rows)]) for step in range(steps)]
    specs = tf.nest.map_structure(
        lambda array: tf.TensorSpec([None, *array.shape[1:]], array.dtype), given[0]
    )
    # Copies, because TensorFlow does not copy the arrays of a generator, and under a strategy an
    # operation that reuses the memory of its input would change them.
    copies = lambda: (tf.nest.map_structure(np.copy, batch) for batch in given)  # noqa: E731
    dataset = tf.data.Dataset.from_generator(copies, output_signature=specs)
    return dataset.apply(tf.data.experimental.assert_cardinality(steps))


def new_model(name, scope, optimizer=None):
    """Returns a model with fixed initial weights, compiled in the scope of a strategy."""
    make, _, usual, _ = MODELS[name]
    optimizer = optimizer or usual
    keras.utils.set_random_seed(1)
    with scope:
        model = make()
        model.compile(optimizer(), jit_compile=False)
        build_optimizer(model)
    return model
