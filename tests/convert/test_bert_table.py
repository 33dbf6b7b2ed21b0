"""The BERT table has every transformers array once, with its shape, and each of our weights."""

import pytest

from benchmarks.bert_cases import KINDS, config_of, shapes_of
from tests.convert.bert_folders import UNUSUAL, google_name
from tfreps._src.convert import bert_table
from tfreps._src.convert.bert_table import GoogleNames, HuggingFaceNames
from tfreps._src.convert.hugging_face_config import encoder_options
from tfreps.models import BertEncoder


def rows_of(names, kind):
    options = encoder_options(config_of({**UNUSUAL, "kind": kind}), "x")
    options["pooler"] = "pooler" in KINDS[kind]
    rows = bert_table.encoder_rows(names, options)
    parts = {
        "masked": bert_table.masked_lm_rows(names, options),
        "next": bert_table.next_sentence_rows(names, options),
        "labels": bert_table.label_rows(names, options, 3),
    }
    return rows + [row for part in KINDS[kind] if part in parts for row in parts[part]]


@pytest.mark.parametrize("kind", KINDS)
def test_each_array_has_its_row(kind):
    expected = shapes_of(config_of(UNUSUAL), kind)
    rows = rows_of(HuggingFaceNames(prefix=""), kind)
    assert len(rows) == len(expected) and {row.foreign: row.shape for row in rows} == expected
    rows = rows_of(GoogleNames(), kind)
    turned = {
        google_name(n): s[::-1] if google_name(n).endswith("kernel") else s
        for n, s in expected.items()
    }
    assert len(rows) == len(expected) and {row.foreign: row.shape for row in rows} == turned


def test_each_weight_has_its_rows():
    options = encoder_options(config_of(UNUSUAL), "x") | {"pooler": True}
    encoder = BertEncoder(**options)
    weights = bert_table.weights_of(encoder)
    rows = bert_table.encoder_rows(HuggingFaceNames(), options)
    assert set(weights) == {row.ours for row in rows}
    assert sum(w.shape.num_elements() for w in weights.values()) == encoder.count_params()


def test_sines_have_no_row_and_wide_is_four_times():
    options = encoder_options(config_of(UNUSUAL), "x") | {"pooler": False, "num_layers": 1}
    options |= {"positions": "sinusoidal", "intermediate_dim": None}
    rows = {row.foreign: row for row in bert_table.encoder_rows(HuggingFaceNames(), options)}
    assert "bert.embeddings.position_embeddings.weight" not in rows
    assert rows["bert.encoder.layer.0.intermediate.dense.weight"].shape == (64, 16)


def test_any_array_of_a_part_means_the_part():
    rows = bert_table.pooler_rows(HuggingFaceNames(), {"hidden_dim": 2})
    assert bert_table.has(rows, {"bert.pooler.dense.bias": (2,)})
    assert not bert_table.has(rows, {"pooler.dense.bias": (2,)})


def names(rows):
    return [row.foreign for row in rows]


def test_google():
    google = GoogleNames()
    assert names(google.dense("encoder.layer.3.output.dense", 2, 5, "x")) == [
        *("bert/encoder/layer_3/output/dense/kernel", "bert/encoder/layer_3/output/dense/bias")
    ]
    assert names(google.layer_norm("embeddings.LayerNorm", 2, "x")) == [
        *("bert/embeddings/LayerNorm/gamma", "bert/embeddings/LayerNorm/beta")
    ]
    table = google.table("embeddings.word_embeddings", (3, 2), "x")
    assert table.foreign == google_name("embeddings.word_embeddings.weight")
    assert names(google.output("cls.seq_relationship", 5, 2, "x")) == [
        *("cls/seq_relationship/output_weights", "cls/seq_relationship/output_bias")
    ]
    assert names(google.output("classifier", 5, 2, "x")) == ["output_weights", "output_bias"]


def test_kernels_lie_as_their_makers_have_them():
    for family, shapes in (GoogleNames(), [(2, 5), (5, 2)]), (HuggingFaceNames(), [(5, 2)] * 2):
        for make, shape in zip((family.dense, family.output), shapes, strict=True):
            kernel, bias = make("classifier", 2, 5, "x")
            assert (kernel.shape, bias.shape) == (shape, (5,))


def test_hugging_face_before_and_after():
    early = HuggingFaceNames(prefix="", norm=("gamma", "beta"))
    assert names(early.layer_norm("embeddings.LayerNorm", 2, "x")) == [
        *("embeddings.LayerNorm.gamma", "embeddings.LayerNorm.beta")
    ]
    late = HuggingFaceNames()
    assert names(late.dense("pooler.dense", 2, 2, "x"))[0] == "bert.pooler.dense.weight"
    assert late.stem("cls.predictions") == "cls.predictions"


@pytest.mark.parametrize(
    "family, name, known",
    [
        (HuggingFaceNames(), "bert.embeddings.position_ids", True),
        (HuggingFaceNames(), "embeddings.position_ids", False),
        (HuggingFaceNames(), "cls.predictions.decoder.weight", True),
        (HuggingFaceNames(), "qa_outputs.bias", True),
        (HuggingFaceNames(), "bert.adapter", False),
        (GoogleNames(), "global_step", True),
        (GoogleNames(), "bert/pooler/dense/kernel/adam_m", True),
        (GoogleNames(), "bert/pooler/dense/kernel/AdamWeightDecayOptimizer_1", True),
        (GoogleNames(), "cls/squad/output_bias", True),
        (GoogleNames(), "bert/adam_model", False),
    ],
)
def test_what_may_be_left(family, name, known):
    assert family.without_use(name) == known
