"""
Train ELMo on your own text
===========================

A bidirectional language model learns from plain text in UTF-8 with one tokenized sentence per line.
This guide builds a corpus and a vocabulary, trains a biLM, measures its perplexity and searches for
neighbors of a word. The text is Python's own documentation, which every installation has.
"""

import json
import os
import pathlib
import shlex
import tempfile

import matplotlib.pyplot as plt

from tfreps.__main__ import main

folder = pathlib.Path(tempfile.mkdtemp())


def tfreps_command(command):
    """Runs `tfreps COMMAND` in the folder of this guide, as a shell does."""
    os.chdir(folder)
    if main(shlex.split(command)):
        raise SystemExit(f"tfreps {command} failed")


# %%
# Text
# ----
#
# Your own text needs single spaces between its tokens; ``tfreps tokenize`` splits raw text in the
# same way as a later export does. ``demo-corpus`` writes training shards, a validation file and a
# test file.

tfreps_command("demo-corpus --output corpus --max-tokens 40000 --shards 2")
print((folder / "corpus" / "test.txt").read_text().split("\n")[0])

# %%
# Vocabulary
# ----------
#
# The vocabulary contains the tokens that can be *predicted*, by decreasing count, after the special
# tokens ``<S>``, ``</S>`` and ``<UNK>``. The model *reads* characters, so a word outside the
# vocabulary still has its own vector.

tfreps_command("build-vocabulary corpus/train-*.txt --output vocabulary.txt --min-count 4")

# %%
# Training
# --------
#
# ``--size`` names the size of the model: ``elmo_tiny`` for a laptop, ``elmo_small``,
# ``elmo_medium`` and ``elmo_original`` as published. Other flags override individual sizes. Each
# row of a batch is a stream of text that continues from batch to batch, in the order of bilm-tf,
# and the loss is a sampled softmax in each direction.
#
# This run takes 60 updates. The demonstration ``make demo`` takes 600 with the same command.

tfreps_command("""
    pretrain-elmo --size elmo_tiny --units 64 --projection-dim 32 --train corpus/train-*.txt
    --validation corpus/validation.txt --vocabulary vocabulary.txt --num-sampled 256
    --batch-size 16 --steps 60 --evaluate-every 20 --log-every 10 --optimizer adam
    --learning-rate 0.01 --run runs/elmo
""")

# %%
# The run folder contains the options, the vocabulary, the best model, TensorBoard logs and
# ``results.json`` (:doc:`/reference/formats`), and checkpoints until training ends. A killed run
# continues with ``tfreps pretrain-elmo --run runs/elmo --resume``; with ``--deterministic`` the
# resumed run is bit-identical to an uninterrupted one (:doc:`/explanation/resumption`).

print(sorted(path.name for path in (folder / "runs" / "elmo").iterdir()))
history = (folder / "runs" / "elmo" / "logs" / "history.jsonl").read_text().splitlines()
rows = [json.loads(line) for line in history]
print(rows[-1])

# %%
# The curve shows the perplexity on the validation text, over the full softmax. The training loss is
# computed with the sampled softmax and dropout, so the two are not comparable.

key = "perplexity/mean"
points = [(row["step"], row[key]) for row in rows if row["run"] == "validation" and key in row]
plt.figure(figsize=(6, 3))
plt.plot(*zip(*points, strict=True), marker="o")
plt.xlabel("updates")
plt.ylabel("validation perplexity")
plt.yscale("log")
plt.tight_layout()

# %%
# Perplexity on held-out text
# ---------------------------
#
# ``evaluate-lm`` computes ``exp`` of the mean negative log-likelihood per predicted token over
# the full softmax, for each direction and their mean. No token is dropped at the end of the text,
# and each sentence starts from the model's fixed state, so that the result does not depend on the
# batch size. ``--carry-state --batch-size N`` measures as bilm-tf does. ``--unigram-from`` adds a
# baseline: the perplexity of the token frequencies alone.

tfreps_command("evaluate-lm runs/elmo --text corpus/test.txt --unigram-from corpus/train-*.txt")

# %%
# Neighbors in context
# ---------------------
#
# Two occurrences of a word are compared by the cosine of their vectors. After 60 updates the list
# is coarse; the command is the same for a fully trained model.

tfreps_command("neighbors runs/elmo --text corpus/test.txt --word value")

# %%
# Next steps
# ----------
#
# - ``tfreps embed runs/elmo sentences.txt --output vectors.hdf5`` writes vectors.
# - ``tfreps train-tagger --elmo runs/elmo`` and ``train-classifier --elmo runs/elmo`` use the
#   model.
# - ``tfreps convert runs/elmo --output published --output-format bilm-tf`` writes files that
#   bilm-tf and AllenNLP read.
# - ``tfreps pretrain-elmo --init`` continues on new text, from HDF5 weights, a training folder of
#   bilm-tf or an earlier run.
#
# **How good it gets.** ``python -m benchmarks.wikitext2`` trains a biLM of 5.4 million weights on
# 90% of WikiText-2's validation text for six epochs at bilm-tf's settings. On the rest, counted
# as bilm-tf counts, three seeds reached a perplexity of 173.0, 176.8 and 173.9 (mean 174.6);
# bilm-tf reached 175.4. Over all tokens, which bilm-tf does not report, the mean is 180.1. The
# whole program used 0.45 times the machine work of bilm-tf: 67,400 instead of 148,300 seconds
# times GFLOP/s.
#
# **Resets.** Training carries the LSTM state on, as bilm-tf does. A model that is trained only on
# carried states can perform poorly when a sentence starts from a zero state. Therefore, a row
# starts a batch from the model's fixed state with a probability of 0.01
# (``--reset-probability``); 0 trains as bilm-tf does.
