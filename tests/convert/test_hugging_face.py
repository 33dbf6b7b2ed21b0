"""Hugging Face folders in every style: outputs equal those of transformers; round trips."""

import itertools
import json

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file

from benchmarks.bert_cases import KINDS, LABELS, aespresso_positions, config_of, inputs_of
from tests.closeness import BFLOAT16, assert_close
from tests.convert.bert_folders import (
    EXPECTED,
    TERMS,
    UNUSUAL,
    USUAL,
    arrays_of,
    check,
    hugging_face,
)
from tfreps._src.convert.bert_files import names_in
from tfreps.models import BertEncoder, BertPretrainer, Classifier, Tagger

MODELS = {
    "BertForPreTraining": (BertPretrainer, {"token_logits", "next_sentence_logits"}),
    "BertForMaskedLM": (BertPretrainer, {"token_logits"}),
    "BertForSequenceClassification": (Classifier, {"logits"}),
    "BertForTokenClassification": (Tagger, {"emissions"}),
}
SMALL = {"vocabulary_size": 9, "hidden_dim": 8, "num_layers": 1, "num_heads": 2}


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_every_class_of_transformers(tmp_path, kind):
    hugging_face(tmp_path, USUAL, kind=kind)
    compared = check(BertEncoder.from_pretrained(tmp_path), USUAL)
    assert compared == {"layer_outputs"} | ({"pooled_output"} if "pooler" in KINDS[kind] else set())
    if kind in MODELS:
        model, outputs = MODELS[kind]
        assert check(model.from_pretrained(tmp_path), USUAL) == outputs


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["BertForNextSentencePrediction", "BertForPreTraining"])
def test_the_second_task_alone_is_a_classifier_of_pairs(tmp_path, kind):
    model = Classifier.from_pretrained(hugging_face(tmp_path, kind=kind), next_sentence=True)
    check_pairs(model)
    assert model.labels == ["next", "other"]
    model.save_pretrained(tmp_path / "again")
    check_pairs(Classifier.from_pretrained(tmp_path / "again"))


def check_pairs(model):
    ids, segments, mask = inputs_of(config_of(USUAL))
    found = model({"token_ids": ids, "segment_ids": segments, "mask": mask})["logits"]
    expected = EXPECTED["gelu-usual"]["next_sentence_logits"]
    assert_close(found, expected, terms=TERMS)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["BertForSequenceClassification", "BertForTokenClassification"])
@pytest.mark.parametrize("prefix", ["bert.", ""])
def test_heads_over_labels_in_every_manner(tmp_path, kind, prefix):
    hugging_face(tmp_path, UNUSUAL, kind=kind, style="early", prefix=prefix, files="sharded")
    model, outputs = MODELS[kind]
    assert check(model.from_pretrained(tmp_path), UNUSUAL) == outputs


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "style, prefix, files",
    [
        ("late", "bert.", "single"),
        ("early", "", "sharded"),
        *(
            pytest.param(*manner, marks=pytest.mark.slow)
            for manner in itertools.product(("late", "early"), ("bert.", ""), ("single", "sharded"))
            if manner not in (("late", "bert.", "single"), ("early", "", "sharded"))
        ),
    ],
)
def test_every_manner_of_writing(tmp_path, style, prefix, files):
    hugging_face(tmp_path, UNUSUAL, style=style, prefix=prefix, files=files)
    model = BertPretrainer.from_pretrained(tmp_path)
    assert check(model, UNUSUAL) == {"token_logits", "next_sentence_logits"}
    assert model.encoder.layer_norm_epsilon == 1e-3 and model.encoder.num_segments == 5
    assert check(model.encoder, UNUSUAL) == {"layer_outputs", "pooled_output"}


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", MODELS)
def test_what_is_saved_is_bit_equal(tmp_path, kind):
    model, _ = MODELS[kind]
    model.from_pretrained(hugging_face(tmp_path / "a", UNUSUAL, kind=kind)).save_pretrained(
        tmp_path / "b"
    )
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in "ab")
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(second[name], array)
        assert second[name].dtype == np.float32
    first, second = (json.loads((tmp_path / n / "config.json").read_text()) for n in "ab")
    assert {key: second[key] for key in first} == first
    model.from_pretrained(tmp_path / "b")
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [
        *("README.md", "config.json", "model.safetensors")
    ]


def test_an_encoder_is_saved_without_prefix(tmp_path):
    encoder = BertEncoder.from_pretrained(hugging_face(tmp_path / "a", kind="BertModel"))
    encoder.save_pretrained(tmp_path / "b")
    saved = load_file(tmp_path / "b" / "model.safetensors")
    assert saved.keys() == arrays_of({**USUAL, "kind": "BertModel"}).keys()
    assert json.loads((tmp_path / "b" / "config.json").read_text())["architectures"] == [
        "BertModel"
    ]


