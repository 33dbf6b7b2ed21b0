"""HDF5 files of bilm-tf: round trips, bilm-tf's expected embeddings, and broken files."""

import contextlib
import json
import os
import re

import h5py
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import elmo
from tests import oracles
from tests.closeness import assert_close
from tests.oracles import SENTENCES
from tfreps._src.convert import bilm_tf
from tfreps._src.convert.bilm_tf_options import unlike_allennlp
from tfreps.models import BiLM
from tfreps.text import Vocabulary, batch_to_ids

CASES = {
    "usual": ({}, {}),
    "1 layer, no projections": (
        {"n_layers": 1, "dim": 5, "projection_dim": 5},
        {"filters": [[1, 2], [3, 3]], "n_highway": 0},
    ),
    "3 layers": ({"n_layers": 3, "use_skip_connections": False}, {"activation": "tanh"}),
    "tokens": ({}, None),
}


def files(tmp_path, lstm=(), characters=(), **kwargs):
    options = oracles.options_with(lstm=lstm, characters=characters)
    weights = oracles.random_weights(options, scale=0.5, **kwargs)
    return options, weights, oracles.write_files(tmp_path, options, weights)


def arrays_of(path):
    found = {}
    with h5py.File(path, "r") as file:
        file.visititems(
            lambda name, item: (
                found.update({name: item[...]}) if isinstance(item, h5py.Dataset) else None
            )
        )
    return found


def warned(model):
    """Expects the warning about models that AllenNLP cannot load."""
    reasons = unlike_allennlp(model.get_config())
    if not reasons:
        return contextlib.nullcontext()
    message = f"AllenNLP cannot: the model has {', and '.join(reasons)}."
    return pytest.warns(UserWarning, match=re.escape(message))


@pytest.mark.parametrize(
    "name",
    [None, *(pytest.param(n, marks=pytest.mark.slow) for n in ("my_token_encoder", "bilstm"))],
)
@pytest.mark.parametrize("case", CASES)
def test_what_is_read_and_written_is_bit_equal(tmp_path, case, name):
    options, weights, paths = files(tmp_path, *CASES[case])
    model = BiLM.from_pretrained(*paths, **({"name": name} if name else {}))
    with warned(model):
        bilm_tf.write_weights(model, tmp_path / "again.json", tmp_path / "again.hdf5")
    again = arrays_of(tmp_path / "again.hdf5")
    assert again.keys() == weights.keys()
    for key, array in weights.items():
        assert again[key].dtype == np.float32
        np.testing.assert_array_equal(again[key], array)
    written = json.loads((tmp_path / "again.json").read_text())
    assert written["lstm"] == options["lstm"]
    assert written.get("char_cnn") == options.get("char_cnn")
    copy = BiLM.from_pretrained(tmp_path / "again.json", tmp_path / "again.hdf5")
    for a, b in zip(model.get_weights(), copy.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert sorted(os.listdir(tmp_path)) == [
        *("again.hdf5", "again.json", "options.json", "weights.hdf5")
    ]


@pytest.mark.slow
def test_kept_states_are_not_part_of_the_format(tmp_path):
    _, weights, paths = files(tmp_path)
    for state in ("warm", "carry"):
        bilm = BiLM.from_pretrained(*paths, initial_state=state)
        bilm_tf.write_weights(bilm, tmp_path / "o", tmp_path / "w")
        assert arrays_of(tmp_path / "w").keys() == weights.keys()


def test_arrays_of_other_precision_are_read(tmp_path):
    _, weights, paths = files(tmp_path)
    wide = {name: array.astype("float64") for name, array in weights.items()}
    model = BiLM.from_pretrained(*paths)
    other = BiLM.from_pretrained(*oracles.write_files(tmp_path, oracles.options_with(), wide))
    for a, b in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_token_embeddings_stand_for_the_character_network(tmp_path):
    """Token embeddings as written by bilm-tf's `dump_token_embeddings` give equal outputs."""
    _, _, paths = files(tmp_path)
    by_characters = BiLM.from_pretrained(*paths)
    words = ["dog", "<S>", "river", "</S>", "naïve", "é" * 30]
    vectors = by_characters.encode_tokens(batch_to_ids([words]))[0]
    with h5py.File(tmp_path / "embedding.hdf5", "w") as file:
        file["embedding"] = vectors.numpy()
    by_tokens = bilm_tf.read_weights(
        *paths, tmp_path / "embedding.hdf5", sentence_start_id=2, sentence_end_id=4
    )
    assert by_tokens.vocabulary_size == 6
    sentences = [["dog", "river", "é" * 30], ["naïve"], []]
    ids = np.zeros([3, 3], "int32")
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = [words.index(word) + 1 for word in sentence]
    expected, out = by_characters(batch_to_ids(sentences)), by_tokens(ids)
    for a, b in zip(tf.nest.flatten(out), tf.nest.flatten(expected), strict=True):
        assert_close(tf.cast(a, "float32"), tf.cast(b, "float32"))


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "the file does not exist"),
        ({}, "missing: embedding"),
        ({"other": np.zeros(3, "float32")}, "missing: embedding\n  not used: other"),
        ({"embedding": np.zeros([6, 3], "float32")}, "expected \\(6, 4\\), got \\(6, 3\\)"),
        ({"embedding": np.zeros([6], "float32")}, "expected \\(6, 4\\), got \\(6,\\)"),
        ({"embedding": np.float32(1.0)}, "embedding: expected \\(0, 4\\), got \\(\\)"),
        ({"embedding": np.full([6, 4], np.nan)}, "24 of the 24 values of array embedding are not"),
        ({"embedding": np.zeros([6, 4], int)}, "embedding must contain floats; got int64"),
    ],
)
def test_wrong_token_embeddings(tmp_path, content, message):
    _, _, paths = files(tmp_path)
    path = tmp_path / "embedding.hdf5"
    if content is not None:
        with h5py.File(path, "w") as file:
            for name, array in content.items():
                file[name] = array
    with pytest.raises(ValueError, match=message) as error:
        bilm_tf.read_weights(*paths, path)
    assert str(path) in str(error.value)


