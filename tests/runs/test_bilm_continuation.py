"""Continued training: weights that are restored, and weights that are new."""

import keras
import numpy as np
import pytest

from tests.bilm_tf_run import training_arrays, training_options, write_training_folder
from tests.tiny_run import VOCABULARY, make_run
from tfreps.convert import bilm_tf, bilm_tf_checkpoint
from tfreps.models import Elmo
from tfreps.optimizers import TF1Adagrad
from tfreps.runs.bilm_continuation import continue_pretraining, restore_accumulators
from tfreps.runs.run_folder import RunFolder
from tfreps.text import Vocabulary

OTHER = Vocabulary(["<UNK>", "</S>", "<S>", *"the river of money".split()])
TWENTY = Vocabulary([*VOCABULARY.tokens, "zebra"])
WORDS = {"filters": [], "vocabulary_size": len(VOCABULARY), "num_layers": 1}


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


@pytest.mark.parametrize("beside", [True, False])
def test_published_weights(run, tmp_path, beside):
    options = tmp_path / ("options.json" if beside else "other.json")
    bilm_tf.write(run[1].bilm, options, tmp_path / "weights.hdf5")
    model, _ = continue_pretraining(
        tmp_path / "weights.hdf5", OTHER, None if beside else options, {"dtype": "mixed_bfloat16"}
    )
    assert_same_bilm(model, run[1])
    assert model.bilm.dropout == 0.1 and model.bilm.compute_dtype == "bfloat16"
    assert model.vocabulary_size == 7


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
    path, source = make_run(tmp_path / "run", **WORDS)
    model, _ = continue_pretraining(path, VOCABULARY)
    assert_same_bilm(model, source)
    with pytest.raises(ValueError, match="reads token ids of its own vocabulary"):
        swapped = [*VOCABULARY.tokens[:3], *VOCABULARY.tokens[:2:-1]]
        continue_pretraining(path, Vocabulary(swapped, "mine.txt"))
    with pytest.raises(ValueError, match="of 19 tokens, but mine.txt has 7"):
        continue_pretraining(path, Vocabulary(OTHER.tokens, "mine.txt"))
    files = tmp_path / "options.json", tmp_path / "weights.hdf5"
    bilm_tf.write(source.bilm, *files)
    moved = Vocabulary([*VOCABULARY.tokens[3:], "<UNK>", "<S>", "</S>"])
    model, _ = continue_pretraining(files[1], moved)
    assert (model.bilm.sentence_start_id, model.bilm.sentence_end_id) == (18, 19)
    with pytest.raises(ValueError, match="a vocabulary of 19 tokens"):
        continue_pretraining(files[1], OTHER)


def test_bad_sources(run, tmp_path):
    with pytest.raises(ValueError, match="nowhere"):
        continue_pretraining(tmp_path / "nowhere", VOCABULARY)
    with pytest.raises(ValueError, match="Cannot read .*options.json"):
        continue_pretraining(tmp_path, VOCABULARY)
    options = training_options(characters=None)
    folder = write_training_folder(tmp_path / "old", options, training_arrays(options))
    with pytest.raises(ValueError, match="of 20 tokens, but .* has 19"):
        continue_pretraining(folder, VOCABULARY)
