"""
A tagger, from CoNLL columns to a server
========================================

Train a tagger on CoNLL columns, evaluate it, use it in Python, export it, and serve it. The
sentences are from Python's docstrings, and the tags say which tokens are code.

.. image:: /images/drawn/path.svg
   :class: drawn
   :alt: Text files, a training command, a run folder, an export, a SavedModel and a server.
"""

import os
import pathlib
import shlex
import tempfile

import matplotlib.pyplot as plt

import tfreps
from tfreps.__main__ import main

folder = pathlib.Path(tempfile.mkdtemp())


def tfreps_command(command):
    """Runs `tfreps COMMAND` in the folder of this guide, as a shell does."""
    os.chdir(folder)
    if main(shlex.split(command)):
        raise SystemExit(f"tfreps {command} failed")


# %%
# Data
# ----
#
# The files have one token per line with its tag in another column, and blank lines between
# sentences. :doc:`/howto/data_formats` lists the other formats.

tfreps_command("demo-tags --output tags --max-sentences 700")
print((folder / "tags" / "train.conll").read_text()[:160])

# %%
# A baseline
# ----------
#
# A hidden Markov model trains in a second. It is the baseline that a neural tagger has to beat.

tfreps_command("""
    train-hmm --train tags/train.conll --validation tags/dev.conll --test tags/test.conll --scheme
    bio --run runs/hmm
""")

# %%
# Train
# -----
#
# ``--encoder`` selects the encoder: ``bilstm`` (default), ``slstm``, ``transformer``, ``linear``,
# ``bert`` or ``embeddings``. Each token has a word vector and features of its characters
# (``--characters cnn``, the default); ``--elmo elmo_original`` adds the vectors of a published
# biLM, and ``--elmo MODEL`` those of your own. On top is a CRF whose transitions obey the scheme.
# With ``--tokens words``, raw text is split into words and punctuation after training.

tfreps_command("""
    train-tagger --train tags/train.conll --validation tags/dev.conll --test tags/test.conll
    --scheme bio --tokens words --lowercase --min-count 2 --characters cnn --embedding-dim 50
    --units 48 --learning-rate 0.01 --batch-size 24 --epochs 6 --run runs/code
""")

# %%
# The run has plots of the curves, the confusion of the tags and the transitions of the CRF.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
plots = sorted((folder / "runs" / "code" / "plots").glob("*.png"))
for axis, path in zip(axes, plots, strict=False):
    axis.imshow(plt.imread(path))
    axis.axis("off")
figure.tight_layout()
print([path.name for path in plots])

# %%
# Evaluate
# --------
#
# Spans are counted as seqeval counts them in its strict mode.

tfreps_command("evaluate runs/code --data tags/test.conll")

# %%
# Use it in Python
# ----------------

tagger = tfreps.load(folder / "runs" / "code")
prediction = tagger("Call get_config before you pass the result to from_config.")
for token, tag, confidence in zip(
    prediction.tokens, prediction.tags, prediction.confidences, strict=True
):
    print(f"{token:12} {tag:7} {confidence:.2f}")
print(prediction.spans)

# %%
# Docstrings differ between installations, so the numbers differ between machines. The Keras model
# is ``tagger.model``. For files, use ``tfreps tag runs/code text.txt --output-format json``.
#
# Export
# ------
#
# An export is a SavedModel that takes raw strings and needs only TensorFlow. Each export is a new
# version in its folder.

tfreps_command("export runs/code --output exports/code")
tfreps_command('predict exports/code "Use numpy.dot when both arguments are arrays."')

# %%
# Serve
# -----
#
# ``tfreps serve`` supports TensorFlow Serving's gRPC and REST protocols; ``--try`` sends a request
# over both and ends. It is for development, tests and small installations. In production, use the
# same folder with ``tensorflow/serving``: :doc:`/auto_guides/plot_export`.

tfreps_command("""
    serve exports/code --rest-port 0 --grpc-port 0
    --try "Call get_config before you pass the result to from_config."
""")

# %%
# ``tfreps serve exports/code --page`` adds a web page on which the models can be tried. For an
# export that was written with ``--explain``, it shows the k best paths, marginals and attention
# maps.
#
# .. image:: /images/server_page.png
#    :alt: The page of the server: a sentence, its tags with confidences, and the best paths.
#
# Reach published quality
# -----------------------
#
# The options above are for little data and few seconds. For your own data, begin without them, and
# with word vectors of your language, all of which are then known to the model: ``train-tagger
# --train FILE --validation FILE --scheme bioes --vectors glove.6B.50d.txt``. On CoNLL-2003, this
# has an F1 of 0.944 on the development data (``--config bilstm_vectors``: 0.9445 ±
# 0.0020). ``--encoder bert --bert MODEL`` fine-tunes a published BERT.
#
# On Resume NER (Chinese CVs, BMES over characters) a BiLSTM with a CRF has a token F1 of 0.9625 ±
# 0.0009 over three seeds, where the published one has 0.9570; entity F1 is 0.9349 ± 0.0033. A
# linear CRF on character features, trained by the same command with ``--encoder linear``, has an
# entity F1 of 0.9428 ± 0.0021: show the baseline next to every table.
# :doc:`/auto_guides/plot_tables` says how to reproduce it.
