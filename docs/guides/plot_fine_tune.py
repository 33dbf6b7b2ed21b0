"""
Fine-tune ELMo inside ``model.fit``
===================================

`Elmo` is a Keras model that can be a layer of any other. This guide builds a tagger with the
functional API, trains it with a biLM that is fine-tuned at a smaller learning rate than the new
head, and saves and exports the result.
"""

import os
import pathlib
import tempfile

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf

import tfreps
from tfreps.__main__ import main

keras.utils.set_random_seed(3)
folder = pathlib.Path(tempfile.mkdtemp())

# %%
# Data
# ----
#
# ``demo-tags`` writes sentences from Python's docstrings; the tags say which tokens are code.

main(["demo-tags", "--output", str(folder / "tags"), "--max-sentences", "700"])
train = tfreps.data.read_tagged(folder / "tags" / "train.conll")
dev = tfreps.data.read_tagged(folder / "tags" / "dev.conll")
names = ["O", "B-CODE", "I-CODE"]


def arrays(sentences, length=30):
    """Tokens and tag ids as rectangular arrays; `""` and 0 are padding."""
    tokens = np.full([len(sentences), length], "", dtype=object)
    tags = np.zeros([len(sentences), length], "int32")
    for row, sentence in enumerate(sentences):
        cut = min(length, len(sentence.tokens))
        tokens[row, :cut] = sentence.tokens[:cut]
        tags[row, :cut] = [names.index(tag) for tag in sentence.tags[:cut]]
    return tf.constant(tokens.tolist()), tf.constant(tags)


x, y = arrays(train[:240])
x_dev, y_dev = arrays(dev[:60])
weights, weights_dev = (tf.cast(tokens != "", tf.float32) for tokens in (x, x_dev))
print(x.shape, y.shape, int(tf.reduce_sum(weights)), "tokens")

# %%
# A functional model
# ------------------
#
# The input is a batch of tokens, ``[B, T]`` of str. In your own work the biLM is a published or a
# trained one: ``tfreps.models.BiLM.from_preset("elmo_original")`` or ``from_preset("runs/elmo")``.
# Here it is new and small, with one LSTM layer.

bilm = tfreps.models.BiLM(filters=[[1, 16], [3, 32]], units=48, projection_dim=24, num_layers=1)


def make_model(fine_tune):
    tokens = keras.Input([None], dtype="string")
    elmo = tfreps.models.Elmo(bilm, dropout=0.1, fine_tune=fine_tune)
    hidden = keras.layers.Dense(48, "relu")(elmo(tokens)["sequence_output"])
    return keras.Model(tokens, keras.layers.Dense(len(names), "softmax")(hidden))


# %%
# Frozen or fine-tuned
# --------------------
#
# With ``fine_tune=False``, the mix of the layers is trained, but not the biLM. `Elmo` copies the
# given biLM if it has to freeze or unfreeze it, so ``bilm`` itself does not change.

for fine_tune in (False, True):
    model = make_model(fine_tune)
    sizes = [int(np.prod(weight.shape)) for weight in model.trainable_weights]
    print(f"fine_tune={fine_tune}: {sum(sizes):,} trainable weights")

# %%
# A pre-trained part needs smaller steps than a new head. `GroupedOptimizer` gives each part of a
# model its own optimizer; groups are regular expressions over the paths of the variables. Scaling
# gradients instead has almost no effect with Adam.

optimizer = tfreps.optimizers.GroupedOptimizer(
    keras.optimizers.Adam(1e-2), {"token_encoder/|bilstm/": keras.optimizers.Adam(2e-3)}
)
model.compile(
    optimizer, "sparse_categorical_crossentropy", weighted_metrics=["accuracy"], jit_compile=False
)
history = model.fit(
    x,
    y,
    sample_weight=weights,
    validation_data=(x_dev, y_dev, weights_dev),
    batch_size=30,
    epochs=15,
    verbose=0,
).history
print({name: round(values[-1], 3) for name, values in history.items()})

# %%
plt.figure(figsize=(6, 3))
for name in ("loss", "val_loss"):
    plt.plot(range(1, 1 + len(history[name])), history[name], marker="o", label=name)
plt.xlabel("epoch")
plt.ylabel("cross-entropy")
plt.legend()
plt.tight_layout()

# %%
# Save, load, export
# ------------------
#
# Everything that tfreps defines is registered with Keras, so that a ``.keras`` file opens in a
# new process after ``import tfreps.models``.

model.save(folder / "tagger.keras")
loaded = keras.saving.load_model(folder / "tagger.keras")
print(float(tf.reduce_max(tf.abs(loaded(x[:8]) - model(x[:8])))))

# %%
# Every tfreps model can be exported with Keras's ``export``. It needs no signature and no earlier
# call, since each model knows its inputs.

elmo = tfreps.models.Elmo(bilm, dropout=0.0)
elmo.export(os.fspath(folder / "exported"), verbose=False)
served = tf.saved_model.load(os.fspath(folder / "exported"))
ids = tfreps.text.batch_to_ids([["We", "met", "Ada"], ["Ada", "spoke"]])
print(served.serve(ids)["sequence_output"].shape)

# %%
# ``tfreps export`` writes SavedModels that take raw strings instead:
# :doc:`/auto_guides/plot_export`. Without code of your own, ``tfreps train-tagger --elmo MODEL
# --elmo-fine-tune --elmo-learning-rate 1e-4`` trains the same kind of model:
# :doc:`/auto_guides/plot_tagger`.
