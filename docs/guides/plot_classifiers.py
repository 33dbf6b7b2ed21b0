"""
Classifiers and their baselines
===============================

A classifier gives each text a label. This guide sorts paragraphs of documentation by the library
that they come from, starts with the simplest method that works, and then trains two neural
classifiers.

.. image:: /images/drawn/classifier.svg
   :class: drawn
   :alt: Tokens, an encoder, pooling and label scores, with an optional linear model next to them.
"""

import ast
import collections
import importlib.util
import math
import os
import pathlib
import random
import re
import shlex
import tempfile

import matplotlib.pyplot as plt

import tfreps
from tfreps.__main__ import main

folder = pathlib.Path(tempfile.mkdtemp())

# %%
# Data
# ----
#
# Paragraphs of the docstrings of installed libraries, labeled with the library. Paragraphs that
# name their library are left out. Files, not paragraphs, are divided into training, validation and
# test data, so that no file is in two of them.

LABELS = ("keras", "numpy", "scipy", "sklearn", "tensorflow")
MOST = {"train": 2000, "validation": 500, "test": 500}  # paragraphs per label


def paragraphs(path):
    """Yields the paragraphs of the docstrings of a source file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                yield " ".join(paragraph.split())


examples, seen = {part: [] for part in MOST}, set()
for label in LABELS:
    [library] = importlib.util.find_spec(label).submodule_search_locations
    own = {part: [] for part in MOST}
    for number, path in enumerate(sorted(pathlib.Path(library).rglob("*.py"))):
        part = {2: "validation", 3: "test"}.get(number % 4, "train")
        for paragraph in paragraphs(path):
            tokens = re.findall(r"\w+|[^\w\s]", paragraph.lower())
            if 6 <= len(tokens) <= 40 and label not in tokens and paragraph not in seen:
                seen.add(paragraph)
                own[part].append((label, tokens))
    for part, rows in own.items():
        random.Random(0).shuffle(rows)
        examples[part] += rows[: MOST[part]]
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


def train_naive_bayes(rows):
    """Returns a function from tokens to a label."""
    present, texts = collections.defaultdict(collections.Counter), collections.Counter()
    for label, tokens in rows:
        texts[label] += 1
        present[label].update(set(tokens))
    vocabulary = set().union(*present.values())

    def classify(tokens):
        def score(label):
            n = texts[label] + 2
            return math.log(texts[label]) + sum(
                math.log((present[label][word] + 1) / n) for word in set(tokens) & vocabulary
            )

        return max(texts, key=score)

    return classify


def accuracy(classify, rows):
    return sum(classify(tokens) == label for label, tokens in rows) / len(rows)


naive_bayes = train_naive_bayes(examples["train"])
baseline = accuracy(naive_bayes, examples["test"])
print(f"validation files: {accuracy(naive_bayes, examples['validation']):.4f}")
print(f"test files: {baseline:.4f}")

# %%
# How texts are held out decides what the accuracy says. If a tenth of the training paragraphs is
# held out at random, each has neighbors from its own file in the training data, which use the same
# names:

shuffled = random.Random(0).sample(examples["train"], len(examples["train"]))
tenth = len(shuffled) // 10
by_chance = accuracy(train_naive_bayes(shuffled[tenth:]), shuffled[:tenth])
print(f"a tenth of the training paragraphs: {by_chance:.4f}")

# %%
# The figure is higher, but not that of a file that the model has never seen. If your texts come in
# groups, such as files, authors or days, hold out whole groups with ``--validation``. Without it,
# ``train-classifier`` holds out a tenth of the texts at random.
#
# A TextCNN, and a linear model next to it
# ----------------------------------------
#
# ``--encoder`` is ``cnn``, ``bilstm``, ``slstm``, ``transformer``, ``bert``, ``linear`` or
# ``embeddings``. ``--linear-features`` adds the scores of a linear model of words and pairs: on
# small data sets, rare but informative pairs are not learned by the encoder alone. The model of the
# best epoch on the validation data is saved.


def tfreps_command(command):
    """Runs `tfreps COMMAND` in the folder of this guide, as a shell does."""
    os.chdir(folder)
    if main(shlex.split(command)):
        raise SystemExit(f"tfreps {command} failed")


tfreps_command("""
    train-classifier --train train.tsv --validation validation.tsv --test test.tsv --tokens spaces
    --encoder cnn --linear-features --epochs 4 --run runs/cnn
""")

# %%
# The same with the mean of the word vectors:

tfreps_command("""
    train-classifier --train train.tsv --validation validation.tsv --test test.tsv --tokens spaces
    --encoder embeddings --learning-rate 0.003 --epochs 4 --run runs/mean
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
prediction = classifier("returns a new array with the same shape and type")
print(prediction.label, {label: round(p, 2) for label, p in prediction.probabilities.items()})

# %%
# For files, use ``tfreps classify runs/cnn texts.txt``. With two labels,
# ``--threshold validation`` uses the threshold that was best on the validation data, and ``auc`` is
# measured too; ``--monitor val_auc`` selects the epoch by AUC.
# ``--encoder bert --bert MODEL`` fine-tunes a published BERT, ``--config cnn_vectors --vectors
# glove.6B.50d.txt`` reads published word vectors, and ``--elmo elmo_small`` adds the vectors of a
# published biLM.
#
# What the recorded tables say
# ----------------------------
#
# - MR, sentences of movie reviews: naive Bayes on words and word pairs has an accuracy of 0.7792, a
#   TextCNN 0.7576, with GloVe vectors 0.7760 and also with n-grams 0.7917. A fine-tuned
#   all-MiniLM-L6-v2 has 0.8462: pre-training on much text is worth more than a CNN trained on
#   little.
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
