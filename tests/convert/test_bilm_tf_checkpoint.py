"""bilm-tf training checkpoints: each array is read into its weight, or an error names it."""

import shutil

import numpy as np
import pytest

from tests.bilm_tf_run import SIZE, training_arrays, training_options, v1, write_training_folder
from tfreps._src.convert import bilm_tf_checkpoint

CASES = {
    "characters": {},
    "one direction, one layer": {"bidirectional": False, "lstm": {"n_layers": 1}},
    "no projection, one layer": {"lstm": {"dim": 4, "projection_dim": 4, "n_layers": 1}},
    "no projection of the characters": {
        "characters": {"filters": [[1, 2], [3, 2]], "n_highway": 1}
    },
    "token ids": {"characters": None, "lstm": {"n_layers": 1}},
    "tied, three layers": {
        "characters": None,
        "share_embedding_softmax": True,
        "lstm": {"n_layers": 3},
    },
    "tied, one direction": {
        "characters": None,
        "share_embedding_softmax": True,
        "bidirectional": False,
    },
}


def swapped(array):
    """Reorders the gates i, j, f, o to i, f, j, o."""
    units = array.shape[-1] // 4
    i, j, f, o = (array[..., n * units : (n + 1) * units] for n in range(4))
    return np.concatenate([i, f, j, o], axis=-1)


def mapped(arrays, options, suffix, first_row):
    """Returns the expected weights (with the suffix: accumulators) by our paths."""
    a = {name.removesuffix(suffix): x for name, x in arrays.items() if name.endswith(suffix)}
    result = {"softmax/bias": a["lm/softmax/b"]}
    for name in ("lm/char_embed", "lm/embedding"):
        if name in a:
            path = {"lm/char_embed": "characters", "lm/embedding": "embeddings"}[name]
            rows = np.concatenate([np.full_like(a[name][:1], first_row), a[name]])
            result[f"token_encoder/{path}"] = rows
    if "lm/softmax/W" in a:
        result["softmax/kernel"] = a["lm/softmax/W"]
    for n in range(3):
        if f"lm/CNN/W_cnn_{n}" in a:
            result[f"token_encoder/convolution_{n}_kernel"] = a[f"lm/CNN/W_cnn_{n}"][0]
            result[f"token_encoder/convolution_{n}_bias"] = a[f"lm/CNN/b_cnn_{n}"]
        if f"lm/CNN_high_{n}/W_carry" in a:
            ours, theirs = f"token_encoder/highway_{n}", f"lm/CNN_high_{n}"
            result[f"{ours}/gate_kernel"] = a[f"{theirs}/W_carry"]
            result[f"{ours}/gate_bias"] = a[f"{theirs}/b_carry"]
            result[f"{ours}/transform_kernel"] = a[f"{theirs}/W_transform"]
            result[f"{ours}/transform_bias"] = a[f"{theirs}/b_transform"]
    if "lm/CNN_proj/W_proj" in a:
        result["token_encoder/projection_kernel"] = a["lm/CNN_proj/W_proj"]
        result["token_encoder/projection_bias"] = a["lm/CNN_proj/b_proj"]
    directions = {"forward": "RNN_0/", "backward": "RNN_1/"}
    if not options["bidirectional"]:
        directions = {"forward": ""}
    for direction, scope in directions.items():
        for layer in range(options["lstm"]["n_layers"]):
            many = options["lstm"]["n_layers"] > 1
            cell = f"lm/{scope}rnn/{f'multi_rnn_cell/cell_{layer}/' if many else ''}lstm_cell"
            ours = f"bilstm/{direction}"
            result[f"{ours}/kernel_{layer}"] = swapped(a[f"{cell}/kernel"])
            result[f"{ours}/bias_{layer}"] = swapped(a[f"{cell}/bias"])
            if f"{cell}/projection/kernel" in a:
                result[f"{ours}/projection_{layer}"] = a[f"{cell}/projection/kernel"]
    return result


def assert_equal(got, expected):
    assert set(got) == set(expected)
    for path, array in expected.items():
        np.testing.assert_array_equal(got[path], array, err_msg=path)


@pytest.mark.parametrize("case", CASES)
def test_every_array_lands_where_it_belongs(tmp_path, case):
    options = training_options(**CASES[case])
    arrays = training_arrays(options)
    model, accumulators = bilm_tf_checkpoint.read_training_folder(
        write_training_folder(tmp_path, options, arrays)
    )
    weights = {path: w.numpy() for path, w in bilm_tf_checkpoint.weights_of(model).items()}
    plain = {name: array for name, array in arrays.items() if not name.endswith("/Adagrad")}
    assert_equal(weights, mapped(plain, options, "", 0.0))
    assert_equal(accumulators, mapped(arrays, options, "/Adagrad", 1.0))
    assert len(weights) == len(model.trainable_weights)


def test_options(tmp_path):
    options = training_options()
    folder = write_training_folder(tmp_path, options, training_arrays(options))
    model = bilm_tf_checkpoint.read_training_folder(folder).model
    assert (model.vocabulary_size, model.num_sampled, model.batch_size) == (SIZE, 8, 3)
    assert (model.clip_norm, model.tie_embeddings, model.bilm.dropout) == (7.5, False, 0.25)
    assert model.bilm.bidirectional and model.bilm.cell_clip == 0.4
    changed = bilm_tf_checkpoint.read_training_folder(
        folder, {"dropout": 0.5}, num_sampled=None, batch_size=2
    )
    assert (changed.model.num_sampled, changed.model.batch_size) == (None, 2)
    assert changed.model.bilm.dropout == 0.5


