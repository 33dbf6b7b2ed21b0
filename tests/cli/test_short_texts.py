"""A short text is computed without a trace, with the same result."""

import keras
import numpy as np
import pytest

from tests import known_models
from tests.closeness import assert_close
from tests.known_models import TAGS, WORDS, softmax
from tfreps.cli.short_texts import LONGEST, MOST_TOKENS, run_short_text_eagerly
from tfreps.inference.load import load


@pytest.mark.parametrize(
    "lengths, is_all, eager",
    [
        ([LONGEST], True, True),
        ([LONGEST + 1], True, False),
        ([LONGEST] + [1] * (MOST_TOKENS // LONGEST - 1), True, True),
        ([LONGEST] + [1] * (MOST_TOKENS // LONGEST), True, False),  # padding counts
        ([1], False, False),
        ([], True, True),
    ],
)
def test_only_one_small_batch_is_eager(lengths, is_all, eager):
    model = keras.Sequential()
    run_short_text_eagerly(model, [["a"] * length for length in lengths], is_all)
    assert model.run_eagerly == eager


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_a_model_in_16_bits_is_traced(policy):
    """Operations of a trace are fused and round once; each eager operation rounds its result."""
    model = keras.Sequential([keras.Sequential([keras.layers.Dense(2, dtype=policy)])])
    run_short_text_eagerly(model, [["a"]], is_all=True)
    assert model.run_eagerly == (policy == "float32")


def test_a_model_changes_from_one_to_the_other(tmp_path):
    tagger = load(known_models.tagger_run(tmp_path / "run").path)
    for is_all in (True, False, True):
        run_short_text_eagerly(tagger.model, [["Ada"]], is_all)
        assert tagger([["Ada"]])[0].tags == ["B-PER"]
        assert hasattr(tagger.model.predict_function, "get_concrete_function") != is_all


@pytest.mark.parametrize("is_all", [False, True])
def test_the_answers_are_the_same(is_all, tmp_path):
    tagger = load(known_models.tagger_run(tmp_path / "run").path)
    texts = [["Ada", "saw", "Rome"], ["slept"]]
    run_short_text_eagerly(tagger.model, texts, is_all)
    answers = tagger(texts)
    assert hasattr(tagger.model.predict_function, "get_concrete_function") != is_all  # a trace
    for text, answer in zip(texts, answers, strict=True):
        assert answer.tags == [TAGS[np.argmax(WORDS[word])] for word in text]
        wanted = [softmax(WORDS[word]).max() for word in text]
        assert_close(answer.confidences, wanted)
