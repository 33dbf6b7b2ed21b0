"""Published biLM files and bilm-tf training folders are found by their names."""

import pathlib
import warnings

import numpy as np
import pytest

from tests.bilm_tf_run import training_arrays, training_options, write_training_folder
from tfreps._src.convert import bilm_tf, bilm_tf_checkpoint
from tfreps._src.convert.bilm_files import find_bilm_files, is_training_folder
from tfreps.models import BiLM


@pytest.fixture(scope="module")
def bilm():
    return BiLM(filters=[[1, 4], [2, 4]], units=6, projection_dim=4, num_highways=1)


def assert_same(found, expected):
    assert found.initial_state == expected.initial_state
    ours, theirs = bilm_tf.weights_of(found), bilm_tf.weights_of(expected)
    assert ours.keys() == theirs.keys()
    for name, weight in theirs.items():
        np.testing.assert_array_equal(ours[name], weight)
    if found.initial_state == "warm":
        for a, b in zip(found.kept_states, expected.kept_states, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_folder_that_was_saved(bilm, tmp_path):
    bilm.save_pretrained(tmp_path / "a" / "b")
    names = sorted(path.name for path in (tmp_path / "a" / "b").iterdir())
    assert names == ["README.md", "options.json", "weights.hdf5"]
    for source in tmp_path / "a" / "b", str(tmp_path / "a" / "b" / "options.json"):
        assert_same(BiLM.from_pretrained(source), bilm)
    frozen = BiLM.from_pretrained(tmp_path / "a" / "b", trainable=False, max_batch_size=3)
    assert frozen.trainable_weights == [] and frozen.max_batch_size == 3


def test_names_as_published(bilm, tmp_path):
    pair = tmp_path / "elmo_2x4_options.json", tmp_path / "elmo_2x4_weights.hdf5"
    bilm_tf.write_weights(bilm, *pair)
    assert find_bilm_files(tmp_path) == find_bilm_files(pair[0]) == pair
    assert_same(BiLM.from_pretrained(tmp_path), bilm)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    pair[1].rename(elsewhere / "w.h5")
    assert_same(BiLM.from_pretrained(pair[0], elsewhere / "w.h5"), bilm)
    assert_same(BiLM.from_pretrained(tmp_path, weights_file=elsewhere / "w.h5"), bilm)
    assert_same(BiLM.from_pretrained(pair[0], "elsewhere/w.h5"), bilm)  # next to the options
    assert find_bilm_files(tmp_path, "none.h5")[1] == pathlib.Path("none.h5")


def test_what_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="options.json does not exist. Expected the options.json"):
        find_bilm_files(tmp_path / "options.json")
    with pytest.raises(ValueError, match="expected one options.json with weights.hdf5.*found none"):
        find_bilm_files(tmp_path)
    for name in "a_options.json", "b_options.json", "b_weights.hdf5", "mine.json":
        (tmp_path / name).touch()
    for name in "a_options.json", "mine.json":
        with pytest.raises(ValueError, match=f"{name}: the weights were not found. Expected"):
            find_bilm_files(tmp_path / name)
    assert find_bilm_files(tmp_path)[0].name == "b_options.json"  # the others have no weights
    (tmp_path / "a_weights.hdf5").touch()
    with pytest.raises(ValueError, match="found a_options.json, b_options.json. Pass the path"):
        find_bilm_files(tmp_path)
    with pytest.raises(ValueError, match="expected one options.json or X_options.json; found a_"):
        find_bilm_files(tmp_path, tmp_path / "a_weights.hdf5")


@pytest.mark.slow
def test_a_training_folder_of_bilm_tf(tmp_path):
    options = training_options()
    folder = write_training_folder(tmp_path / "run", options, training_arrays(options))
    expected = bilm_tf_checkpoint.read_training_folder(folder).model.bilm
    found = BiLM.from_pretrained(folder, max_batch_size=3)
    assert_same(found, expected)
    assert found.max_batch_size == 3
    warm = BiLM.from_pretrained(folder, initial_state="warm")
    assert_same(warm, expected.with_initial_state("warm"))
    carrying = BiLM.from_pretrained(folder, initial_state="carry", max_batch_size=3)
    assert_same(carrying, expected.with_initial_state("carry"))
    assert carrying.max_batch_size == 3
    expected.save_pretrained(folder)  # a published pair takes precedence
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(BiLM.from_pretrained(folder), expected)


def test_a_warning_names_the_place_that_saves(tmp_path):
    words = BiLM(units=4, projection_dim=2, vocabulary_size=5)
    with pytest.warns(UserWarning, match="AllenNLP cannot: the model has token ids") as noted:
        words.save_pretrained(tmp_path)
    assert noted[0].filename == __file__
    odd = BiLM(filters=[[1, 4]], units=4, projection_dim=2, activation="gelu")
    with pytest.raises(ValueError, match="`activation` must be relu or tanh for bilm-tf.*'gelu'"):
        odd.save_pretrained(tmp_path / "odd")


@pytest.mark.parametrize("name", ["lm_weights.hdf5", "swb.h5"])
def test_the_only_other_file_is_found(bilm, tmp_path, name):
    bilm.save_pretrained(tmp_path)
    (tmp_path / "weights.hdf5").rename(tmp_path / name)
    assert (
        find_bilm_files(tmp_path)[1]
        == find_bilm_files(tmp_path / "options.json")[1]
        == tmp_path / name
    )
    assert not is_training_folder(tmp_path)
    assert_same(BiLM.from_pretrained(tmp_path), bilm)
    (tmp_path / "embeddings.hdf5").touch()
    for source in tmp_path, tmp_path / "options.json":
        with pytest.raises(ValueError, match=f"found embeddings.hdf5, {name}. Pass .*weights_file"):
            find_bilm_files(source)
    assert find_bilm_files(tmp_path, tmp_path / name)[1] == tmp_path / name
    (tmp_path / "checkpoint").touch()  # bilm-tf exports its checkpoints to such a file
    assert is_training_folder(tmp_path)


def test_names_of_the_nlpl_repository(bilm, tmp_path):
    """Its archives contain options.json, model.hdf5 and vocab.txt."""
    bilm.save_pretrained(tmp_path)
    (tmp_path / "weights.hdf5").rename(tmp_path / "model.hdf5")
    assert find_bilm_files(tmp_path)[1].name == "model.hdf5"
    again = BiLM.from_pretrained(tmp_path)
    for ours, theirs in zip(again.weights, bilm.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)
