"""DistilBERT and ELECTRA: outputs equal those of transformers; round trips; other model types."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import tfreps
from benchmarks.bert_cases import RAW_PIECES, array_of
from benchmarks.bert_family_cases import KINDS, model_type
from tests.convert.bert_folders import check, hugging_face
from tfreps._src.convert.bert_families import OTHER_TYPES
from tfreps._src.convert.hugging_face import layout
from tfreps._src.convert.hugging_face_config import as_json, encoder_options, head_dropout
from tfreps._src.convert.preset_model import is_hugging_face
from tfreps.inference import TextBert, TextClassifier, TextTagger
from tfreps.models import BertEncoder, BertPretrainer, Classifier, Tagger

HEADS = {
    "MaskedLM": (BertPretrainer, {"token_logits"}),
    "SequenceClassification": (Classifier, {"logits"}),
    "TokenClassification": (Tagger, {"emissions"}),
}
CASES = {  # cases whose outputs are stored
    "distilbert": (("gelu", "usual"), ("gelu_new", "unusual")),
    "electra": (("gelu_new", "usual"), ("gelu", "unusual")),
}
SMALL = {"vocabulary_size": 9, "hidden_dim": 8, "num_layers": 1, "num_heads": 2}
DISTILBERT = {"model_type": "distilbert", "vocab_size": 9, "dim": 8, "n_layers": 1, "n_heads": 2}
DISTILBERT = {**DISTILBERT, "hidden_dim": 12}


def stored(kind):
    """Returns the cases of a class of transformers whose outputs are stored."""
    cases = [
        {"kind": kind, "activation": activation, "sizes": sizes}
        for activation, sizes in CASES[model_type(kind)]
        if kind != "ElectraForMaskedLM" or activation == "gelu"
    ]
    more = {"style": "late", "prefix": f"{model_type(kind)}.", "files": "single"}
    return [{**case, **more} for case in cases]


EVERY = [case for kind in KINDS for case in stored(kind)]


def name_of(case):
    return f"{case['kind']}-{case['sizes']}"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "case",
    [c if c["sizes"] == "unusual" else pytest.param(c, marks=pytest.mark.slow) for c in EVERY],
    ids=name_of,
)
def test_every_class_of_transformers(tmp_path, case):
    hugging_face(tmp_path, case)
    encoder = BertEncoder.from_pretrained(tmp_path)
    assert check(encoder, case) == {"layer_outputs"}
    assert encoder.pooler == ("pooler" in KINDS[case["kind"]])
    task = case["kind"].partition("For")[2]
    if task in HEADS:
        model, outputs = HEADS[task]
        assert check(model.from_pretrained(tmp_path), case) == outputs


@pytest.mark.few(1)
@pytest.mark.parametrize("case", [c for c in EVERY if c["sizes"] == "unusual"], ids=name_of)
def test_names_without_prefix(tmp_path, case):
    check(BertEncoder.from_pretrained(hugging_face(tmp_path, case, prefix="")), case)


@pytest.mark.few(3)
@pytest.mark.parametrize("case", [c for c in EVERY if "PreTrain" not in c["kind"]], ids=name_of)
def test_what_is_saved_is_bit_equal(tmp_path, case):
    model, _ = HEADS.get(case["kind"].partition("For")[2], (BertEncoder, None))
    case = {**case, "prefix": "" if model is BertEncoder else case["prefix"]}
    hugging_face(tmp_path / "a", case)
    model.from_pretrained(tmp_path / "a").save_pretrained(tmp_path / "b")
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in "ab")
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(second[name], array)
    first, second = (json.loads((tmp_path / n / "config.json").read_text()) for n in "ab")
    first.pop("sinusoidal_pos_embds", None)  # the table is stored as learned positions
    assert {key: second[key] for key in first} == first
    card = (tmp_path / "b" / "README.md").read_text()
    assert f"transformers.{case['kind']}.from_pretrained" in card


def test_the_options_of_distilbert():
    changes = {"dropout": 0.2, "attention_dropout": 0.3, "activation": "relu"}
    ignored = {"tie_weights_": True, "sinusoidal_pos_embds": True, "qa_dropout": 0.1}
    options = encoder_options({**DISTILBERT, **changes, **ignored}, "x")
    assert (options["dropout"], options["attention_dropout"]) == (0.2, 0.3)
    assert (options["hidden_dim"], options["intermediate_dim"]) == (8, 12)
    assert (options["num_segments"], options["pooler_activation"]) == (0, "relu")
    again = as_json(BertEncoder(**options, pooler=False).get_config())
    assert encoder_options(again, "x") == options
    with pytest.raises(ValueError, match="x: these keys are not supported: layer_norm_eps"):
        encoder_options({**DISTILBERT, "layer_norm_eps": 1e-12}, "x")
    with pytest.raises(ValueError, match="x: `n_heads` must divide `dim`; got 3 and 8"):
        encoder_options({**DISTILBERT, "n_heads": 3}, "x")
    with pytest.raises(ValueError, match="x: `dim` is missing"):
        encoder_options({"model_type": "distilbert", "vocab_size": 9}, "x")


def test_the_dropout_of_heads():
    both = {**DISTILBERT, "dropout": 0.4, "seq_classif_dropout": 0.3}
    assert head_dropout(both, "x") == 0.3 and head_dropout(both, "x", tags=True) == 0.4
    assert head_dropout(DISTILBERT, "x") == 0.2
    assert head_dropout(DISTILBERT, "x", tags=True) == 0.1
    electra = {"model_type": "electra", "hidden_dropout_prob": 0.4}
    assert head_dropout(electra, "x") == head_dropout(electra, "x", tags=True) == 0.4
    tagger = Tagger(BertEncoder(**SMALL, num_segments=0, pooler=False), ["a", "b"], use_crf=False)
    assert head_dropout(layout(tagger).config, "x", tags=True) == tagger.dropout == 0.5


@pytest.mark.parametrize("given", [*OTHER_TYPES, "gpt2", None, ["bert"]])
def test_other_model_types(given):
    reason = (
        f", which is not supported: {OTHER_TYPES[given]}." if str(given) in OTHER_TYPES else "."
    )
    with pytest.raises(ValueError) as raised:
        encoder_options({"model_type": given}, "x")
    assert str(raised.value) == (
        "x: `model_type` must be 'bert' or 'distilbert' or 'electra' for BertEncoder; got "
        f"{given!r}{reason}"
    )


def test_what_a_checkpoint_cannot_do(tmp_path):
    case = stored("ElectraForMaskedLM")[0]
    hugging_face(tmp_path, case, activation="gelu_new")
    with pytest.raises(ValueError, match="head has the activation 'gelu', but .* have 'gelu_tanh'"):
        BertPretrainer.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="`embedding_dim` of .* is 12 and cannot be changed"):
        BertEncoder.from_pretrained(tmp_path, embedding_dim=4)
    case = stored("ElectraForPreTraining")[0]
    with pytest.raises(ValueError, match="has no masked-LM head"):
        BertPretrainer.from_pretrained(hugging_face(tmp_path / "b", case))
    with pytest.raises(ValueError, match="has no next-sentence head"):
        Classifier.from_pretrained(tmp_path / "b", next_sentence=True)
    case = stored("ElectraForTokenClassification")[0]
    with pytest.raises(ValueError, match="has the head of ElectraForTokenClassification"):
        Classifier.from_pretrained(hugging_face(tmp_path / "c", case))

    def other_table(arrays):
        arrays["vocab_projector.weight"] = np.ones((19, 16), "float32")

    hugging_face(tmp_path / "d", stored("DistilBertForMaskedLM")[0], other_table)
    with pytest.raises(ValueError, match="vocab_projector.weight differs from distilbert.embed"):
        BertPretrainer.from_pretrained(tmp_path / "d")
    BertEncoder.from_pretrained(tmp_path / "d")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_segments": 0, "embedding_dim": 4}, "`embedding_dim` must be 8 .*DistilBERT"),
        ({"num_segments": 0, "layer_norm_epsilon": 1e-5}, "`layer_norm_epsilon` must be 1e-12"),
        ({"num_segments": 0, "pooler": True}, "`pooler` must be False for .* DistilBertModel"),
        ({"pooler_activation": "relu", "pooler": True}, "must be 'tanh' for Hugging Face's BERT"),
        ({"embedding_dim": 4, "pooler": True}, "`pooler` must be False for .* ElectraModel"),
        ({"embedding_dim": 4, "activation": "tanh"}, "Face's ELECTRA; .* created with 'tanh'"),
    ],
)
def test_what_hugging_face_has_no_place_for(tmp_path, options, message):
    encoder = BertEncoder(**{**SMALL, "pooler": False, **options})
    with pytest.raises(ValueError, match=message):
        encoder.save_pretrained(tmp_path)
    assert not is_hugging_face(encoder)


def test_heads_that_hugging_face_has_no_place_for(tmp_path):
    for options, message in (
        ({"num_segments": 0}, "`pooler_activation` must be 'relu' for Hugging Face's DistilBERT"),
        ({"embedding_dim": 4}, "`pooler_activation` must be 'gelu' for Hugging Face's ELECTRA"),
    ):
        with pytest.raises(ValueError, match=message):
            model = Classifier(BertEncoder(**SMALL, **options), ["a", "b"], "pooled_output")
            model.save_pretrained(tmp_path)
    encoder = BertEncoder(**SMALL, embedding_dim=4, pooler_activation="gelu")
    with pytest.raises(ValueError, match="`next_sentence` must be False for .* ELECTRA"):
        BertPretrainer(encoder).save_pretrained(tmp_path)
    encoder = BertEncoder(**SMALL, embedding_dim=4, pooler=False, activation="relu")
    with pytest.raises(ValueError, match="`activation` must be 'gelu' for the masked-LM head of"):
        BertPretrainer(encoder, next_sentence=False).save_pretrained(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        *("ElectraForTokenClassification", "DistilBertForSequenceClassification"),
        *("ElectraForSequenceClassification", "ElectraForPreTraining", "DistilBertModel"),
    ],
)
def test_raw_texts(tmp_path, kind):
    name = "embeddings.word_embeddings.weight"

    def more_words(arrays):
        arrays[name] = array_of(name, (len(RAW_PIECES), arrays[name].shape[1]))

    hugging_face(tmp_path, stored(kind)[0], more_words, {"vocab_size": len(RAW_PIECES)})
    (tmp_path / "vocab.txt").write_text("\n".join(RAW_PIECES))
    named = {"tokenizer_class": "ElectraTokenizer", "do_lower_case": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(named))
    model = tfreps.load(tmp_path)
    task = kind.partition("For")[2]
    kinds = {"SequenceClassification": TextClassifier, "TokenClassification": TextTagger}
    assert type(model) is kinds.get(task, TextBert)
    model("ab c.")
