"""Creates models and batches, and times training steps, for benchmarks.scaling."""

import time

import keras
import numpy as np
import tensorflow as tf

from benchmarks.random_batches import lm_batch, masked_batch
from tfreps._src.models.sizes import ELMO
from tfreps.models import BertEncoder, BertPretrainer, BiLM, BiLMPretrainer
from tfreps.optimizers import FusedAdam, TF1Adagrad, build_optimizer

VOCABULARY, NEGATIVES = 8000, 1024
BILM = "elmo_small"
BERT = {"hidden_dim": 256, "num_layers": 4, "num_heads": 4, "max_sequence_length": 64}
TOKENS = {"bilm": 20, "bert": 64}  # kind of model -> number of tokens per row
MASKED = 10  # number of masked tokens per text
UNTIMED_STEPS = 3


def make(name, rows, strategy):
    """Returns a model, compiled in the scope of the strategy, and an infinite dataset."""
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    with strategy.scope():
        if name == "bilm":
            bilm = BiLM(**ELMO[BILM], dropout=0.1)
            model = BiLMPretrainer(bilm, VOCABULARY, num_sampled=NEGATIVES, batch_size=rows)
            table = rng.integers(1, 257, (VOCABULARY, bilm.max_characters), dtype="int32")
            model.set_character_table(table)
            optimizer = TF1Adagrad()
        else:
            model = BertPretrainer(BertEncoder(vocabulary_size=VOCABULARY, **BERT))
            optimizer = FusedAdam(1e-4, global_clipnorm=1.0)
        model.compile(optimizer, jit_compile=False)
        build_optimizer(model)
    shape = rows, TOKENS[name]
    if name == "bilm":
        batches = [lm_batch(rng, shape, VOCABULARY) for _ in range(8)]
    else:
        batches = [masked_batch(rng, shape, MASKED, VOCABULARY) for _ in range(8)]
    stacked = {key: np.stack([batch[key] for batch in batches]) for key in batches[0]}
    return model, tf.data.Dataset.from_tensor_slices(stacked).repeat()


def seconds_per_step(loop, data, steps):
    """Returns the median time of a training step in seconds."""
    ends = []

    def note(step, logs):
        float(next(iter(logs.values())))  # reading a value waits until the step has finished
        ends.append(time.perf_counter())

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=note)
    loop.fit_epoch(data, steps + UNTIMED_STEPS, [callback], 1)
    return float(np.median(np.diff(ends)[UNTIMED_STEPS - 1 :]))
