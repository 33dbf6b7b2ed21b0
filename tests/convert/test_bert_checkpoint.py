"""Checkpoints with missing, unexpected or wrongly shaped arrays, and heads of other tasks."""

import numpy as np
import pytest

from tests.convert.bert_folders import USUAL, check, hugging_face
from tfreps.models import BertEncoder, BertPretrainer, Classifier, Tagger

QUERY = "encoder.layer.1.attention.self.query.weight"
WORDS = "embeddings.word_embeddings.weight"


def more(name, *shape):
    return lambda arrays: arrays.update({name: np.ones(shape, np.float32)})


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda arrays: arrays.pop(QUERY), f"missing: bert.{QUERY}\n  not used: none"),
        (lambda arrays: arrays.pop("pooler.dense.bias"), "missing: bert.pooler.dense.bias"),
        (more("adapter.weight", 3), "missing: none\n  not used: bert.adapter.weight"),
        (more("encoder.layer.3.output.dense.bias", 16), "not used: bert.encoder.layer.3.output"),
        (more(QUERY, 16, 8), "query.weight: expected \\(16, 16\\), got \\(16, 8\\)"),
        (more(WORDS, 20, 16), f"{WORDS}: expected \\(19, 16\\), got \\(20, 16\\)"),
        (
            lambda arrays: arrays.update({QUERY: np.full([16, 16], np.nan, "f")}),
            "256 of the 256 values of array .*query.weight are not finite",
        ),
        (
            lambda arrays: arrays.update({QUERY: np.ones([16, 16], "int64")}),
            "query.weight must contain floats; got int64",
        ),
    ],
)
def test_arrays_that_do_not_fit_the_config(tmp_path, change, message):
    hugging_face(tmp_path, change=change)
    with pytest.raises(ValueError, match=message):
        BertEncoder.from_pretrained(tmp_path)


def test_blocks_that_are_not_asked_for_are_not_looked_at(tmp_path):
    hugging_face(tmp_path, change=lambda arrays: arrays.pop(QUERY))
    assert len(BertEncoder.from_pretrained(tmp_path, num_layers=1).blocks) == 1


@pytest.mark.parametrize(
    "overrides, message",
    [
        ({"num_layers": 4}, "`num_layers` must be an int from 1 to 3, .* has 3 layers; got 4"),
        ({"num_layers": "2"}, "`num_layers` must be an int from 1 to 3, .*; got '2'"),
        ({"num_layers": 0}, "`num_layers` must be an int from 1 to 3, .*; got 0"),
        (
            {"max_sequence_length": 13},
            "`max_sequence_length` must be an int from 1 to 12, .*; got 13",
        ),
        ({"hidden_dim": 8}, "`hidden_dim` of .* is 16 and cannot be changed, .*; got 8"),
        ({"vocabulary_size": 20}, "`vocabulary_size` of .* is 19 and cannot be changed"),
        ({"num_heads": 4}, "`num_heads` of .* is 2"),
        ({"normalize_first": True}, "`normalize_first` of .* is False"),
    ],
)
def test_what_a_checkpoint_decides_itself(tmp_path, overrides, message):
    with pytest.raises(ValueError, match=message):
        BertEncoder.from_pretrained(hugging_face(tmp_path), **overrides)


def test_a_pooler_is_there_or_not(tmp_path):
    hugging_face(tmp_path, kind="BertForMaskedLM")
    assert BertEncoder.from_pretrained(tmp_path).pooler_dense is None
    with pytest.raises(ValueError, match="missing: bert.pooler.dense.bias, bert.pooler.dense"):
        BertEncoder.from_pretrained(tmp_path, pooler=True)


def test_the_second_task_may_be_left_out(tmp_path):
    hugging_face(tmp_path)
    model = BertPretrainer.from_pretrained(tmp_path, next_sentence=False, num_layers=3)
    assert check(model, USUAL) == {"token_logits"}
    hugging_face(tmp_path, kind="BertForMaskedLM")
    with pytest.raises(ValueError, match="has no next-sentence head. Pass `next_sentence=False`"):
        BertPretrainer.from_pretrained(tmp_path, next_sentence=True)


