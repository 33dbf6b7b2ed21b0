"""Loading a biLM from a run folder or from published files."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.tiny_run import VOCABULARY, make_pretrainer, make_run
from tfreps.convert import bilm_tf
from tfreps.models import BiLM, BiLMPretrainer, Elmo
from tfreps.runs.bilm_runs import check_vocabulary, load_bilm, load_published_bilm
from tfreps.runs.run_folder import RunFolder
from tfreps.text import Vocabulary

SENTENCES = tf.constant(["the dog left", "zebra"])


def test_a_run_folder(tmp_path):
    path, model = make_run(tmp_path / "run")
    for state in ("zero", "warm", "carry"):
        found = load_bilm(path, initial_state=state)
        assert isinstance(found.model, BiLMPretrainer) and found.bilm.initial_state == state
        assert found.vocabulary.tokens == VOCABULARY.tokens
        expected = model.bilm.with_initial_state(state)(SENTENCES)["sequence_output"]
        np.testing.assert_array_equal(found.bilm(SENTENCES)["sequence_output"], expected)


@pytest.mark.parametrize("make", [lambda bilm: bilm, Elmo], ids=["BiLM", "Elmo"])
def test_runs_of_other_models(tmp_path, make):
    run = RunFolder.create(tmp_path / "run", "other", {})
    run.save_model(make(make_pretrainer().bilm))
    found = load_bilm(run.path)
    assert isinstance(found.bilm, BiLM) and found.vocabulary is None


@pytest.mark.slow
def test_published_files(tmp_path):
    bilm = make_pretrainer().bilm
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm_tf.write(bilm, *files)
    found = load_published_bilm(*files, initial_state="warm")
    expected = bilm.with_initial_state("warm")(SENTENCES)["sequence_output"]
    assert_close(found(SENTENCES)["sequence_output"], expected)


def test_a_run_without_a_bilm(tmp_path):
    import keras

    run = RunFolder.create(tmp_path / "run", "other", {})
    inputs = keras.Input([2])
    run.save_model(keras.Model(inputs, keras.layers.Dense(1)(inputs)))
    with pytest.raises(ValueError, match="expected a biLM"):
        load_bilm(run.path)


WORDS = {"vocabulary_size": len(VOCABULARY)}
SHORTER = Vocabulary(VOCABULARY.tokens[:-1], source="other.txt")
SWAPPED = Vocabulary(["</S>", "<S>", *VOCABULARY.tokens[2:]], source="other.txt")
RENAMED = Vocabulary([*VOCABULARY.tokens[:-1], "inn"], source="other.txt")


@pytest.mark.parametrize(
    "options, vocabulary, message",
    [
        ({}, SHORTER, f"m has {len(VOCABULARY)} tokens, but other.txt has {len(SHORTER)}"),
        ({}, SWAPPED, "other.txt has '</S>' on line 1, where m has a different token"),
        ({}, RENAMED, f"other.txt has 'inn' on line {len(RENAMED)}, where m has"),
        (WORDS, SHORTER, f"m has {len(VOCABULARY)} tokens"),
        (WORDS, SWAPPED, "m has <S> and </S> on lines 1 and 2 .* has them on lines 2 and 1"),
    ],
)
def test_the_vocabulary_of_another_model(options, vocabulary, message):
    model = make_pretrainer(**options)
    check_vocabulary(model, VOCABULARY)
    check_vocabulary(model, None)
    with pytest.raises(ValueError, match=message):
        check_vocabulary(model, vocabulary, "m")
    if options:
        for of_words in (model.bilm, Elmo(model.bilm)):
            with pytest.raises(ValueError, match=message):
                check_vocabulary(of_words, vocabulary, "m")


def test_the_vocabulary_of_another_run(tmp_path):
    path, _ = make_run(tmp_path / "run")
    SHORTER.write(tmp_path / "run" / "vocabulary.txt")
    with pytest.raises(ValueError, match=r"run has 19 tokens, but .*run/vocabulary.txt has 18"):
        load_bilm(path)


def test_published_files_of_words(tmp_path):
    bilm = make_pretrainer(**WORDS, sentence_start_id=2, sentence_end_id=1).bilm
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm_tf.write(bilm, *files)
    found = load_published_bilm(*files, SWAPPED)
    ids = tf.constant([[4, 3, 0]])
    expected = bilm(ids)["sequence_output"]
    assert_close(found(ids)["sequence_output"], expected)
    with pytest.raises(ValueError, match="weights.hdf5 has .*other.txt has"):
        load_published_bilm(*files, SHORTER)


def test_a_vocabulary_of_no_use(tmp_path):
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm_tf.write(make_pretrainer().bilm, *files)
    with pytest.raises(ValueError, match="reads characters; got other.txt. Omit `vocabulary`"):
        load_published_bilm(*files, SHORTER)
