"""Converters are found by the class of a model, and for classes derived from it."""

import pytest

from tfreps.convert import bilm_tf
from tfreps.models import BertEncoder, BiLM, Elmo
from tfreps.models.registry import converter


def test_derived_classes_have_the_converters_of_their_parents():
    class MyBiLM(BiLM):
        pass

    assert converter(MyBiLM, "bilm_tf") == converter(BiLM, "bilm_tf")
    assert converter(BiLM, "bilm_tf").read is bilm_tf.read


def test_what_has_no_converter():
    with pytest.raises(
        ValueError, match="Elmo has no format 'bilm_tf'; models that have one: BiLM"
    ):
        converter(Elmo, "bilm_tf")
    with pytest.raises(ValueError, match="BertEncoder has no format 'onnx'.* have one: none"):
        converter(BertEncoder, "onnx")
