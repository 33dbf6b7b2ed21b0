"""Tests SpanF1 against seqeval: random tags, random gaps, any batching."""

import numpy as np
import pytest
import tensorflow as tf

from tests import seqeval_oracle
from tests.closeness import FLOAT64, assert_close
from tests.metrics.batches import evaluate, round_trip, to_batch
from tfreps._src.text.tags.tag_schemes import LETTERS
from tfreps.metrics import SpanF1
from tfreps.tags import MODES


def f1_of(sets):
    """Returns the F1 of a list of `(true set, predicted set)`, one pair per sentence."""
    correct, sizes = sum(len(a & b) for a, b in sets), sum(len(a) + len(b) for a, b in sets)
    return 2 * correct / sizes if sizes else 0.0


def expected(true, pred, scheme, mode):
    return f1_of(
        [
            tuple(set(seqeval_oracle.spans(tags, scheme, mode)) for tags in pair)
            for pair in zip(true, pred, strict=True)
        ]
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scheme", LETTERS)
def test_is_seqeval_however_batched(scheme, mode):
    rng, tags = np.random.default_rng(0), seqeval_oracle.inventory(scheme)
    true = seqeval_oracle.random_sentences(scheme, 400, seed=3)
    pred = seqeval_oracle.noisy(true, scheme, seed=4)
    metric = SpanF1(tags, scheme, mode)
    start = 0
    for size in (1, 7, 0, 150, 42, 200):
        stop = start + size
        metric.update_state(*to_batch(true[start:stop], pred[start:stop], tags, rng))
        start = stop
    value = expected(true, pred, scheme, mode)
    assert 0.2 < value < 0.9
    assert_close(float(metric.result()), value)
    assert_close(metric.scores()["f1"], value, unit=FLOAT64)


@pytest.mark.parametrize("scheme", LETTERS)
def test_is_what_seqeval_returns(scheme):
    """Compares with seqeval's public functions and their averages."""
    pytest.importorskip("seqeval", reason="pip install seqeval, the oracle")
    from seqeval import scheme as schemes
    from seqeval.metrics import f1_score, precision_score, recall_score

    name, letters = seqeval_oracle.SCHEMES[scheme]
    true = seqeval_oracle.random_sentences(scheme, 200, seed=5)
    pred = seqeval_oracle.noisy(true, scheme, seed=6)
    theirs = [[[letters.get(t[0], t[0]) + t[1:] for t in s] for s in x] for x in (true, pred)]
    tags = seqeval_oracle.inventory(scheme)
    batch = to_batch(true, pred, tags, np.random.default_rng(0))
    for average in ("micro", "macro"):
        metric = SpanF1(tags, scheme, average=average)
        metric.update_state(*batch)
        options = {"mode": "strict", "scheme": getattr(schemes, name), "zero_division": 0}
        scores = [
            float(score(*theirs, average=average, **options))
            for score in (precision_score, recall_score, f1_score)
        ]
        assert_close(list(metric.scores().values()), scores)


def test_by_hand():
    tags = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    metric = SpanF1(tags, "bio")
    metric.update_state([[1, 2, 0, 3, 1]], [[1, 2, 2, 3, 0]])  # X 0-2, Y 3-4, X 4-5; X 0-3, Y 3-4
    assert_close(metric.scores(), {"precision": 0.5, "recall": 1 / 3, "f1": 0.4})
    assert metric.counts() == {
        "X": {"correct": 0, "predicted": 1, "true": 2},
        "Y": {"correct": 1, "predicted": 1, "true": 1},
    }
    metric.reset_state()
    assert float(metric.result()) == 0.0 and metric.scores()["precision"] == 0.0


def test_masked_tokens_are_left_out_and_neighbors_join():
    metric = SpanF1(["O", "B-X", "I-X"], "bio")
    #                     B  (O) I         B  (B) I
    metric.update_state([[1, 0, 2]], [[1, 1, 2]], [[True, False, True]])
    assert metric.counts()["X"] == {"correct": 1, "predicted": 1, "true": 1}
    metric.reset_state()
    metric.update_state([[1, 2], [1, 2]], [[1, 2], [0, 0]], [1.0, 0.0])  # a weight per sentence
    assert float(metric.result()) == 1.0


def test_sentences_do_not_join():
    metric = SpanF1(["O", "B-X", "I-X"], "bio", mode="conlleval")
    metric.update_state([[1], [2]], [[1], [1]])
    assert metric.counts()["X"] == {"correct": 2, "predicted": 2, "true": 2}


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [3, 50])
def test_in_a_compiled_model(batch_size):
    tags = seqeval_oracle.inventory("bmes")
    true = seqeval_oracle.random_sentences("bmes", 50, seed=7)
    pred = seqeval_oracle.noisy(true, "bmes", seed=8)
    metric = round_trip(SpanF1(tags, "bmes"))
    batch = to_batch(true, pred, tags, np.random.default_rng(0))
    value = evaluate(metric, *batch, batch_size)
    assert_close(value, expected(true, pred, "bmes", "strict"))


@pytest.mark.slow
def test_under_xla():
    metric = SpanF1(["O", "B-X", "I-X"], "bio")
    update = tf.function(metric.update_state, jit_compile=True)
    update(tf.constant([[1, 2, 0]]), tf.constant([[1, 2, 1]]), tf.constant([[True, True, True]]))
    assert metric.counts()["X"] == {"correct": 1, "predicted": 2, "true": 1}


def test_only_outside_and_empty_batches():
    metric = SpanF1(["O"], "bioes")
    metric.update_state([[0, 0]], [[0, 0]])
    metric.update_state(np.zeros([0, 3], "int32"), np.zeros([0, 3], "int32"))
    metric.update_state(np.zeros([2, 0], "int32"), np.zeros([2, 0], "int32"))
    assert float(metric.result()) == 0.0 and metric.counts() == {}


def test_config_is_complete():
    metric = SpanF1(["O", "B-X"], "bio", "conlleval", "macro", "recall", name="spans")
    assert metric.get_config() == {
        "name": "spans",
        "dtype": "float32",
        "tags": ["O", "B-X"],
        "scheme": "bio",
        "mode": "conlleval",
        "average": "macro",
        "statistic": "recall",
    }
    assert round_trip(metric).get_config() == metric.get_config()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tags": ["O", "X"], "scheme": "bio"}, "'X' is not valid in the scheme 'bio'"),
        ({"tags": ["NN"], "scheme": None}, "Plain tags"),
        ({"tags": ["O"], "scheme": "BIO"}, "`scheme` must be one of"),
        ({"tags": ["O"], "scheme": "bio", "mode": "loose"}, "`mode` must be"),
        ({"tags": ["O"], "scheme": "bio", "average": "weighted"}, "`average` must be"),
        ({"tags": ["O"], "scheme": "bio", "statistic": "F1"}, "`statistic` must be"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        SpanF1(**options)


def test_scores_instead_of_ids():
    with pytest.raises(ValueError, match=r"`y_pred` must be tag ids .* Decode scores"):
        SpanF1(["O"], "bio").update_state([[0]], [[[0.3]]])
