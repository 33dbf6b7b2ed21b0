"""Continued training: weights that are restored, and weights that are new."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.bilm_tf_run import training_arrays, training_options, write_training_folder
from tests.closeness import assert_close
from tests.tiny_run import VOCABULARY, make_pretrainer, make_run
from tfreps._src.convert import bilm_tf, bilm_tf_checkpoint
from tfreps._src.runs.bilm_loading import continue_pretraining, restore_accumulators
from tfreps._src.runs.bilm_parts import read_published_bilm
from tfreps.models import Elmo
from tfreps.optimizers import TF1Adagrad
from tfreps.runs import RunFolder
from tfreps.text import Vocabulary

OTHER = Vocabulary(["<UNK>", "</S>", "<S>", *"the river of money".split()])
TWENTY = Vocabulary([*VOCABULARY.tokens, "zebra"])
ONE_LAYER = {"filters": [], "vocabulary_size": len(VOCABULARY), "num_layers": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "run")


def assert_same_weights(ours, theirs):
    assert set(ours) == set(theirs)
    for path, weight in theirs.items():
        # Row 0 of the ids is "no token", which no format stores.
        first = 1 if path in ("token_encoder/characters", "token_encoder/embeddings") else 0
        got, expected = ours[path].numpy()[first:], weight.numpy()[first:]
        np.testing.assert_array_equal(got, expected, err_msg=path)


def assert_same_bilm(model, source):
    assert_same_weights(bilm_tf.weights_of(model.bilm), bilm_tf.weights_of(source.bilm))


def test_a_run_folder_with_the_same_vocabulary(run):
    path, source = run
    model, accumulators = continue_pretraining(
        path, VOCABULARY, bilm_options={"dropout": 0.3}, num_sampled=5, batch_size=3, seed=9
    )
    assert_same_weights(bilm_tf_checkpoint.weights_of(model), bilm_tf_checkpoint.weights_of(source))
    assert (model.num_sampled, model.batch_size, model.seed, model.bilm.dropout) == (5, 3, 9, 0.3)
    np.testing.assert_array_equal(model.character_table, VOCABULARY.character_table())
    assert accumulators == {}


def test_a_run_folder_with_another_vocabulary(run):
    path, source = run
    model, _ = continue_pretraining(path, OTHER, batch_size=3)
    assert_same_bilm(model, source)
    assert model.softmax.kernel.shape == (7, 6) and model.vocabulary_size == 7
    assert model.bilm.dropout == source.bilm.dropout
    np.testing.assert_array_equal(model.character_table, OTHER.character_table())


@pytest.mark.slow
def test_a_model_without_softmax(run, tmp_path):
    """The source is an `Elmo` with a frozen biLM."""
    _, source = run
    folder = RunFolder.create(tmp_path / "run", "convert", {})
    VOCABULARY.write(folder.vocabulary_path)
    folder.save_model(Elmo(source.bilm.with_initial_state("warm")))
    model, _ = continue_pretraining(folder.path, VOCABULARY)
    assert_same_bilm(model, source)
    assert all(w.trainable for w in model.trainable_weights) and len(model.trainable_weights) > 9
    assert model.bilm.initial_state == "zero"


@pytest.mark.few(1)
@pytest.mark.parametrize("beside", [True, False])
def test_published_weights(run, tmp_path, beside):
    options = tmp_path / ("options.json" if beside else "other.json")
    bilm_tf.write_weights(run[1].bilm, options, tmp_path / "weights.hdf5")
    model, _ = continue_pretraining(
        tmp_path / "weights.hdf5", OTHER, None if beside else options, {"dtype": "mixed_bfloat16"}
    )
    assert_same_bilm(model, run[1])
    assert model.bilm.dropout == 0.1 and model.bilm.compute_dtype == "bfloat16"
    assert model.vocabulary_size == 7


@pytest.mark.few(2)
@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
@pytest.mark.parametrize("characters", [(), None])
def test_a_training_folder_of_bilm_tf(tmp_path, characters, dtype):
    options = training_options(characters=characters, bidirectional=False)
    arrays = training_arrays(options)
    folder = write_training_folder(tmp_path, options, arrays)
    model, accumulators = continue_pretraining(
        folder, TWENTY, bilm_options={"dtype": dtype}, dtype=dtype
    )
    np.testing.assert_array_equal(model.softmax.kernel.numpy(), arrays["lm/softmax/W"])
    assert model.bilm.dropout == 0.25 and model.num_sampled == 8
    if characters is None:
        assert (model.bilm.sentence_start_id, model.bilm.sentence_end_id) == (1, 2)
    else:
        np.testing.assert_array_equal(model.character_table, TWENTY.character_table())

    model.compile(optimizer=TF1Adagrad())
    restore_accumulators(model, accumulators)
    restored = {
        variable.name: variable.numpy()
        for variable in model.optimizer.variables
        if variable.name.endswith("accumulator")
    }
    assert len(restored) == len(accumulators) == len(model.trainable_weights)
    for theirs, ours in (("softmax/W", "softmax_kernel"), ("softmax/b", "softmax_bias")):
        (got,) = [array for name, array in restored.items() if ours in name]
        np.testing.assert_array_equal(got, arrays[f"lm/{theirs}/Adagrad"])
    embedding = "embedding" if characters is None else "char_embed"
    (got,) = [a for n, a in restored.items() if "_embeddings_" in n or "_characters_" in n]
    np.testing.assert_array_equal(got[1:], arrays[f"lm/{embedding}/Adagrad"])


def test_accumulators_are_for_adagrad(run):
    model = run[1]
    model.compile(optimizer=keras.optimizers.Adam())
    restore_accumulators(model, {"softmax/bias": np.ones([19], "float32")})
    assert not model.optimizer.built


def test_token_ids_belong_to_their_vocabulary(tmp_path):
    path, source = make_run(tmp_path / "run", **ONE_LAYER)
    model, _ = continue_pretraining(path, VOCABULARY)
    assert_same_bilm(model, source)
    with pytest.raises(ValueError, match="reads token ids of its own vocabulary"):
        swapped = [*VOCABULARY.tokens[:3], *VOCABULARY.tokens[:2:-1]]
        continue_pretraining(path, Vocabulary(swapped, "mine.txt"))
    with pytest.raises(ValueError, match="of 19 tokens, but mine.txt has 7"):
        continue_pretraining(path, Vocabulary(OTHER.tokens, "mine.txt"))
    files = tmp_path / "options.json", tmp_path / "weights.hdf5"
    bilm_tf.write_weights(source.bilm, *files)
    moved = Vocabulary([*VOCABULARY.tokens[3:], "<UNK>", "<S>", "</S>"])
    model, _ = continue_pretraining(files[1], moved)
    assert (model.bilm.sentence_start_id, model.bilm.sentence_end_id) == (18, 19)
    with pytest.raises(ValueError, match="a vocabulary of 19 tokens"):
        continue_pretraining(files[1], OTHER)


def test_bad_sources(run, tmp_path):
    with pytest.raises(ValueError, match="nowhere"):
        continue_pretraining(tmp_path / "nowhere", VOCABULARY)
    with pytest.raises(ValueError, match="no model that can be loaded; it contains nothing"):
        continue_pretraining(tmp_path, VOCABULARY)
    options = training_options(characters=None)
    folder = write_training_folder(tmp_path / "old", options, training_arrays(options))
    with pytest.raises(ValueError, match="of 20 tokens, but .* has 19"):
        continue_pretraining(folder, VOCABULARY)


@pytest.mark.slow
def test_published_files(tmp_path):
    bilm = make_pretrainer().bilm
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm_tf.write_weights(bilm, *files)
    found = read_published_bilm(files, None, initial_state="warm")
    expected = bilm.with_initial_state("warm")(SENTENCES)["sequence_output"]
    assert_close(found(SENTENCES)["sequence_output"], expected)


def test_a_run_without_a_bilm(tmp_path):
    run = RunFolder.create(tmp_path / "run", "other", {})
    inputs = keras.Input([2])
    run.save_model(keras.Model(inputs, keras.layers.Dense(1)(inputs)))
    with pytest.raises(ValueError, match="expected a biLM"):
        continue_pretraining(run.path, VOCABULARY)


WORDS = {"vocabulary_size": len(VOCABULARY)}
SHORTER = Vocabulary(VOCABULARY.tokens[:-1], source="other.txt")
SWAPPED = Vocabulary(["</S>", "<S>", *VOCABULARY.tokens[2:]], source="other.txt")
SENTENCES = tf.constant(["the dog left", "zebra"])


def test_the_vocabulary_of_another_run(tmp_path):
    path, _ = make_run(tmp_path / "run")
    SHORTER.write(tmp_path / "run" / "vocabulary.txt")
    with pytest.raises(ValueError, match=r"run has 19 tokens, but .*run/vocabulary.txt has 18"):
        continue_pretraining(path, VOCABULARY)


def test_published_files_of_words(tmp_path):
    bilm = make_pretrainer(**WORDS, sentence_start_id=2, sentence_end_id=1).bilm
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm_tf.write_weights(bilm, *files)
    found = read_published_bilm(files, SWAPPED)
    ids = tf.constant([[4, 3, 0]])
    expected = bilm(ids)["sequence_output"]
    assert_close(found(ids)["sequence_output"], expected)
    with pytest.raises(ValueError, match="weights.hdf5 has .*other.txt has"):
        read_published_bilm(files, SHORTER)


def test_a_vocabulary_of_no_use(tmp_path):
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm_tf.write_weights(make_pretrainer().bilm, *files)
    with pytest.raises(ValueError, match="reads characters; got other.txt. Omit `vocabulary`"):
        read_published_bilm(files, SHORTER)
