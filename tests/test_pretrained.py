"""A biLM from a run folder or from published files."""

import numpy as np
import pytest
import tensorflow as tf

from tests.tiny_run import VOCABULARY, make_pretrainer, make_run
from tfreps.models import BiLM, BiLMPretrainer, Elmo
from tfreps.pretrained import load_bilm
from tfreps.run_folder import RunFolder

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


def test_published_files(tmp_path):
    bilm = make_pretrainer().bilm
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm.to_bilm_tf(*files)
    found = load_bilm(None, *files, initial_state="warm")
    assert found.model is found.bilm and found.vocabulary is None
    expected = bilm.with_initial_state("warm")(SENTENCES)["sequence_output"]
    np.testing.assert_allclose(found.bilm(SENTENCES)["sequence_output"], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "places",
    [
        (None, None, None),
        ("run", "options", "weights"),
        (None, "options", None),
        ("run", "o", None),
    ],
)
def test_one_place_and_no_other(places):
    with pytest.raises(ValueError, match="either a run folder, or both --options"):
        load_bilm(*places)


def test_a_run_without_a_bilm(tmp_path):
    import keras

    run = RunFolder.create(tmp_path / "run", "other", {})
    inputs = keras.Input([2])
    run.save_model(keras.Model(inputs, keras.layers.Dense(1)(inputs)))
    with pytest.raises(ValueError, match="expected a biLM"):
        load_bilm(run.path)
