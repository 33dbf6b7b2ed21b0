"""
Classifiers and their baselines
===============================

A classifier gives each text a label. This guide sorts sentences of documentation by the library
that they come from, starts with the simplest method that works, and then trains two neural
classifiers.

.. image:: /images/drawn/classifier.svg
   :class: drawn
   :alt: Tokens, an encoder, pooling and label scores, with an optional linear model next to them.
"""

import ast
import collections
import math
import os
import pathlib
import re
import shlex
import sysconfig
import tempfile

import matplotlib.pyplot as plt

import tfreps
from tfreps.__main__ import main

folder = pathlib.Path(tempfile.mkdtemp())

# %%
# Data
# ----
#
# Sentences of docstrings of the standard library, labeled with the package that they are about.
# Files, not sentences, are divided into training and test data, so that no file is in both.

LABELS = ("asyncio", "email", "tkinter", "unittest")
stdlib = sysconfig.get_paths()["stdlib"]
examples, seen = {"train": [], "test": []}, set()


def paragraphs(path):
    """Yields the paragraphs of the docstrings of a source file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                yield " ".join(paragraph.split())


for label in LABELS:
    files = sorted(pathlib.Path(stdlib, label).rglob("*.py"))
    for number, path in enumerate(files):
        for paragraph in paragraphs(path):
            tokens = re.findall(r"\w+|[^\w\s]", paragraph.lower())
            if 6 <= len(tokens) <= 40 and label not in tokens and paragraph not in seen:
                seen.add(paragraph)
                examples["test" if number % 4 == 3 else "train"].append((label, tokens))
for part, rows in examples.items():
    (folder / f"{part}.tsv").write_text("".join(f"{y}\t{' '.join(x)}\n" for y, x in rows))
    print(part, dict(collections.Counter(label for label, _ in rows)))

# %%
# The baseline
# ------------
#
# Naive Bayes over the presence of words takes a dozen lines. A neural classifier has to beat it;
# on small data sets, many published ones do not. (On FDU-MTL, six seconds of naive Bayes reach
# the average of the published BiLSTM.)

present, texts = collections.defaultdict(collections.Counter), collections.Counter()
for label, tokens in examples["train"]:
    texts[label] += 1
    present[label].update(set(tokens))
vocabulary = set().union(*present.values())


def naive_bayes(tokens):
    def score(label):
        n = texts[label] + 2
        return math.log(texts[label]) + sum(
            math.log((present[label][word] + 1) / n) for word in set(tokens) & vocabulary
        )

    return max(texts, key=score)


right = sum(naive_bayes(tokens) == label for label, tokens in examples["test"])
baseline = right / len(examples["test"])
print(f"naive Bayes: {baseline:.4f} of {len(examples['test'])} test texts")

# %%
# A TextCNN, and a linear model next to it
# ----------------------------------------
#
# ``--encoder`` is ``cnn``, ``bilstm``, ``slstm``, ``transformer``, ``bert``, ``linear`` or
# ``embeddings``. ``--linear-features`` adds the scores of a linear model of words and pairs: on
# small data sets, rare but informative pairs are not learned by the encoder alone. The validation
# texts are a tenth of the training texts, drawn by class, and the model of the best epoch on them
# is saved.


def tfreps_command(command):
    """Runs `tfreps COMMAND` in the folder of this guide, as a shell does."""
    os.chdir(folder)
    if main(shlex.split(command)):
        raise SystemExit(f"tfreps {command} failed")


tfreps_command("""
    train-classifier --train train.tsv --test test.tsv --encoder cnn --num-filters 32
    --embedding-dim 50 --linear-features --epochs 4 --learning-rate 0.003 --run runs/cnn
""")

# %%
# The same with mean pooling over the word vectors alone:

tfreps_command("""
    train-classifier --train train.tsv --test test.tsv --encoder embeddings --pooling mean
    --embedding-dim 50 --epochs 6 --learning-rate 0.01 --run runs/mean
""")

# %%

results = {
    name: tfreps.runs.RunFolder.open(folder / "runs" / name).results() for name in ("cnn", "mean")
}
scores = {"naive Bayes": baseline}
scores |= {name: found["test"]["accuracy"] for name, found in results.items()}
plt.figure(figsize=(5, 2.6))
plt.barh(list(scores), list(scores.values()), color=["0.6", "C0", "C1"])
plt.xlabel("test accuracy")
plt.xlim(0, 1)
plt.tight_layout()

# %%
# Use it in Python
# ----------------

classifier = tfreps.load(folder / "runs" / "cnn")
prediction = classifier("returns the payload of the message as a list of headers")
print(prediction.label, {label: round(p, 2) for label, p in prediction.probabilities.items()})

# %%
# For files, use ``tfreps classify runs/cnn texts.txt``. With two labels,
# ``--threshold validation`` uses the threshold that was best on the validation data, and ``auc`` is
# measured too; ``--monitor val_auc`` selects the epoch by AUC.
# ``--encoder bert --bert hf://google-bert/bert-base-uncased`` fine-tunes a published BERT, and
# ``--elmo elmo_small`` adds the vectors of a published biLM.
#
# What the recorded tables say
# ----------------------------
#
# - FDU-MTL, mean accuracy over eight domains: logistic regression on TF-IDF has 0.8731, an S-LSTM
#   with attention, its own vectors and linear features 0.8653, and the published S-LSTM 0.8566.
#   The baseline is the method to beat.
# - Hotel reviews (Chinese): a TextCNN with its own vectors and linear features has an accuracy of
#   0.9310 and logistic regression 0.9250. A BERT of 3 blocks with n-grams has an accuracy of 0.9320
#   and an AUC of 0.9802; the baseline has an AUC of 0.9817.
#
# With one seed and 400 test texts, the standard error is near 0.018, so report means over data
# sets and seeds. :doc:`/reference/files/results` has all rows, and
# :doc:`/auto_guides/plot_tables` has the commands.
