"""
S-LSTM and the paper's study
============================

The Sentence-State LSTM (Zhang, Liu and Song, 2018) reads all words of a sentence at the same
time, in a fixed number of steps. In each step a word exchanges its state with its neighbors and
with a node for the whole sentence.

.. image:: /images/drawn/slstm.svg
   :class: drawn
   :alt: In each step every word reads itself, its neighbors and the sentence node.
"""

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf

import tfreps
from tfreps.models import sizes

keras.utils.set_random_seed(5)

# %%
# The layer and the encoder
# -------------------------
#
# `SLSTM` is the layer, and `SLSTMEncoder` puts it on a `TokenEmbedder`. Unless
# ``num_sentence_nodes=0``, the first sentence node is the ``pooled_output``.

embedder = tfreps.models.TokenEmbedder(vocabulary_size=50, embedding_dim=24)
encoder = tfreps.models.SLSTMEncoder(embedder, units=24, num_steps=3)
ids = tf.constant([[3, 9, 4, 7, 12, 5, 8, 2, 6], [3, 9, 4, 0, 0, 0, 0, 0, 0]])
out = encoder({"token_ids": ids})
print({name: out[name].shape for name in ("sequence_output", "pooled_output")})

# %%
# The result of a sentence does not depend on the batch: tfreps averages over the real words, while
# the published code averages over the padded length.

alone = encoder({"token_ids": ids[1:, :3]})
print(float(tf.reduce_max(tf.abs(alone["pooled_output"] - out["pooled_output"][1:]))))

# %%
# How far does a word see?
# ------------------------
#
# This depends on the number of steps and the window. The figure shows how much each output changes
# when the word in the middle is replaced: without a sentence node, information travels one window
# per step; with one, it reaches every word through the sentence node.


def changes(num_steps, window, num_sentence_nodes):
    model = tfreps.models.SLSTMEncoder(
        embedder,
        units=24,
        num_steps=num_steps,
        window=window,
        num_sentence_nodes=num_sentence_nodes,
    )
    other = tf.constant([[3, 9, 4, 7, 30, 5, 8, 2, 6]])
    a, b = (model({"token_ids": x})["sequence_output"] for x in (ids[:1], other))
    return tf.norm(a - b, axis=-1)[0].numpy()


settings = [(1, 1, 0), (2, 1, 0), (3, 1, 0), (3, 2, 0), (4, 1, 1)]
table = np.array([changes(*setting) for setting in settings])
print(np.round(table, 4))

plt.figure(figsize=(6, 2.8))
plt.imshow(np.log10(table + 1e-9), cmap="viridis", vmin=-7, aspect="auto")
plt.yticks(
    range(len(settings)), [f"{s} steps, window {w}, {n} nodes" for s, w, n in settings], fontsize=8
)
plt.xticks(range(9), range(1, 10))
plt.xlabel("word (the fifth is replaced)")
plt.colorbar(label="log10 of the change")
plt.tight_layout()

# %%
# With the paper's initial state (learned, the same for all words), the first step sees only the
# word itself, so T steps see (T - 1) x window words on each side. After one step, the sentence
# node does not depend on the words yet, since it reads their states before that step.
#
# The published variants
# ----------------------
#
# The paper, its authors' code and the ports differ. There is one option for each difference, and
# ``tfreps.models.sizes.SLSTM`` contains the two main forms.

for name, options in sizes.SLSTM.items():
    print(name, options)

# %%
# .. list-table::
#    :header-rows: 1
#
#    * - point
#      - paper, the default here
#      - authors' code
#    * - term of the input gate
#      - ``input_term="gate"``: tanh(...)
#      - ``"embedding"``: the embedding itself
#    * - neighbors, window above 1
#      - ``neighbors="apart"``: a gate for each
#      - ``"summed"`` for each side
#    * - beyond the ends
#      - ``boundary="learned"``
#      - ``"zeros"``
#    * - initial state
#      - ``initial_state="learned"``
#      - ``"embedding"``
#    * - mean over
#      - the words
#      - the padded length (not available: it depends on the batch)
#
# At 300 units the paper's cell has 3,693,000 weights, the released code's 3,242,700.
#
# The study
# ---------
#
# ``python -m benchmarks.slstm_study --data DATA --runs RUNS`` repeats the paper's study in
# outline on the domain camera_photo of FDU-MTL, with its own vectors, one seed, 150 units and 400
# test texts (standard error 0.017). The recorded rows:

rows = {  # accuracy and seconds of the fastest epoch on one core, 172,634 tokens
    "TextCNN": (0.8400, 4.7),
    "BiLSTM": (0.8800, 9.5),
    "BiLSTM, 2 layers": (0.8850, 20.6),
    "Transformer, 2 layers": (0.8400, 14.6),
    "S-LSTM, 3 steps": (0.8600, 21.6),
    "S-LSTM, 5 steps": (0.8825, 36.0),
    "S-LSTM, 7 steps": (0.8700, 39.1),
    "S-LSTM, 9 steps": (0.8825, 53.8),
    "S-LSTM, 3 steps, window 3": (0.8900, 38.5),
}
plt.figure(figsize=(6.5, 3.6))
for name, (accuracy, seconds) in rows.items():
    plt.errorbar(seconds, accuracy, 0.017, marker="o", capsize=2)
    plt.annotate(name, (seconds, accuracy), fontsize=7, xytext=(4, 3), textcoords="offset points")
plt.xlabel("seconds per epoch")
plt.ylabel("test accuracy")
plt.xlim(0, 68)
plt.ylim(0.81, 0.92)
plt.tight_layout()

# %%
# With one step the accuracy is 0.4850, since the sentence node does not depend on the words yet.
# From three steps on, no two rows differ by more than two standard errors, and neither a second
# sentence node nor the boundaries nor a wider window changes more than that. A BiLSTM with one
# layer takes half the time of the fastest S-LSTM. With ``--config slstm_paper``, ``train-tagger``
# and ``train-classifier`` use the paper's options.
