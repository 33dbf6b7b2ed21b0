"""Graphs of the catalogue's layers and models, as training, evaluation and exports run them."""

import keras
import tensorflow as tf

from tests.catalogue import CATALOGUE, WORDS, char_cnn, lstm, words_embedder
from tests.catalogue_arrays import signature
from tests.catalogue_entry import B, Entry
from tests.catalogue_transformers import MASKED, MASKED_AXES
from tfreps import models
from tfreps._src.layers.ops.configurable import inner_layers
from tfreps.optimizers import FusedAdam, GroupedOptimizer, LinearWarmup, TF1Adagrad, build_optimizer


def grouped():
    """Returns an optimizer of `tfreps train-tagger`: groups and averages of the weights."""
    rate = LinearWarmup(1e-3, total_steps=9, warmup_steps=3)
    part, rest = (FusedAdam(rate, use_ema=True) for _ in range(2))
    return GroupedOptimizer(rest, {".": part}, global_clipnorm=5.0)


def accumulating(cls):
    """Returns an optimizer of `tfreps pretrain-bert`."""
    rate = LinearWarmup(1e-3, total_steps=9, warmup_steps=3)
    return cls(rate, weight_decay=0.01, global_clipnorm=1.0, gradient_accumulation_steps=2)


OPTIMIZERS = {
    "FusedAdam": FusedAdam,
    "FusedAdam, accumulating": lambda: accumulating(FusedAdam),
    "Lamb": lambda: accumulating(keras.optimizers.Lamb),
    "TF1Adagrad": TF1Adagrad,
    "GroupedOptimizer": grouped,
    "Keras's Adam": keras.optimizers.Adam,
}


def ids(*axes):
    return tf.TensorSpec(axes, "int32")


def crf(**options):
    given = {"tags": ["O", "B-X", "I-X"], "scheme": "bio", **options}
    inputs = {"features": ({"token_ids": WORDS}, "BT")}
    return Entry(models.Tagger, lambda: {"encoder": words_embedder(), **given}, inputs, [])


def of_characters():
    bilm = models.BiLM(**{**char_cnn(), **lstm()})
    return {"bilm": bilm, "vocabulary_size": 11, "num_sampled": 6, "batch_size": B}


# Batches of the models that `fit` trains without a user-defined loss.
BATCHES = {
    models.BiLMPretrainer: lambda model, _: [x for x in model._input_signatures() if "mask" in x],
    models.BertPretrainer: lambda *_: [
        {
            **signature(MASKED, MASKED_AXES),
            **{"masked_ids": ids(None, None), "next_sentence_labels": ids(None)},
            "masked_weights": tf.TensorSpec([None, None], "float32"),
        }
    ],
    models.Classifier: lambda _, x: [(x, ids(None), tf.TensorSpec([None], "float32"))],
    models.Tagger: lambda _, x: [(x, ids(None, None), tf.TensorSpec([None, None], "float32"))],
}
TRAINED = {
    **{name: entry for name, entry in CATALOGUE.items() if entry.cls in BATCHES},
    "Tagger, CRF": crf(),
    "Tagger, CRF under XLA": crf(crf_jit_compile=True),
    "BiLMPretrainer, characters": Entry(
        models.BiLMPretrainer, of_characters, {"batch": ({}, "")}, []
    ),
}


def steps(name, optimizer="FusedAdam", policy=None):
    """Yields the graphs of the steps of `fit`, `evaluate` and `predict` of a model."""
    entry = TRAINED[name]
    model = entry.cls(**entry.options(), dtype=policy)
    model.compile(OPTIMIZERS[optimizer](), jit_compile=False)
    build_optimizer(model)
    (value, axes), *_ = entry.inputs.values()
    for batch in BATCHES[entry.cls](model, signature(value, axes)):
        for part in "train", "test", "predict":
            if part == "predict" and not isinstance(batch, tuple):
                continue  # a pretrainer has no predictions
            getattr(model, f"make_{part}_function")()
            function = getattr(model, f"{part}_function")
            yield trace(lambda batch, function=function: function([batch]), batch)


def gradient_step(name, policy=None):
    """Returns the graph of a call and a step with its gradient, and whether XLA can compile it."""
    entry = CATALOGUE[name]
    layer = entry.make(policy)
    optimizer = FusedAdam()
    optimizer.build(layer.trainable_variables)
    weights = [weight.value for weight in layer.trainable_variables]

    def step(*arguments):
        arrays = dict(zip(entry.inputs, arguments, strict=True))
        with tf.GradientTape() as tape:
            outputs = tf.nest.flatten(entry.call(layer, arrays, training=True))
            loss = sum(tf.reduce_sum(y**2) for y in outputs if y.dtype.is_floating)
        optimizer.apply(tape.gradient(loss, weights), layer.trainable_variables)

    parts = [layer, *(part for _, part in inner_layers(layer))]
    specs = [signature(value, axes) for value, axes in entry.inputs.values()]
    return trace(step, *specs), all(part.supports_jit for part in parts)


def trace(function, *specs):
    """Returns the `GraphDef` of a function and all functions that it calls."""
    traced = tf.function(function, autograph=False).get_concrete_function(*specs)
    return traced.graph.as_graph_def()