def without(name):
    return lambda weights: weights.pop(name)


def replaced(name, change):
    return lambda weights: weights.update({name: change(weights[name])})


def with_value(name, value):
    def change(array):
        array = array.copy()
        array.flat[1] = value
        return array

    return replaced(name, change)


CELL = "RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/"
BROKEN = {
    "missing": (without(CELL + "W_P_0"), f"missing: {CELL}W_P_0\n  not used: none"),
    "extra": (
        lambda w: w.update({"lm/softmax/W": np.zeros(3, "float32")}),
        "missing: none\n  not used: lm/softmax/W",
    ),
    "foreign": (
        lambda w: (w.clear(), w.update({"model_weights/dense": np.zeros(3, "float32")})),
        "missing: CNN/W_cnn_0, .*\n  not used: model_weights/dense",
    ),
    "empty": (lambda w: w.clear(), "missing: CNN/W_cnn_0"),
    "transposed": (
        replaced(CELL + "W_P_0", np.transpose),
        CELL + "W_P_0: expected \\(6, 4\\), got \\(4, 6\\)",
    ),
    "262 rows": (
        replaced("char_embed", lambda a: np.concatenate([a[:1], a])),
        "char_embed: expected \\(261, 3\\), got \\(262, 3\\)",
    ),
    "NaN": (
        with_value("CNN_proj/W_proj", np.nan),
        "1 of the 48 values of array CNN_proj/W_proj are not",
    ),
    "infinite": (with_value("char_embed", -np.inf), "1 of the 783 values of array char_embed"),
    "integers": (
        replaced("CNN/b_cnn_1", lambda a: a.astype(int)),
        "CNN/b_cnn_1 must contain floats",
    ),
    "strings": (
        replaced("CNN/b_cnn_0", lambda a: np.array([b"x"] * 3)),
        r"CNN/b_cnn_0 cannot be read \(it must contain numbers; got .S1",
    ),
    "complex": (
        replaced("CNN/b_cnn_0", lambda a: a.astype("complex64")),
        r"CNN/b_cnn_0 cannot be read \(it must contain numbers; got complex64",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_arrays_are_named(tmp_path, case):
    options, weights, _ = files(tmp_path)
    change, message = BROKEN[case]
    change(weights)
    paths = oracles.write_files(tmp_path, options, weights)
    with pytest.raises(ValueError, match=message) as error:
        BiLM.from_pretrained(*paths)
    assert str(paths[1]) in str(error.value)


def test_a_huge_array_is_refused_before_it_is_read(tmp_path):
    """A sparse array of a terabyte is rejected by its shape."""
    _, _, paths = files(tmp_path)
    with h5py.File(paths[1], "a") as file:
        del file["char_embed"]
        file.create_dataset("char_embed", (2**18, 2**20), "float32", chunks=(1, 1024))
    with pytest.raises(ValueError, match="char_embed: expected \\(261, 3\\), got \\(262144, 1048"):
        BiLM.from_pretrained(*paths)


def test_options_of_another_model(tmp_path):
    _, weights, _ = files(tmp_path)
    other = oracles.options_with(lstm={"n_layers": 3})
    with pytest.raises(ValueError, match="missing: .*Cell2.*\n.*\nCheck that the options belong"):
        BiLM.from_pretrained(*oracles.write_files(tmp_path, other, weights))
    huge = oracles.options_with(lstm={"dim": 2**24})
    with pytest.raises(ValueError, match=r"W_0: expected \(8, 67108864\), got \(8, 24\)"):
        BiLM.from_pretrained(*oracles.write_files(tmp_path, huge, weights))
    tokens = oracles.options_with(characters=None)
    with pytest.raises(ValueError, match="missing: embedding\n  not used: CNN/"):
        BiLM.from_pretrained(*oracles.write_files(tmp_path, tokens, weights))


@pytest.mark.parametrize("kept", [0, 1, 100, 5000, -1])
def test_truncated_files(tmp_path, kept):
    _, _, paths = files(tmp_path)
    whole = paths[1].read_bytes()
    assert len(whole) > 6000
    paths[1].write_bytes(whole[:kept])
    with pytest.raises(ValueError, match="weights.hdf5: .*truncated"):
        BiLM.from_pretrained(*paths)


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04 a zip", b"x" * 5000, b"\x89HDF\r\n\x1a\n" + b"\0" * 99]
)
def test_files_of_another_kind(tmp_path, content):
    _, _, paths = files(tmp_path)
    paths[1].write_bytes(content)
    with pytest.raises(ValueError, match="weights.hdf5: expected an HDF5 file with weights"):
        BiLM.from_pretrained(*paths)


def test_missing_files_and_folders(tmp_path):
    _, _, (options_file, _) = files(tmp_path)
    for path in (tmp_path / "nowhere.hdf5", tmp_path):
        with pytest.raises(ValueError, match="expected an HDF5 file .* the file does not exist"):
            BiLM.from_pretrained(options_file, path)


def test_a_damaged_chunk_is_named(tmp_path):
    """The bytes of a compressed array were overwritten."""
    _, weights, paths = files(tmp_path)
    with h5py.File(paths[1], "a") as file:
        del file["CNN_proj/W_proj"]
        array = weights["CNN_proj/W_proj"]
        file.create_dataset("CNN_proj/W_proj", data=array, chunks=array.shape, compression="gzip")
        place = file["CNN_proj/W_proj"].id.get_chunk_info(0)
    with open(paths[1], "r+b") as file:
        file.seek(place.byte_offset)
        file.write(b"\xff" * place.size)
    with pytest.raises(ValueError, match="weights.hdf5: array CNN_proj/W_proj cannot be read"):
        BiLM.from_pretrained(*paths)


def test_nothing_half_written_stays(tmp_path, monkeypatch):
    _, _, paths = files(tmp_path)
    model = BiLM.from_pretrained(*paths)
    target = tmp_path / "target"
    target.mkdir()
    (target / "weights.hdf5").write_text("the old weights")
    (target / "options.json").write_text("the old options")

    real, seen = h5py.File.__setitem__, []

    def fail_at_fifth(file, name, array):
        seen.append(name)
        if len(seen) == 5:
            raise OSError("No space left on device")
        real(file, name, array)

    monkeypatch.setattr(h5py.File, "__setitem__", fail_at_fifth)
    with pytest.raises(OSError, match="No space left"):
        bilm_tf.write_weights(model, target / "options.json", target / "weights.hdf5")
    assert sorted(os.listdir(target)) == ["options.json", "weights.hdf5"]
    assert (target / "weights.hdf5").read_text() == "the old weights"
    assert (target / "options.json").read_text() == "the old options"


def test_both_files_are_written_or_none(tmp_path):
    _, _, paths = files(tmp_path)
    model = BiLM.from_pretrained(*paths)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(OSError):
        bilm_tf.write_weights(model, tmp_path / "nowhere" / "options.json", tmp_path / "w.hdf5")
    with pytest.raises(OSError):
        bilm_tf.write_weights(model, tmp_path / "o.json", tmp_path / "nowhere" / "w.hdf5")
    assert sorted(os.listdir(tmp_path)) == before


def test_a_model_in_one_direction_is_not_written(tmp_path):
    single = BiLM(filters=[[1, 4]], units=4, projection_dim=4, bidirectional=False)
    with pytest.raises(ValueError, match="this model has one direction"):
        bilm_tf.write_weights(single, tmp_path / "o.json", tmp_path / "w.hdf5")
    assert os.listdir(tmp_path) == []


def expected_embeddings(folder):
    """Returns batches of three sentences, and bilm-tf's top layer for each sentence."""
    texts = json.loads((folder / "lm_embeddings_sentences.json").read_text())
    batches = [[row[i].split() for row in texts] for i in range(10)]
    expected = []
    for i in range(10):
        expected.append([])
        for row in range(3):
            with h5py.File(folder / f"lm_embeddings_{row}.hdf5", "r") as file:
                directions = file[str(i)][...]  # [2, T, P]
            expected[-1].append(np.concatenate([*directions], axis=-1))
    return batches, expected


@pytest.mark.few(1)
@pytest.mark.parametrize("num_batches, num_tokens", [(1, None), (10, 744)])
def test_the_originals_own_embeddings(tfreps_data, num_batches, num_tokens):
    """Sentences of bilm-tf's own test; the slow test has all 30, with carried states."""
    folder = tfreps_data / "bilm_tf_fixture"
    weights_file = folder / "lm_weights.hdf5"
    bilm = BiLM.from_pretrained(
        folder / "options.json", weights_file, initial_state="carry", max_batch_size=4
    )
    batches, expected = expected_embeddings(folder)
    count = 0
    for batch, wanted in zip(batches[:num_batches], expected[:num_batches], strict=True):
        out = bilm(batch_to_ids(batch))
        for row, vectors in enumerate(wanted):
            n = len(batch[row])
            assert out["mask"][row].numpy().sum() == n == len(vectors)
            top = out["sequence_output"][row, :n]
            # Terms are characters, filters and gates of two layers; the original is float32, too.
            assert_close(top, vectors, terms=256)
            count += n
        assert all((np.asarray(state)[3] == 0.0).all() for state in bilm.kept_states)
    assert num_tokens in (count, None)


@pytest.mark.slow
def test_the_originals_embeddings_need_the_carried_state(tfreps_data):
    """From zeros only the first batch agrees; from a warm state the others are close."""
    folder = tfreps_data / "bilm_tf_fixture"
    paths = folder / "options.json", folder / "lm_weights.hdf5"
    batches, expected = expected_embeddings(folder)
    errors = {}
    for state in ("zero", "warm"):
        bilm, errors[state] = BiLM.from_pretrained(*paths, initial_state=state), []
        for batch, wanted in zip(batches, expected, strict=True):
            out = bilm(batch_to_ids(batch))["sequence_output"].numpy()
            pairs = zip(out, wanted, strict=True)
            errors[state].append(max(np.abs(y[: len(x)] - x).max() for y, x in pairs))
    assert errors["zero"][0] < 1e-5 and min(errors["zero"][1:]) > 0.05
    assert max(errors["warm"][1:]) < 0.1 * max(errors["zero"][1:])


@pytest.mark.slow
def test_the_original_fixture_against_the_loops(tfreps_data):
    """All layers for a known word, an unknown word and a word of 60 bytes."""
    folder = tfreps_data / "bilm_tf_fixture"
    options = json.loads((folder / "options.json").read_text())
    weights = arrays_of(folder / "lm_weights.hdf5")
    words = (folder / "vocab_test.txt").read_text().split()
    sentence = [words[10], "unheardof", "é" * 30]
    assert words[10] not in ("<S>", "</S>") and "unheardof" not in words
    bilm = BiLM.from_pretrained(folder / "options.json", folder / "lm_weights.hdf5")
    expected, _ = elmo.bilm(weights, options, sentence)
    out = bilm(batch_to_ids([sentence]))["layer_outputs_with_boundaries"][0]
    # Terms are characters, filters and gates of two layers.
    assert_close(out, expected, terms=256)


def test_the_originals_vocabulary_lacks_the_unknown_token(tfreps_data):
    with pytest.raises(ValueError, match="found no <UNK>"):
        Vocabulary.read(tfreps_data / "bilm_tf_fixture" / "vocab_test.txt")


def test_a_carried_batch_of_the_same_files_equals_the_loops(tmp_path):
    """Outputs in `"carry"` after loading equal plain loops over the arrays of the file."""
    options, weights, paths = files(tmp_path)
    bilm, state = BiLM.from_pretrained(*paths, initial_state="carry"), None
    for sentence in (SENTENCES[0], SENTENCES[3]):
        expected, state = elmo.bilm(weights, options, sentence, state)
        out = bilm(batch_to_ids([sentence]))["layer_outputs"][0]
        assert_close(out, expected[:, 1:-1], terms=256)
