"""Tests the small DistilBERT and ELECTRA checkpoints: their number, configs and arrays."""

from benchmarks.bert_family_cases import (
    KINDS,
    family_cases,
    family_config,
    family_shapes,
    model_type,
)


def shapes(kind, sizes="unusual"):
    config = family_config({"kind": kind, "activation": "gelu", "sizes": sizes})
    return family_shapes(config, kind)


def test_every_combination_that_is_supported():
    cases = family_cases()
    assert {case["kind"] for case in cases} == set(KINDS)
    assert len(cases) == len({tuple(case.values()) for case in cases}) == 9 * 2**3 - 4
    generators = {c["activation"] for c in cases if c["kind"] == "ElectraForMaskedLM"}
    assert generators == {"gelu"}


def test_model_types():
    assert [model_type(kind) for kind in ("BertModel", "DistilBertModel", "ElectraModel")] == [
        *("bert", "distilbert", "electra")
    ]


def test_arrays_of_distilbert():
    found = shapes("DistilBertForSequenceClassification")
    assert found["transformer.layer.2.ffn.lin1.weight"] == (20, 16)
    assert found["classifier.weight"] == (3, 16) and found["pre_classifier.bias"] == (16,)
    assert not any("token_type" in name for name in found)
    assert len(shapes("DistilBertModel")) == 2 + 2 + 3 * 16


def test_arrays_of_electra():
    found = shapes("ElectraForMaskedLM")
    assert found["embeddings.token_type_embeddings.weight"] == (5, 12)
    assert found["embeddings_project.weight"] == (16, 12)
    assert found["generator_predictions.dense.weight"] == (12, 16)
    assert "embeddings_project.weight" not in shapes("ElectraModel", "usual")
    assert shapes("ElectraForSequenceClassification")["classifier.out_proj.weight"] == (3, 16)
