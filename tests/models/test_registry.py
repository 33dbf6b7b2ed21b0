"""Tests that converters are found for a model class and for classes derived from it."""

import pytest

from tfreps.convert import bilm_files
from tfreps.models import BertEncoder, BiLM, Elmo
from tfreps.models.registry import converter


def test_derived_classes_have_the_converters_of_their_parents():
    class MyBiLM(BiLM):
        pass

    assert converter(MyBiLM, "pretrained") == converter(BiLM, "pretrained")
    assert converter(BiLM, "pretrained").read is bilm_files.read


def test_what_has_no_converter():
    with pytest.raises(
        ValueError, match="Elmo does not support the format 'pretrained'; .*: BertEncoder, "
    ):
        converter(Elmo, "pretrained")
    with pytest.raises(
        ValueError, match="BertEncoder does not support the format 'onnx'; .*: none"
    ):
        converter(BertEncoder, "onnx")