def test_the_old_format_and_no_accumulators(tmp_path):
    """A run with another optimizer has no accumulators."""
    options = training_options()
    arrays = training_arrays(options, slots=False)
    folder = write_training_folder(tmp_path, options, arrays, v1.train.SaverDef.V1)
    assert (folder / "model.ckpt-1234").is_file()
    model, accumulators = bilm_tf_checkpoint.read_training_folder(folder)
    np.testing.assert_array_equal(model.softmax.kernel.numpy(), arrays["lm/softmax/W"])
    assert accumulators == {}


def test_a_folder_that_was_moved(tmp_path):
    """The file `checkpoint` names the original folder."""
    options = training_options()
    write_training_folder(tmp_path / "there", options, training_arrays(options))
    here = shutil.move(tmp_path / "there", tmp_path / "here")
    assert str(tmp_path / "there") in (here / "checkpoint").read_text()
    assert len(bilm_tf_checkpoint.read_training_folder(here).accumulators) > 10


def change(arrays, name):
    """Returns the arrays with one mistake."""
    kernel = "lm/RNN_1/rnn/multi_rnn_cell/cell_1/lstm_cell/kernel"
    return {
        "missing": {n: a for n, a in arrays.items() if n != kernel},
        "missing accumulator": {n: a for n, a in arrays.items() if n != kernel + "/Adagrad"},
        "extra": {**arrays, "lm/RNN_2/rnn/kernel": np.zeros([2], "float32")},
        "transposed": {**arrays, "lm/softmax/W": arrays["lm/softmax/W"].T},
        "NaN": {**arrays, kernel: np.full_like(arrays[kernel], np.nan)},
        "NaN accumulator": {
            **arrays,
            "lm/softmax/b/Adagrad": np.full_like(arrays["lm/softmax/b"], np.inf),
        },
        "integers": {**arrays, "lm/softmax/b": np.arange(SIZE)},
    }[name]


@pytest.mark.parametrize(
    "mistake, message",
    [
        ("missing", "missing: lm/RNN_1/rnn/multi_rnn_cell/cell_1/lstm_cell/kernel\n"),
        ("missing accumulator", "missing: lm/RNN_1/rnn/.*/lstm_cell/kernel/Adagrad\n"),
        ("extra", "not used: lm/RNN_2/rnn/kernel"),
        ("transposed", r"lm/softmax/W: expected \(20, 4\), got \(4, 20\)"),
        ("NaN", "array lm/RNN_1/rnn/multi_rnn_cell/cell_1/lstm_cell/kernel.* not finite"),
        ("NaN accumulator", "array lm/softmax/b/Adagrad .* not finite"),
        ("integers", "array lm/softmax/b must contain floats; got int64"),
    ],
)
def test_wrong_arrays(tmp_path, mistake, message):
    options = training_options()
    arrays = change(training_arrays(options), mistake)
    write_training_folder(tmp_path, options, arrays)
    with pytest.raises(ValueError, match=message):
        bilm_tf_checkpoint.read_training_folder(tmp_path)


def without(options, section, key):
    part = options[section] if section else options
    del part[key]
    return options


@pytest.mark.parametrize(
    "section, key", [(None, "n_tokens_vocab"), ("lstm", "dim"), ("char_cnn", "filters")]
)
def test_options_without_a_key(tmp_path, section, key):
    options = training_options()
    arrays = training_arrays(options)
    write_training_folder(tmp_path, without(options, section, key), arrays)
    with pytest.raises(ValueError, match=f"options.json.*{key}` is missing"):
        bilm_tf_checkpoint.read_training_folder(tmp_path)


def test_options_of_another_run(tmp_path):
    arrays = training_arrays(training_options())
    write_training_folder(tmp_path, training_options(lstm={"n_layers": 1}), arrays)
    with pytest.raises(ValueError, match="missing: lm/RNN_0/rnn/lstm_cell/bias.*"):
        bilm_tf_checkpoint.read_training_folder(tmp_path)


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda folder: (folder / "checkpoint").unlink(), "expected a bilm-tf training folder"),
        (lambda folder: (folder / "checkpoint").write_bytes(b"\xff\xfe{"), "checkpoint"),
        (lambda folder: (folder / "model.ckpt-1234.index").unlink(), "no model.ckpt-1234"),
        (lambda folder: (folder / "model.ckpt-1234.index").write_bytes(b"torn"), "cannot be read"),
        (
            lambda folder: cut(next(folder.glob("*.data-*"))),
            "describes .* the data files have only 1,000",
        ),
        (lambda folder: (folder / "options.json").unlink(), "options.json"),
    ],
)
def test_broken_folders(tmp_path, spoil, message):
    options = training_options()
    spoil(write_training_folder(tmp_path, options, training_arrays(options)))
    with pytest.raises(ValueError, match=message):
        bilm_tf_checkpoint.read_training_folder(tmp_path)


def cut(path):
    path.write_bytes(path.read_bytes()[:1000])


def test_no_folder(tmp_path):
    with pytest.raises(ValueError, match="options.json"):
        bilm_tf_checkpoint.read_training_folder(tmp_path / "nowhere")
