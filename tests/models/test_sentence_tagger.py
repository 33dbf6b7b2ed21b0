"""Spans of taggers and their probabilities, compared with the enumeration of all sequences."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import Problem
from tests.layers.ops.test_chain_spans import all_spans, enumerated, names_of
from tfreps.models import HMMTagger, Tagger, TokenEmbedder

pytestmark = pytest.mark.usefixtures("eager_if_quick")

IDS = np.array([[1, 2, 3, 1], [2, 3, 0, 0], [0, 0, 0, 0], [3, 3, 1, 2]], "int32")
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1]], bool)
FEATURES = {"token_ids": IDS, "mask": MASK}


def make(kind, scheme, temperature):
    names, options = names_of(scheme), {"scheme": scheme, "temperature": temperature}
    if kind == "hmm":
        model = HMMTagger(3, names, unknown_id=3, use_end=True, **options)
        model._draw_probabilities(seed=1)
        return model
    options["use_crf"] = "crf" in kind
    options["constrain"] = "none" if "free" in kind else "both"
    ids = keras.Input([None], dtype="int32", name="token_ids")
    mask = keras.Input([None], dtype="bool", name="mask")
    vectors = keras.layers.Embedding(4, 5)(ids)
    outputs = {"sequence_output": vectors, "mask": mask}
    encoder = keras.Model({"token_ids": ids, "mask": mask}, outputs)
    model = Tagger(encoder, names, dropout=0.0, **options)
    for number, weight in enumerate(model.trainable_weights):
        weight.assign(2 * keras.random.normal(weight.shape, seed=number))
    return model


def problem_of(model):
    """Returns the scores of a model as a `Problem`, divided by its temperature."""
    emissions, mask, *scores = (np.array(x) for x in model._chain(FEATURES))
    return Problem(emissions / model.temperature, mask, *(x / model.temperature for x in scores))


@pytest.mark.few(1)
@pytest.mark.parametrize("temperature", [2.5, 1.0])
@pytest.mark.parametrize("scheme", ["bmes", "bio", "iob1"])
@pytest.mark.parametrize("kind", ["crf", "free crf", "softmax", "free softmax", "hmm"])
def test_spans_have_the_enumerated_probability(kind, scheme, temperature):
    model = make(kind, scheme, temperature)
    problem, names = problem_of(model), model.tags
    spans = all_spans(4, len(model.span_types), len(IDS))
    found = np.exp(model.span_log_probability(FEATURES, spans))
    likely, values = model.likely_spans(FEATURES, threshold=0.2)
    tagged = model.tag(FEATURES)
    for row in range(len(IDS)):
        expected = enumerated(problem, row, names, scheme)
        wanted = [expected.get(tuple(span), 0.0) for span in spans[row]]
        assert_close(found[row], wanted, magnitude=1.0)
        above = {tuple(span) for span in likely[row].numpy().tolist()} - {(-1, 0, 0)}
        assert above == {span for span, value in expected.items() if value >= 0.2}
        assert (np.exp(values[row])[: len(above)] >= 0.2).all()
        best = tagged["spans"][row].numpy().tolist()
        wanted = [expected.get(tuple(span), 0.0) for span in best]
        assert_close(tagged["span_confidences"][row], wanted, magnitude=1.0)


@pytest.mark.slow
def test_a_graph_and_an_export_give_the_same_spans(tmp_path):
    model = make("crf", "bio", 1.0)
    expected = model.tag(FEATURES)
    assert sorted(expected) == ["confidences", "mask", "span_confidences", "spans", "tags"]
    model.export(str(tmp_path / "export"), verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "export"))
    served = loaded.serve(FEATURES)
    np.testing.assert_array_equal(served["spans"], expected["spans"])
    assert_close(served["span_confidences"], expected["span_confidences"])
    predicted = model.predict(FEATURES, verbose=0)
    np.testing.assert_array_equal(predicted["spans"], expected["spans"])


def test_wrong_arguments():
    model = make("crf", "bio", 1.0)
    with pytest.raises(ValueError, match=r"`spans` must have the shape \[B, N, 3\]"):
        model.span_log_probability(FEATURES, [[0, 1]])
    with pytest.raises(ValueError, match=r"here \(\d+, None, 3\); got shape \(1, 1, 3\)"):
        model.span_log_probability(FEATURES, [[(0, 0, 1)]])  # would be used for every sentence
    for threshold in 0.0, 1e-4, 1.5:
        with pytest.raises(ValueError, match="`threshold` must be a probability from 0.001 to 1"):
            model.likely_spans(FEATURES, threshold)
    plain = Tagger(TokenEmbedder(3, 3), ["N", "V"])
    assert plain.span_types == []
    with pytest.raises(ValueError, match="do not form spans, because its `scheme` is None"):
        plain.likely_spans({"token_ids": IDS})
