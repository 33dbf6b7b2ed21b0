"""Google's TF 1 checkpoints: outputs of transformers, a real checkpoint, and broken ones."""

import json
import os

import numpy as np
import pytest
import tensorflow as tf

from tests.convert.bert_folders import (
    UNUSUAL,
    arrays_of,
    as_google,
    check,
    google,
    google_config,
)
from tfreps.models import BertEncoder, BertPretrainer, Classifier

EPSILON = 1e-3  # not in Google's config


def folder(path, change=None, config=(), **case):
    case = {**UNUSUAL, **case}
    arrays = as_google(arrays_of(case))
    if change is not None:
        change(arrays)
    return google(path, arrays, {**google_config(case), **dict(config)})


def test_the_same_numbers_as_transformers(tmp_path):
    path = folder(tmp_path / "google")
    model = BertPretrainer.from_pretrained(path, layer_norm_epsilon=EPSILON)
    assert check(model, UNUSUAL) == {"token_logits", "next_sentence_logits"}
    assert check(model.encoder, UNUSUAL) == {"layer_outputs", "pooled_output"}
    for name in "bert_model.ckpt", "bert_model.ckpt.index":
        assert BertEncoder.from_pretrained(path / name).layer_norm_epsilon == 1e-12
    assert BertEncoder.from_pretrained(path, activation="gelu").activation == "gelu"


def test_a_fine_tuned_classifier_with_what_its_optimizer_kept(tmp_path):
    def add_slots(arrays):
        for name in list(arrays):
            for slot in "adam_m", "adam_v":
                arrays[f"{name}/{slot}"] = np.zeros_like(arrays[name])
        arrays["global_step"] = np.array(7)

    path = folder(tmp_path / "google", add_slots, kind="BertForSequenceClassification")
    options = {"layer_norm_epsilon": EPSILON}
    model = Classifier.from_pretrained(path, ["a", "b", "c"], encoder_options=options)
    assert check(model, UNUSUAL) == {"logits"} and model.labels == ["a", "b", "c"]
    assert Classifier.from_pretrained(path).labels == ["LABEL_0", "LABEL_1", "LABEL_2"]


@pytest.mark.slow
def test_the_real_one_agrees_with_the_way_over_hugging_face(tfreps_data, tmp_path):
    path = tfreps_data / "google_bert_tiny"
    if not path.is_dir():
        pytest.skip(f"needs {path}")
    model = BertPretrainer.from_pretrained(path)
    model.save_pretrained(tmp_path)
    other = BertPretrainer.from_pretrained(tmp_path)
    assert model.encoder.activation == other.encoder.activation == "gelu_tanh"
    features = {
        "token_ids": np.array([[3, 5, 9, 4, 14, 4], [3, 7, 4, 0, 0, 0]]),
        "segment_ids": np.array([[0, 0, 0, 0, 1, 1], [0] * 6]),
        "masked_positions": np.array([[1, 4], [1, 0]]),
    }
    for ours, theirs in (model, other), (model.encoder, other.encoder):
        first, second = ours(features), theirs(features)
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])
    reader = tf.train.load_checkpoint(str(path / "bert_model.ckpt"))
    np.testing.assert_array_equal(
        model.encoder.blocks[1].attention.query_key_value.kernel[:, 4:8],
        reader.get_tensor("bert/encoder/layer_1/attention/self/key/kernel"),
    )
    np.testing.assert_array_equal(
        model.next_sentence_dense.kernel,
        reader.get_tensor("cls/seq_relationship/output_weights").T,
    )


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda path: (path / "bert_config.json").unlink(), "expected bert_config.json next to"),
        (
            lambda path: os.truncate(path / "bert_model.ckpt.data-00000-of-00001", 900),
            "describes [\\d,]+ bytes of arrays, but the data files have only 900",
        ),
        (
            lambda path: (path / "bert_model.ckpt.data-00000-of-00001").unlink(),
            "the data files have only 0|cannot be read",
        ),
        (lambda path: os.truncate(path / "bert_model.ckpt.index", 60), "cannot be read"),
        (
            lambda path: (path / "bert_model.ckpt.index").write_text(
                "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
            ),
            "git-lfs pointer.*git lfs pull",
        ),
        (
            lambda path: (
                (path / "bert_model.ckpt.index").rename(path / "a.index")
                and (path / "b.index").write_text("")
            ),
            "expected one checkpoint .*found a, b",
        ),
        (lambda path: (path / "vocab.txt").write_text("x\n" * 20), "vocab.txt has 20 tokens"),
    ],
)
def test_broken_files(tmp_path, damage, message):
    path = folder(tmp_path / "google")
    damage(path)
    with pytest.raises(ValueError, match=message):
        BertEncoder.from_pretrained(path)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda arrays: arrays.pop("bert/pooler/dense/bias"), "missing: bert/pooler/dense/bias"),
        (lambda arrays: arrays.update(x=np.ones(1, "f")), "not used: x"),
        (
            lambda arrays: arrays.update(
                {"bert/embeddings/word_embeddings": np.ones((18, 16), "f")}
            ),
            "bert/embeddings/word_embeddings: expected \\(19, 16\\), got \\(18, 16\\)",
        ),
        (
            lambda arrays: arrays.update(
                {"bert/embeddings/LayerNorm/beta": np.full(16, np.nan, "f")}
            ),
            "16 of the 16 values of array .*LayerNorm/beta are not finite",
        ),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        BertEncoder.from_pretrained(folder(tmp_path / "google", change))


@pytest.mark.parametrize(
    "config, message",
    [
        ({"directionality": "left"}, "`directionality` must be 'bidi' .*; got 'left'"),
        ({"hidden_act": "tanh"}, "`hidden_act` must be one of .*; got 'tanh'"),
        ({"use_one_hot_embeddings": True}, "these keys are not supported: use_one_hot_"),
        ({"vocab_size": 1 << 40}, "`vocab_size` must be a whole number from 1 to"),
    ],
)
def test_configs_of_other_networks(tmp_path, config, message):
    path = folder(tmp_path / "google", config=config)
    assert json.loads((path / "bert_config.json").read_text()).items() >= config.items()
    with pytest.raises(ValueError, match=message):
        BertEncoder.from_pretrained(path)
