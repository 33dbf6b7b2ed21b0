"""`pipe` of every loaded model: the results of a call, in order and in bounded memory."""

import itertools

import numpy as np
import pytest

from tests import exported_models
from tests.closeness import assert_close
from tests.inference.test_text_embedder import make
from tests.known_models import TEXTS
from tfreps.inference import TextEmbeddings

pytestmark = pytest.mark.usefixtures("eager_if_quick")
GIVEN = ["Ada lives", "", "in London .", "Ada", "", "lives in London", " "]
KINDS = ["plain", "hmm", "attention", "embedder", "BiLM", "BertEncoder"]


def make_model(kind):
    makers = exported_models.MAKERS
    return makers[kind]() if kind in makers else exported_models.make_trained(kind)


def as_numbers(found):
    """Returns the dict of a result, with arrays of its lists of numbers."""
    return {
        name: np.array(value) if name in ("vectors", "pooled", "confidences") else value
        for name, value in found.asdict().items()
    }


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_those_of_a_call(kind):
    model = make_model(kind)
    whole = model(GIVEN)
    if isinstance(whole, TextEmbeddings):
        whole = [model(text) for text in GIVEN]
    for size in 1, 3, 256:
        found = list(model.pipe(iter(GIVEN), batch_size=size))
        assert len(found) == len(GIVEN)
        for one, other in zip(found, whole, strict=True):
            one, other = as_numbers(one), as_numbers(other)
            assert one.keys() == other.keys()
            for name, value in other.items():
                if isinstance(value, np.ndarray) or name == "probabilities":
                    assert_close(one[name], value, terms=4096)
                elif name == "spans":
                    assert [span["text"] for span in one[name]] == [s["text"] for s in value]
                elif name != "confidence":
                    assert one[name] == value


def test_a_text_without_end_is_read_in_blocks():
    model, read = make()[1], []

    def texts():
        for number in itertools.count():
            read.append(number)
            yield "Ada" if number % 3 else "Rome"

    results = model.pipe(texts(), batch_size=5)
    assert read == []
    for number, found in enumerate(itertools.islice(results, 12)):
        assert found.texts == ("Ada" if number % 3 else "Rome")
        assert_close(found.vectors, TEXTS[found.texts])
        assert len(read) == 5 * (number // 5 + 1)


def test_prompts_and_no_texts():
    embedder, _ = make(prompts={"in": "Rome "})
    [found] = embedder.pipe(["Ada"], prompt="in")
    assert_close(found.vectors, [1.0, 1.0])
    assert list(embedder.pipe([])) == []


def test_errors_come_before_the_first_text_is_read():
    model = make()[1]
    with pytest.raises(ValueError, match="`texts` must be a list of texts; got the string 'Ada'"):
        model.pipe("Ada")
    with pytest.raises(ValueError, match="`batch_size` must be at least 1; got 0"):
        model.pipe(["Ada"], batch_size=0)
