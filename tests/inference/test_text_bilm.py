"""TextBiLM returns the vectors of the model."""

import keras
import pytest

from tests.closeness import assert_close
from tests.tiny_run import VOCABULARY, make_pretrainer
from tfreps.inference import TextBiLM
from tfreps.models import Elmo
from tfreps.text import batch_to_ids


@pytest.mark.slow
def test_vectors_of_raw_texts():
    model = make_pretrainer()
    trained = TextBiLM(model, VOCABULARY)
    found = trained("the  left bank")
    expected = model.bilm(batch_to_ids([["the", "left", "bank"]]))["layer_outputs"][0]
    assert found.tokens == ["the", "left", "bank"] and found.pooled is None
    assert_close(found.vectors, expected)


@pytest.mark.slow
def test_some_layers_alone_and_mixed():
    model = make_pretrainer()
    trained = TextBiLM(model, VOCABULARY)
    expected = model.bilm(batch_to_ids([["the", "left", "bank"]]))["layer_outputs"][0]
    first, second = trained.encode([["the", "left", "bank"], ""], layers="top")
    assert_close(first, expected[-1])
    assert second.shape == (0, 12) and trained([]) == []
    mixed = trained.encode(["the left bank"], layers=[0.5, 0.0, 2.0])[0]
    assert_close(mixed, 0.5 * expected[0] + 2.0 * expected[2])


@pytest.mark.slow
def test_the_initial_state():
    model = Elmo(make_pretrainer().bilm)
    assert TextBiLM(model).bilm is model.bilm
    warm = TextBiLM(model, initial_state="warm")
    assert warm.model is model and warm.bilm.initial_state == "warm"
    expected = warm.bilm(batch_to_ids([["the"]]))["layer_outputs"][0]
    assert_close(warm("the").vectors, expected)


def test_no_bilm():
    with pytest.raises(ValueError, match="must be a BiLM, BiLMPretrainer or Elmo; got a Seq"):
        TextBiLM(keras.Sequential())
