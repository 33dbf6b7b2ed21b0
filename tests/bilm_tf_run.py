"""Writes a bilm-tf training folder: options.json and a checkpoint of a TF 1 graph."""

import json

import numpy as np
import tensorflow as tf

from tests import oracles
from tests.convert.bert_folders import write_checkpoint

v1 = tf.compat.v1
SIZE = 20  # tokens


def training_options(lstm=(), characters=(), **changes):
    """Returns the options.json of a small run. With `characters=None`, it reads token ids."""
    options = oracles.options_with(lstm, characters)
    if "char_cnn" in options:
        options["char_cnn"]["n_characters"] = 261
    training = {
        "bidirectional": True,
        "dropout": 0.25,
        "n_tokens_vocab": SIZE,
        "n_negative_samples_batch": 8,
        "sample_softmax": True,
        "batch_size": 3,
        "unroll_steps": 5,
        "all_clip_norm_val": 7.5,
        "n_epochs": 10,
        "n_train_tokens": 1000,
    }
    return {**options, **training, **changes}


def training_shapes(options):
    """Returns the shapes of the variables of bilm-tf's training graph, taken from its code."""
    lstm, size = options["lstm"], options["n_tokens_vocab"]
    units, dim = lstm["dim"], lstm["projection_dim"]
    shapes = {f"lm/{name}": shape for name, shape in oracles.token_shapes(options, size).items()}
    for direction in ("RNN_0/", "RNN_1/") if options["bidirectional"] else ("",):
        for layer in range(lstm["n_layers"]):
            wrapper = f"multi_rnn_cell/cell_{layer}/" if lstm["n_layers"] > 1 else ""
            cell = f"lm/{direction}rnn/{wrapper}lstm_cell/"
            shapes[cell + "kernel"] = 2 * dim, 4 * units
            shapes[cell + "bias"] = (4 * units,)
            if dim < units:
                shapes[cell + "projection/kernel"] = units, dim
    if not options.get("share_embedding_softmax"):
        shapes["lm/softmax/W"] = size, dim
    shapes["lm/softmax/b"] = (size,)
    return shapes


def training_arrays(options, seed=0, slots=True, scale=0.5):
    """Returns random weights and accumulators."""
    rng, arrays = np.random.default_rng(seed), {}
    for name, shape in training_shapes(options).items():
        arrays[name] = (scale * rng.normal(size=shape)).astype("float32")
        if slots:
            arrays[name + "/Adagrad"] = rng.uniform(1.0, 3.0, shape).astype("float32")
    return {**arrays, "train_perplexity": np.float32(12.5), "global_step": np.int64(1234)}


def write_training_folder(folder, options, arrays, version=v1.train.SaverDef.V2):
    """Saves the arrays as TF 1 saves the variables of a graph, and returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    if version == v1.train.SaverDef.V2:
        write_checkpoint(folder / "model.ckpt-1234", arrays)
        v1.train.update_checkpoint_state(str(folder), str(folder / "model.ckpt-1234"))
        return folder
    with v1.Graph().as_default(), v1.Session() as session:
        for name, array in arrays.items():
            v1.get_variable(name, initializer=array, use_resource=False)
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(write_version=version)
        saver.save(session, str(folder / "model.ckpt"), global_step=1234)
    return folder
