"""
ELMo from published weights
===========================

This guide loads a published biLM by name, computes vectors of every layer, mixes them, and writes
the vectors of a whole file to HDF5.

.. code-block:: python

   import tfreps

   bilm = tfreps.models.BiLM.from_preset("elmo_original")  # downloads 374 MB once
   elmo = tfreps.models.Elmo.from_preset("elmo_small", dropout=0.1)  # a layer for `model.fit`
   encode = tfreps.load("elmo_small")  # reads raw text
   print(tfreps.presets.table())  # all names

.. image:: /images/drawn/elmo.svg
   :class: drawn
   :alt: Character ids pass a character CNN, two forward and two backward LSTMs, and a scalar mix.

A published model is a pair of files, ``*_options.json`` and ``*_weights.hdf5``. The model page is
allennlp.org/elmo, archived with AllenNLP. The page states no license for the weights; the code
that they come from, bilm-tf and AllenNLP, is Apache-2.0. A source can also be an address or a
path, in Python and in every command: see :doc:`/howto/presets`.

.. list-table::
   :header-rows: 1

   * - file name begins with
     - parameters
     - note
   * - ``elmo_2x1024_128_2048cnn_1xhighway``
     - 13.6 million
     - 54,402,456 bytes, sha256
       ``747ba97abce8a5f446558369e10bb0f7931437a46867476fdd156f5d7f576229``
   * - ``elmo_2x2048_256_2048cnn_1xhighway``
     - 28.0 million
     - no checksum known
   * - ``elmo_2x4096_512_2048cnn_2xhighway``
     - 93.6 million
     - no checksum known
   * - ``elmo_2x4096_512_2048cnn_2xhighway_5.5B``
     - 93.6 million
     - same sizes, trained on 5.5 billion tokens

This page is built without a network, so the code below reads a small model with random weights in
the same format, from a folder instead of a name. The numbers of bilm-tf, its own 30 test
embeddings, are reproduced to 1e-6.
"""

import os
import pathlib
import shlex
import tempfile

import h5py
import keras
import numpy as np
import tensorflow as tf

import tfreps

keras.utils.set_random_seed(1)
folder = pathlib.Path(tempfile.mkdtemp())

small = tfreps.models.BiLM(filters=[[1, 8], [2, 16], [3, 32]], units=64, projection_dim=16)
small.save_pretrained(folder)
print(sorted(path.name for path in folder.iterdir()))

# %%
# Load the model
# --------------
#
# ``from_pretrained`` takes ``options.json``; the weights are found next to it, or are named by
# ``weights_file=``. The converter is strict: it uses every array of the file once, fills every
# weight once, and compares all shapes.
#
# ``initial_state="warm"`` starts each batch from the state after one fixed sentence. Choose it
# for a downstream model that was trained on the originals' embeddings;
# :doc:`/auto_guides/plot_elmo_state` explains why.

bilm = tfreps.models.BiLM.from_pretrained(folder / "options.json", initial_state="warm")
ids = tfreps.text.batch_to_ids([["I", "have", "a", "dog"], ["That"]])
out = bilm(ids)

print("character ids", ids.shape)
for name in ("layer_outputs", "sequence_output", "mask"):
    print(name, out[name].shape, out[name].dtype.name)

# %%
# ``layer_outputs`` has the token layer first, then each LSTM layer. Padding is zero, and a
# sentence gets the same vectors alone and in any batch. The model also takes strings: sentences,
# which it splits at white space, or tokens ``[B, T]`` with ``""`` for padding.

from_text = bilm(tf.constant(["I have a dog", "That"]))
print(float(tf.reduce_max(tf.abs(from_text["layer_outputs"] - out["layer_outputs"]))))

# %%
# Mix the layers
# --------------
#
# `Elmo` computes ``gamma * sum(softmax(w)[l] * layer[l])`` from one pass of the biLM, for as many
# mixes as a model needs. The weights are trained with the model above it; initially, a mix is the
# mean of the layers.

elmo = tfreps.models.Elmo(bilm, num_output_representations=2, dropout=0.0)
mixed = elmo(ids)
print(len(mixed["elmo_representations"]), mixed["elmo_representations"][0].shape)

mean = tf.reduce_mean(out["layer_outputs"], axis=1)
print(float(tf.reduce_max(tf.abs(mixed["sequence_output"] - mean))))

# %%
# Vectors depend on the context
# -----------------------------
#
# The token layer gives a word the same vector everywhere. The LSTM layers do not.

sentences = tf.constant(["by the river bank", "at the savings bank"])
layers = bilm(sentences)["layer_outputs"]


def cosine(a, b):
    return float(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))


for number, name in enumerate(["token layer", "LSTM 1", "LSTM 2"]):
    print(f"{name:12} {cosine(layers[0, number, 3], layers[1, number, 3]):.4f}")

# %%
# A whole file
# ------------
#
# ``tfreps embed`` writes the vectors of every sentence of a file, with one tokenized sentence per
# line, in the HDF5 layout of bilm-tf and AllenNLP. Windows of sentences are written as soon as they
# are complete, so that a killed run continues with ``--resume``. Sentences are batched by length,
# and each distinct token is encoded once.

from tfreps.__main__ import main

(folder / "sentences.txt").write_text("I have a dog\nby the river bank\nThat\n")
os.chdir(folder)
main(
    shlex.split(
        "embed --elmo-config options.json --elmo-weights weights.hdf5 sentences.txt "
        "--output vectors.hdf5"
    )
)
with h5py.File(folder / "vectors.hdf5") as file:
    for name in sorted(file):
        print(name, file[name].shape, file[name].dtype)

# %%
# Use it in Python
# ----------------
#
# `tfreps.load` opens published weights in the same way as models that tfreps has trained, and
# returns NumPy arrays for raw texts.

model = tfreps.load(folder / "options.json")
output = model("I have a dog")
print(output.tokens, output.vectors.shape)

# %%
# Where to go from here: :doc:`/auto_guides/plot_fine_tune` puts `Elmo` into a Keras model,
# :doc:`/coming_from/allennlp` and :doc:`/coming_from/bilm_tf` compare the calls and the numbers.
