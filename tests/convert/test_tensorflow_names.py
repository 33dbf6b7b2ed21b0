"""Names of arrays that the TensorFlow models of transformers 4.53 write to safetensors files."""

import pytest

from tests.convert.bert_folders import USUAL, check, hugging_face
from tfreps._src.convert.bert_files import pytorch_name
from tfreps.models import BertEncoder, BertPretrainer, Classifier, Tagger

BERT = """
bert/embeddings/LayerNorm/beta:0                         bert.embeddings.LayerNorm.bias
bert/embeddings/LayerNorm/gamma:0                        bert.embeddings.LayerNorm.weight
bert/embeddings/position_embeddings/embeddings:0         bert.embeddings.position_embeddings.weight
bert/embeddings/token_type_embeddings/embeddings:0     bert.embeddings.token_type_embeddings.weight
bert/embeddings/word_embeddings/weight:0                 bert.embeddings.word_embeddings.weight
bert/encoder/layer_._0/attention/self/query/kernel:0
                                              bert.encoder.layer.0.attention.self.query.weight
bert/encoder/layer_._1/output/LayerNorm/beta:0           bert.encoder.layer.1.output.LayerNorm.bias
bert/pooler/dense/bias:0                                 bert.pooler.dense.bias
mlm___cls/predictions/bias:0                             cls.predictions.bias
mlm___cls/predictions/transform/LayerNorm/gamma:0      cls.predictions.transform.LayerNorm.weight
mlm___cls/predictions/transform/dense/kernel:0           cls.predictions.transform.dense.weight
nsp___cls/seq_relationship/kernel:0                      cls.seq_relationship.weight
classifier/kernel:0                                      classifier.weight
"""
DISTILBERT = """
distilbert/transformer/layer_._0/attention/q_lin/kernel:0
                                            distilbert.transformer.layer.0.attention.q_lin.weight
distilbert/transformer/layer_._0/sa_layer_norm/gamma:0
                                            distilbert.transformer.layer.0.sa_layer_norm.weight
vocab_projector/bias:0                      vocab_projector.bias
vocab_layer_norm/beta:0                     vocab_layer_norm.bias
pre_classifier/kernel:0                     pre_classifier.weight
"""
ELECTRA = """
electra/embeddings_project/kernel:0         electra.embeddings_project.weight
generator_lm_head/bias:0                    generator_lm_head.bias
generator_predictions/LayerNorm/gamma:0     generator_predictions.LayerNorm.weight
classifier/out_proj/kernel:0                classifier.out_proj.weight
"""


@pytest.mark.parametrize(
    "names", [BERT, DISTILBERT, ELECTRA], ids=["bert", "distilbert", "electra"]
)
def test_names(names):
    words = names.split()
    assert [pytorch_name(name) for name in words[::2]] == words[1::2]


def tensorflow_name(name):
    """Returns the TensorFlow name of an array of a PyTorch model; the opposite of `BERT`."""
    path, _, last = name.rpartition(".")
    norm = {"weight": "gamma", "bias": "beta"}
    if path.endswith("LayerNorm"):
        last = norm[last]
    elif path.endswith(("position_embeddings", "token_type_embeddings")):
        last = "embeddings"
    elif last == "weight" and not path.endswith("word_embeddings"):
        last = "kernel"
    path = path.replace(".", "/").replace("layer/", "layer_._")
    head = {"cls/predictions": "mlm___", "cls/seq_relationship": "nsp___"}
    start = next((mark for stem, mark in head.items() if path.startswith(stem)), "")
    return f"{start}{path}/{last}:0"


def as_tensorflow(arrays):
    for name in list(arrays):
        array, new = arrays.pop(name), tensorflow_name(name)
        arrays[new] = array.T.copy() if new.endswith("/kernel:0") else array


def test_the_way_back():
    words = BERT.split()
    assert [tensorflow_name(name) for name in words[1::2]] == words[::2]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kind, model",
    [
        ("BertModel", BertEncoder),
        ("BertForPreTraining", BertPretrainer),
        ("BertForSequenceClassification", Classifier),
        ("BertForTokenClassification", Tagger),
    ],
)
def test_files_of_tensorflow_models(tmp_path, kind, model):
    hugging_face(tmp_path, USUAL, kind=kind, change=as_tensorflow)
    assert check(model.from_pretrained(tmp_path), USUAL)
