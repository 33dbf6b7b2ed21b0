"""What a tagger or classifier reads, from options; and options that contradict each other."""

import argparse

import numpy as np
import pytest

from tests.tiny_run import make_run
from tfreps import encoders, fitting, inputs

TABLES = inputs.OPTIONS, encoders.OPTIONS, fitting.OPTIONS
DEFAULTS = {name: option.default for table in TABLES for name, option in table.items()}
SENTENCES = [["The", "dog", "7"], ["the", "cat", "8"], ["the", "dog", "9"]]


def options(**given):
    parts = {"train": ["train.txt"], "dev": None, "test": None}
    return argparse.Namespace(**{**DEFAULTS, **parts, **given})


def test_features_are_made_of_the_training_words_as_asked():
    def words(**given):
        return inputs.make_features(options(**given), SENTENCES).vocabulary.tokens[3:]

    assert sorted(words()) == ["7", "8", "9", "The", "cat", "dog", "the"]
    assert words(lowercase=True, digits_to_zero=True) == ["0", "the", "dog", "cat"]
    assert sorted(words(min_count=2)) == ["dog", "the"]
    assert len(words(max_vocabulary=5)) == 2


def test_characters_are_made_only_for_what_reads_them(tmp_path):
    def number(elmo=None, **given):
        return inputs.make_features(options(**given), SENTENCES, elmo).max_characters

    assert number() is None
    assert number(characters="cnn", max_characters=20) == 20
    path, _ = make_run(tmp_path / "run", max_characters=30)
    elmo = inputs.read_elmo(options(elmo=path))
    assert number(elmo) == number(elmo, characters="cnn", max_characters=20) == 30


def test_elmo_as_asked(tmp_path):
    path, model = make_run(tmp_path / "run")
    assert inputs.read_elmo(options()) is None
    elmo = inputs.read_elmo(options(elmo=path))
    weights = [variable.path for variable in elmo.trainable_variables]
    assert weights == ["mix_0/gamma", "mix_0/scalar_weights"]
    for ours, theirs in zip(elmo.bilm.weights, model.bilm.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    top = inputs.read_elmo(options(elmo=path, elmo_top=True))
    assert [variable.path for variable in top.trainable_variables] == ["mix_0/gamma"]
    tuned = inputs.read_elmo(options(elmo=path, fine_tune_elmo=True, elmo_state="warm"))
    assert len(tuned.trainable_variables) == 2 + len(model.bilm.trainable_variables)
    assert tuned.bilm.initial_state == "warm"


def test_a_bilm_that_reads_ids_of_its_own(tmp_path):
    path, _ = make_run(tmp_path / "run", vocabulary_size=19, sentence_start_id=1, sentence_end_id=2)
    with pytest.raises(ValueError, match="expected a biLM that reads characters"):
        inputs.read_elmo(options(elmo=path))


def test_vectors_of_the_vocabulary(tmp_path, capsys):
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2\ndog 3 4\nhouse 5 6\n")
    features = inputs.make_features(options(), SENTENCES)
    assert inputs.read_vectors(options(), features) is None
    vectors = inputs.read_vectors(options(vectors=str(path)), features)
    rows = dict(zip(features.vocabulary.tokens, vectors.matrix.tolist(), strict=True))
    assert rows["The"] == rows["the"] == [1, 2] and rows["dog"] == [3, 4]
    assert 0 < np.abs(rows["cat"]).max() < 1  # noise
    assert f"Word vectors: 3 of 10 words have one in {path}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given, message",
    [
        ({"no_words": True}, "--no-words leaves nothing: give --characters, --elmo or"),
        ({"no_words": True, "characters": "cnn", "vectors": "v"}, "leave --no-words out"),
        ({"frozen_embeddings": True}, "--frozen-embeddings freezes word vectors of a file"),
        (
            {"frozen_embeddings": True, "vectors": "v", "embedding_learning_rate": 0.1},
            "--embedding-learning-rate is for word vectors, and none are trained",
        ),
        ({"fine_tune_elmo": True}, "--fine-tune-elmo trains a biLM: give --elmo"),
        ({"elmo_top": True}, "--elmo-top is about a biLM: give --elmo"),
        ({"elmo": "r", "elmo_weights": "w"}, "--elmo names one biLM already"),
        ({"elmo_weights": "w"}, "--elmo-weights needs --elmo-options too"),
        ({"elmo_options": "o"}, "--elmo-options needs --elmo-weights too"),
        ({"encoder": "window", "characters": "cnn"}, "--characters goes unseen: --encoder window"),
        ({"encoder": "window", "vectors": "v"}, "--vectors goes unseen"),
        ({"encoder": "window", "no_words": True}, "--no-words goes unseen"),
        ({"encoder": "window", "elmo": "r"}, "--elmo goes unseen"),
        ({"encoder": "window", "embedding_learning_rate": 0.1}, "none are trained"),
        ({"train_vectors": "v", "test": ["t"]}, "--train-vectors needs --test-vectors too"),
        ({"train_vectors": "v", "dev": ["t"]}, "--train-vectors needs --dev-vectors too"),
        ({"test_vectors": "v", "test": ["t"]}, "--test-vectors needs --train-vectors too"),
        ({"train_vectors": "v", "dev_vectors": "v"}, "--dev-vectors needs --dev too"),
    ],
)
def test_options_that_contradict_each_other(given, message):
    with pytest.raises(ValueError, match=message):
        inputs.check(options(**given))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"encoder": "window"},
        {"no_words": True, "train_vectors": "v"},
        {"no_words": True, "elmo": "r", "fine_tune_elmo": True, "elmo_top": True},
        {"vectors": "v", "frozen_embeddings": True, "characters": "bilstm"},
        {"vectors": "v", "embedding_learning_rate": 0.1},
        {"elmo_options": "o", "elmo_weights": "w"},
        {"train_vectors": "v", "test_vectors": "v", "test": ["t"]},
    ],
)
def test_options_that_agree(given):
    inputs.check(options(**given))
