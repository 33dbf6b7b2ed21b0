"""Tests what the peer computes without tf-keras, which has an environment of its own."""

import os

import numpy as np

from benchmarks import peer_bilm_tf


def test_answers_with_the_call_of_its_arguments(monkeypatch):
    answered = []
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(peer_bilm_tf, "prepare", lambda *arguments: arguments)
    monkeypatch.setattr(peer_bilm_tf, "answer", answered.append)
    assert peer_bilm_tf.main(["embed", "elmo_small", "3", "4"]) == 0
    assert answered == [("embed", (1024, 128, 1), 3, 4)]
    assert os.environ == {"TF_USE_LEGACY_KERAS": "1"}


def test_words_are_bytes_between_marks():
    table, ids = peer_bilm_tf.text_ids()
    assert table.shape == (4158, 50) and table.min() >= 1 and table.max() <= 261
    row = list(table[np.bincount(ids).argmax()])  # of the most frequent word, one character
    assert row[0] == 259 and row[2] == 260 and set(row[3:]) == {261}
    assert len(ids) > 100_000


def test_batches_are_consecutive_words():
    found = peer_bilm_tf.batches(np.arange(1000), rows=3, length=5, more=1)
    assert len(found) == 20 and all(batch.shape == (3, 6) for batch in found)
    assert all((np.diff(batch) == 1).all() for batch in found)
    assert len({int(batch[0, 0]) for batch in found}) == 20