def test_a_table_of_its_own_for_the_scores_is_refused(tmp_path):
    hugging_face(tmp_path, config={"tie_word_embeddings": False})
    with pytest.raises(ValueError, match="`tie_word_embeddings` is false, but .* is missing"):
        BertPretrainer.from_pretrained(tmp_path)
    hugging_face(tmp_path, change=more("cls.predictions.decoder.weight", 19, 16))
    with pytest.raises(ValueError, match="decoder.weight differs from bert.embeddings.word"):
        BertPretrainer.from_pretrained(tmp_path)
    hugging_face(tmp_path, change=more("cls.predictions.decoder.bias", 19))
    with pytest.raises(ValueError, match="cls.predictions.bias differs from cls.predictions.deco"):
        BertPretrainer.from_pretrained(tmp_path)
    BertEncoder.from_pretrained(tmp_path)  # needs neither


@pytest.mark.parametrize(
    "model, kind, message",
    [
        (BertPretrainer, "BertModel", "has no masked-LM head. .* use BertPretrainer"),
        (Classifier, "BertForMaskedLM", "has no label or tag head. .* use Classifier\\(Bert"),
        (Tagger, "BertModel", "has no label or tag head. .* use Tagger\\(BertEnc"),
        (Tagger, "BertForSequenceClassification", "the head of BertForSequenceClassification"),
        (Classifier, "BertForTokenClassification", "the head of BertForTokenClassification"),
    ],
)
def test_heads_that_are_not_there_or_mean_another_thing(tmp_path, model, kind, message):
    with pytest.raises(ValueError, match=message):
        model.from_pretrained(hugging_face(tmp_path, kind=kind))


def test_a_classifier_of_pairs_needs_the_second_task(tmp_path):
    hugging_face(tmp_path, kind="BertForMaskedLM")
    with pytest.raises(ValueError, match="has no next-sentence head"):
        Classifier.from_pretrained(tmp_path, next_sentence=True)
    hugging_face(tmp_path)
    with pytest.raises(ValueError, match="`labels` must have 2 names, .*; got"):
        Classifier.from_pretrained(tmp_path, ["a", "b", "c"], next_sentence=True)


def test_a_classifier_chooses_one_label(tmp_path):
    for kind in "regression", "multi_label_classification":
        hugging_face(tmp_path, kind="BertForSequenceClassification", config={"problem_type": kind})
        with pytest.raises(ValueError, match=f"choose one of at least two labels; .*{kind}"):
            Classifier.from_pretrained(tmp_path)
    hugging_face(tmp_path, kind="BertForSequenceClassification")
    with pytest.raises(ValueError, match="`pooling` must be 'pooled_output' .*; got 'mean'"):
        Classifier.from_pretrained(tmp_path, pooling="mean")
    with pytest.raises(ValueError, match="`pooler` must be True for the head of"):
        Classifier.from_pretrained(tmp_path, encoder_options={"pooler": False})
    model = Classifier.from_pretrained(tmp_path, ["x", "y", "z"], dropout=0.2)
    assert model.labels == ["x", "y", "z"] and model.dropout == 0.2
    hugging_face(tmp_path / "pairs", kind="BertForPreTraining")
    with pytest.raises(ValueError, match="`pooler` must be True to load the next-sentence head"):
        BertPretrainer.from_pretrained(tmp_path / "pairs", pooler=False)
    with pytest.raises(ValueError, match="`id2label` must name .* 0 to 2, .* \\['0', '1'\\]"):
        names = {"id2label": {"0": "a", "1": "b"}}
        hugging_face(tmp_path, kind="BertForSequenceClassification", config=names)
        Classifier.from_pretrained(tmp_path)
