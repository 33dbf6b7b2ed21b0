"""TextBiLM returns the vectors of the model."""

import keras
import numpy as np
import pytest

from tests.tiny_run import VOCABULARY, make_pretrainer
from tfreps.inference import TextBiLM
from tfreps.models import Elmo
from tfreps.text import batch_to_ids

EXACT = {"rtol": 1e-5, "atol": 1e-6}


def test_vectors_of_raw_texts():
    model = make_pretrainer()
    trained = TextBiLM(model, VOCABULARY)
    found = trained("the  left bank")
    expected = model.bilm(batch_to_ids([["the", "left", "bank"]]))["layer_outputs"][0]
    assert found.tokens == ["the", "left", "bank"] and found.pooled is None
    np.testing.assert_allclose(found.vectors, expected, **EXACT)


@pytest.mark.slow
def test_some_layers_alone_and_mixed():
    model = make_pretrainer()
    trained = TextBiLM(model, VOCABULARY)
    expected = model.bilm(batch_to_ids([["the", "left", "bank"]]))["layer_outputs"][0]
    first, second = trained.encode([["the", "left", "bank"], ""], layers="top")
    np.testing.assert_allclose(first, expected[-1], **EXACT)
    assert second.shape == (0, 12) and trained([]) == []
    mixed = trained.encode(["the left bank"], layers=[0.5, 0.0, 2.0])[0]
    np.testing.assert_allclose(mixed, 0.5 * expected[0] + 2.0 * expected[2], **EXACT)


@pytest.mark.slow
def test_the_initial_state():
    model = Elmo(make_pretrainer().bilm)
    assert TextBiLM(model).bilm is model.bilm
    warm = TextBiLM(model, initial_state="warm")
    assert warm.model is model and warm.bilm.initial_state == "warm"
    expected = warm.bilm(batch_to_ids([["the"]]))["layer_outputs"][0]
    np.testing.assert_allclose(warm("the").vectors, expected, **EXACT)


def test_no_bilm():
    with pytest.raises(ValueError, match="must be a BiLM, BiLMPretrainer or Elmo; got a Seq"):
        TextBiLM(keras.Sequential())
