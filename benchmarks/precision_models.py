"""Creates models, batches and training steps, for benchmarks.precision."""

import argparse
import collections
import types

import keras
import numpy as np
import tensorflow as tf

from benchmarks.random_batches import frequent_ids, lm_batch, masked_batch
from tfreps._src.cli.command import Group
from tfreps._src.cli.options import default_values
from tfreps._src.models.sizes import BERT, ELMO
from tfreps.models import (
    BertEncoder,
    BertPretrainer,
    BiLM,
    BiLMPretrainer,
    Classifier,
    Elmo,
    Tagger,
)
from tfreps.optimizers import FusedAdam, TF1Adagrad, build_optimizer
from tfreps.text import batch_to_ids
from tfreps.training.inputs.encoders import make_encoder
from tfreps.training.inputs.read_inputs import EncoderInputs
from tfreps.training.options.encoder_options import labeling_groups

VOCABULARY, NEGATIVES, CLASSES, MASKED_SHARE = 8000, 2048, 9, 0.15
TAGGER_BERT, TAGGER_ELMO = "bert_6x384", "elmo_small"


def training_step(policy, kind, how, rows, length):
    """Returns a function that runs one training step of a new model on a batch `[rows, length]`.

    `kind` is one of elmo, bert, tagger and classifier; `how` its size or options.
    """
    keras.config.set_dtype_policy(policy)
    keras.utils.set_random_seed(1)
    make = {"elmo": make_elmo, "bert": make_bert}.get(kind, make_labeling)
    model, optimizer, batch = make(kind, how, rows, length)
    batch = tf.nest.map_structure(tf.constant, batch)
    model(batch[0] if isinstance(batch, tuple) else batch)
    model.compile(optimizer, jit_compile=False)
    build_optimizer(model)
    step = tf.function(lambda: tf.nest.flatten(model.train_step(batch))[0])
    return lambda: step().numpy()


def make_elmo(kind, size, rows, length):
    """Returns the pretrainer of a biLM, its optimizer, and a batch in the form of `LMBatches`."""
    bilm = BiLM(**ELMO[size], dropout=0.1)
    model = BiLMPretrainer(bilm, VOCABULARY, num_sampled=NEGATIVES, batch_size=rows)
    rng = np.random.default_rng(1)
    model.set_character_table(random_characters(rng, VOCABULARY))
    return model, TF1Adagrad(), lm_batch(rng, (rows, length), VOCABULARY)


def make_bert(kind, size, rows, length):
    """Returns a BERT pretrainer, its optimizer, and a batch in the form of `MaskedLMBatches`."""
    model = BertPretrainer(BertEncoder(VOCABULARY, **BERT[size]))
    rng, num_masked = np.random.default_rng(1), round(MASKED_SHARE * length)
    batch = masked_batch(rng, (rows, length), num_masked, VOCABULARY)
    return model, FusedAdam(1e-4, global_clipnorm=1.0), batch


def make_labeling(kind, how, rows, length):
    """Returns a tagger or classifier, its optimizer, and a batch of `SequenceBatches`."""
    groups = labeling_groups(kind, {}, Group("output", "", {}))
    defaults = [default_values(group.options) for group in groups]
    options = argparse.Namespace(**{**collections.ChainMap(*defaults), "dropout": 0.5, **how})
    indexer = types.SimpleNamespace(vocabulary_size=VOCABULARY, max_characters=None, words=False)
    inputs = EncoderInputs(indexer, CLASSES)
    if options.elmo:
        bilm = BiLM(**ELMO[TAGGER_ELMO])
        bilm.trainable = options.elmo_fine_tune
        inputs = inputs._replace(elmo=Elmo(bilm, dropout=0.0, fine_tune=options.elmo_fine_tune))
    if options.encoder == "bert":
        bert = BertEncoder(VOCABULARY, **BERT[TAGGER_BERT], pooler=False)
        inputs = inputs._replace(bert=(bert, None))
    rng = np.random.default_rng(1)
    ids = frequent_ids(rng, [rows, length], VOCABULARY)
    features = {"token_ids": ids, "mask": np.ones(ids.shape, bool)}
    if options.elmo:
        features["character_ids"] = random_characters(rng, VOCABULARY)[ids]
    names = [str(number) for number in range(CLASSES)]
    encoder = make_encoder(options, inputs)
    if kind == "tagger":
        model = Tagger(encoder, names, dropout=options.dropout)
    else:
        model = Classifier(encoder, names, dropout=options.dropout)
    y = rng.integers(0, CLASSES, [rows, length] if kind == "tagger" else rows, dtype="int32")
    return model, FusedAdam(1e-3), (features, y, np.ones(rows, "float32"))


def random_characters(rng, count):
    """Returns the character ids of random words of 1 to 10 letters, int32 `[count, 50]`."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return batch_to_ids(
        [["".join(rng.choice(letters, rng.integers(1, 11))) for _ in range(count)]]
    )[0]
