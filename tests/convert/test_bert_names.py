"""Array names of Google and Hugging Face, and arrays that may be ignored."""

import pytest

from tests.convert.bert_folders import google_name
from tfreps.convert.bert_names import GoogleNames, HuggingFaceNames


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
    assert (family.without_use(name) is not None) == known
