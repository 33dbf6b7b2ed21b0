"""
Reproduce the tables
====================

Every number in :doc:`/reference/files/results` and on the pages about speed comes from a command.
This guide lists the commands, runs the one that needs no data, and draws the recorded results.
"""

import time

import keras
import matplotlib.pyplot as plt
import tensorflow as tf

# %%
# Speed, with the speed of the machine
# ------------------------------------
#
# Machines differ, and the speed of one machine drifts. Speeds are therefore given with the rate of
# a 2048 x 2048 x 2048 float32 matrix multiplication at that time (GEMM), and compared with another
# project in the same run where that is possible. ``python -m benchmarks.gemm`` measures the rate
# after a warm-up of three seconds; a few multiplications give a rough value:

keras.utils.set_random_seed(8)
a = tf.random.normal([2048, 2048])
for _ in range(3):
    start = time.perf_counter()
    tf.reduce_sum(a @ a).numpy()
    print(f"{2 * 2048**3 / (time.perf_counter() - start) / 1e9:.0f} GFLOP/s")

# %%
# These are the benchmark programs, which need a checkout:
#
# .. code-block:: bash
#
#    python -m benchmarks.gemm
#    python -m benchmarks.elmo --repeats 16
#    python -m benchmarks.taggers --peer-python .venv-peers/torch/bin/python
#    python -m benchmarks.bert --torch-python TORCH --keras-hub-python KERAS_HUB
#    python -m benchmarks.slstm
#    python -m benchmarks.hmm FILE
#    python -m benchmarks.lm_batches
#    python -m benchmarks.serving
#    python -m benchmarks.initial_state FIXTURE
#    python -m benchmarks.bert_parity   # compares numbers with transformers
#
# Quality
# -------
#
# The data sets are not part of the project: pass their folder with ``--data``. A row whose run was
# killed continues when its command is run again, since every training has a run folder.
#
# .. code-block:: bash
#
#    python -m benchmarks.baselines fdu_mtl --data DATA                  # and hotel_reviews
#    python -m benchmarks.pretraining fdu_mtl --data DATA --runs RUNS
#    python -m benchmarks.tables resume_ner --data DATA --runs RUNS
#    python -m benchmarks.tables fdu_mtl --data DATA --runs RUNS --only ROW --seeds 1
#    python -m benchmarks.slstm_study --data DATA --runs RUNS
#    python -m benchmarks.wikitext2 PATH/TO/valid.txt
#
# Each program prints the ``tfreps`` commands that it runs, so you can run every row yourself.

# %%
# Recorded results
# ----------------
#
# Entity F1 on Resume NER. Rows with a spread have three seeds and show the mean and half the
# distance between the best and the worst.

resume_ner = {
    "HMM, zero counts as 1e-10 (baseline)": (0.8365, 0),
    "HMM, add-k tuned on validation data (baseline)": (0.8768, 0),
    "CRF on character features (baseline)": (0.9428, 0.0021),
    "BiLSTM": (0.9339, 0),
    "BiLSTM+CRF": (0.9349, 0.0033),
    "BiLSTM+CRF, linear features": (0.9411, 0.0016),
    "S-LSTM": (0.9180, 0),
    "S-LSTM+CRF": (0.9202, 0),
    "BERT+CRF, from scratch": (0.9040, 0),
    "BERT+CRF": (0.9251, 0),
    "BERT+CRF, linear features": (0.9322, 0),
    "BERT+CRF, linear features, averaged weights": (0.9394, 0),
}


def draw(rows, label, left):
    plt.figure(figsize=(7, 0.3 * len(rows) + 0.9))
    colors = ["0.6" if "baseline" in name else "C0" for name in rows]
    values, spreads = zip(*rows.values(), strict=True)
    plt.barh(list(rows), values, xerr=spreads, color=colors)
    plt.gca().invert_yaxis()
    plt.xlim(left=left)
    plt.xlabel(label)
    plt.yticks(fontsize=8)
    plt.tight_layout()


draw(resume_ner, "entity F1, Resume NER", 0.8)

# %%
# Accuracy on the hotel reviews, 2,000 test texts (standard error 0.007):

hotel_reviews = {
    "naive Bayes, characters 1-2 (baseline)": (0.8965, 0),
    "logistic regression, TF-IDF of characters 1-3 (baseline)": (0.9250, 0),
    "TextCNN": (0.9130, 0),
    "TextCNN, own vectors": (0.9230, 0),
    "TextCNN, own vectors, linear features": (0.9310, 0),
    "S-LSTM": (0.9080, 0),
    "BERT, 6 blocks, from scratch": (0.9025, 0),
    "the same, pre-trained": (0.9000, 0),
    "BERT of 3 blocks, n-grams": (0.9275, 0),
    "the same, longer texts, none held out": (0.9320, 0),
}
draw(hotel_reviews, "accuracy, hotel reviews", 0.85)

# %%
# Own measurements
# ----------------
#
# When you train a model yourself, tokens per second are in the log line and in TensorBoard, and
# ``results.json`` in the run folder has the metrics. To compare with another library, run the two
# alternately in one process group, as ``benchmarks/in_turns.py`` does: other work on the machine
# then slows both.