def test_the_first_blocks_and_positions_alone(tmp_path):
    hugging_face(tmp_path)
    whole = BertEncoder.from_pretrained(tmp_path)
    ids = np.array([[3, 4, 5, 0]])
    part = BertEncoder.from_pretrained(tmp_path, num_layers=2, max_sequence_length=4, pooler=False)
    assert len(part.blocks) == 2 and part.add_positions.table.shape == (4, 16)
    assert part.pooler_dense is None and part.count_params() < whole.count_params()
    np.testing.assert_array_equal(
        part({"token_ids": ids})["layer_outputs"], whole(ids)["layer_outputs"][:, :3]
    )


def test_sines_are_written_as_a_table(tmp_path):
    options = {"positions": "sinusoidal_full_index", "normalize_positions": True}
    encoder = BertEncoder(**SMALL, **options, max_sequence_length=7)
    encoder.save_pretrained(tmp_path)
    table = load_file(tmp_path / "model.safetensors")["embeddings.position_embeddings.weight"]
    assert_close(table, aespresso_positions(7, 8))
    again, ids = BertEncoder.from_pretrained(tmp_path), np.array([[3, 4, 5, 0]])
    np.testing.assert_array_equal(again(ids)["sequence_output"], encoder(ids)["sequence_output"])


def test_precision_of_our_weights_is_no_matter(tmp_path):
    hugging_face(tmp_path, kind="BertModel")
    model = BertEncoder.from_pretrained(tmp_path, dtype="bfloat16", name="other")
    model.save_pretrained(tmp_path / "b")
    saved = load_file(tmp_path / "b" / "model.safetensors")["encoder.layer.0.output.dense.weight"]
    expected = arrays_of(USUAL)["encoder.layer.0.output.dense.weight"]
    assert_close(saved, expected, terms=1, unit=BFLOAT16)
    assert saved.dtype == np.float32


def test_names_are_found_in_the_file():
    assert names_in({"bert.embeddings.LayerNorm.gamma": ()}).norm == ("gamma", "beta")
    assert names_in({"embeddings.LayerNorm.weight": ()}).prefix == ""
    other = "cls.predictions.decoder.bias"
    assert names_in({other: ()}).token_bias == other
    assert names_in({}).token_bias == "cls.predictions.bias"


def test_only_one_name_of_the_token_bias_is_enough(tmp_path):
    def rename(arrays):
        arrays["cls.predictions.decoder.bias"] = arrays.pop("cls.predictions.bias")

    check(BertPretrainer.from_pretrained(hugging_face(tmp_path, change=rename)), USUAL)


def encoder(**options):
    return BertEncoder(**SMALL, **options)


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method:UserWarning")
def test_what_hugging_face_has_no_place_for(tmp_path):
    quantized = encoder()
    quantized.quantize("int8")
    for model, message in (
        (encoder(normalize_first=True), "created with normalize_first=True"),
        (quantized, "token_embedding was quantized .int8."),
        (Classifier(encoder(), ["a", "b"]), "`pooling` must be 'pooled_output'.* has 'mean'"),
        (
            Classifier(encoder(), ["a", "b"], pooling="pooled_output", hidden_units=3),
            "`hidden_units` must be None",
        ),
        (Tagger(encoder(), ["a", "b"]), "`use_crf` must be False"),
        (
            Tagger(other_encoder(), ["a", "b"], use_crf=False),
            "`encoder` must be a BertEncoder .*; this Tagger has a Other",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            model.save_pretrained(tmp_path / "folder")
    assert not (tmp_path / "folder" / "model.safetensors").exists()


def other_encoder():
    class Other(keras.Model):
        output_dim = 4

        def call(self, features, training=False):
            return features

    return Other()


def test_the_head_goes_with_its_names(tmp_path):
    hugging_face(tmp_path, kind="BertForTokenClassification", config={"classifier_dropout": 0.3})
    tagger = Tagger.from_pretrained(tmp_path, scheme="bio", encoder_options={"num_layers": 1})
    assert tagger.tags == LABELS and tagger.dropout == 0.3 and not tagger.use_crf
    assert len(tagger.encoder.blocks) == 1
    assert Tagger.from_pretrained(tmp_path, tags=["a", "b", "c"]).tags == ["a", "b", "c"]
    with_crf = Tagger.from_pretrained(tmp_path, use_crf=True, dropout=0.0)
    np.testing.assert_array_equal(with_crf.kernel, tagger.kernel)
    with pytest.raises(ValueError, match="`tags` must have 3 names, .*; got \\['a'\\]"):
        Tagger.from_pretrained(tmp_path, tags=["a"])
