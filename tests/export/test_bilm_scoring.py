"""Scores equal those of the pretrainer for each sentence; the caller stores the states."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.tiny_run import VOCABULARY, make_pretrainer
from tfreps._src.export.bilm_reader import TokenReader
from tfreps._src.export.bilm_scoring import Scoring
from tfreps._src.layers import elmo_bilstm
from tfreps._src.layers.ops.projected_lstm import projected_lstm
from tfreps.text import batch_to_ids

SENTENCES = [["the", "dog", "left", "zebra"], [], ["money"]]
LENGTHS = tf.constant([4, 0, 1])
TOKENS = tf.constant([row + [""] * (4 - len(row)) for row in SENTENCES])


def make_scoring(pretrainer, folder, initial_state="zero"):
    bilm = pretrainer.bilm.with_initial_state(initial_state)
    return Scoring(bilm, pretrainer, TokenReader(bilm, VOCABULARY, str(folder)))


def lm_batch(tokens, characters=True):
    """Returns the inputs for a sentence: `<S> w1 .. wn -> w1 .. wn </S>`, and reversed."""
    ids, start, end = VOCABULARY.tokens_to_ids(tokens), VOCABULARY.start_id, VOCABULARY.end_id
    batch = {
        "token_ids": [[start, *ids]],
        "token_ids_reverse": [[end, *ids[::-1]]],
        "next_token_id": [[*ids, end]],
        "next_token_id_reverse": [[*ids[::-1], start]],
    }
    batch = {name: tf.constant(value, tf.int32) for name, value in batch.items()}
    if characters:
        batch["tokens_characters"] = batch_to_ids([["<S>", *tokens]])
        batch["tokens_characters_reverse"] = batch_to_ids([["</S>", *tokens[::-1]]])
    return batch


@pytest.mark.slow
@pytest.mark.parametrize("initial_state", ["zero", "warm"])
def test_scores_and_states(tmp_path, initial_state):
    pretrainer = make_pretrainer()
    scoring = make_scoring(pretrainer, tmp_path, initial_state)
    states = scoring.initial_states(3)
    names = "forward_hidden", "forward_cell", "backward_hidden", "backward_cell"
    assert tuple(states) == names and states["forward_cell"].shape == (3, 2, 12)
    zero = [not np.any(state) for state in states.values()]
    assert zero == [initial_state == "zero"] * 4
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be from 0 to 4096"):
        scoring.initial_states(tf.constant(200_000))

    kept = [None] * 3
    if initial_state == "warm":
        pretrainer.bilm = scoring.bilm
    for _ in range(2):  # the second call starts from the states of the first
        outputs = scoring.score(TOKENS, LENGTHS, **states)
        assert outputs["token_count"].numpy().tolist() == [5, 1, 2]
        for row, tokens in enumerate(SENTENCES):
            nll, kept[row] = pretrainer(lm_batch(tokens), initial_state=kept[row])
            both = nll.numpy().sum(axis=(1, 2))  # [2]
            found = [outputs[f"{name}_nll"][row] for name in ("forward", "backward")]
            assert_close(found, both)
            assert_close(outputs["nll"][row], both.sum())
            last = [part[0] for state in kept[row] for part in state]
            for name, part in zip(names, last, strict=True):
                assert_close(outputs[name][row], part)
        states = {name: outputs[name] for name in names}


def test_one_direction_token_ids_and_a_tied_softmax(tmp_path):
    options = {"vocabulary_size": len(VOCABULARY), "bidirectional": False, "num_layers": 1}
    pretrainer = type(make_pretrainer())(
        make_pretrainer(**options).bilm, len(VOCABULARY), tie_embeddings=True, batch_size=1
    )
    scoring = make_scoring(pretrainer, tmp_path)
    outputs = scoring.score(TOKENS, LENGTHS, **scoring.initial_states(3))
    assert sorted(outputs) == [
        *("forward_cell", "forward_hidden", "forward_nll", "nll", "token_count")
    ]
    for row, tokens in enumerate(SENTENCES):
        nll, _ = pretrainer(lm_batch(tokens, characters=False))
        assert_close(outputs["nll"][row], nll.numpy().sum())


def test_the_first_layer_multiplies_each_distinct_token_once(tmp_path, monkeypatch):
    scoring, given = make_scoring(make_pretrainer(), tmp_path), []

    def record(*arguments):
        given.append((arguments[0], arguments[-1]))  # inputs [T, B, P]
        return projected_lstm(*arguments)

    monkeypatch.setattr(elmo_bilstm, "projected_lstm", record)
    scoring.score(TOKENS, LENGTHS, **scoring.initial_states(3))
    assert [distinct is not None for _, distinct in given] == [True, False] * 2  # directions
    for inputs, (vectors, which) in given[::2]:
        np.testing.assert_array_equal(inputs, tf.gather(vectors, which))
