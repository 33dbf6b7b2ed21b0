"""Tests TextCNN against loops over the real windows of each text."""

import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps.models import TextCNN, TokenEmbedder

IDS = np.array([[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 0, 0], [3, 4, 0, 0, 0, 0], [0] * 6], "int32")


def make(**kwargs):
    embedder = TokenEmbedder(vocabulary_size=6, embedding_dim=8)
    return TextCNN(embedder, **{"num_filters": 5, "widths": (1, 3, 4), **kwargs})


def randomize(model):
    rng = np.random.default_rng(1)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape) + 0.5)


def oracle(x, kernel, bias, width):
    """Computes the maxima over the windows of one text of real tokens `[n, D]`."""
    if len(x) == 0:
        return np.zeros(len(bias))
    if len(x) < width:
        x = np.concatenate([x, np.zeros([width - len(x), x.shape[1]])])
    windows = [x[s : s + width].ravel() @ kernel + bias for s in range(len(x) - width + 1)]
    return np.maximum(np.max(windows, axis=0), 0.0)


def test_equals_loops_over_the_real_windows():
    """The biases are positive, so a window of padding would be the maximum."""
    model = make()
    randomize(model)
    x = np.asarray(model.embedder.word_embeddings)
    out = model({"token_ids": IDS})
    for row, ids in enumerate(IDS):
        expected = [
            oracle(x[ids[ids > 0]], np.asarray(kernel), np.asarray(bias), width)
            for kernel, bias, width in zip(model.kernels, model.biases, model.widths, strict=True)
        ]
        assert_close(out["pooled_output"][row], np.concatenate(expected))
    assert out["sequence_output"].shape == (4, 6, 15) and model.output_dim == model.pooled_dim == 15
    np.testing.assert_array_equal(out["pooled_output"], np.max(out["sequence_output"], axis=1))


def test_a_window_with_a_hole_is_none():
    model = make(widths=(2,))
    randomize(model)
    mask = np.array([[True, True, False, True, True, False]])
    ids = np.array([[1, 2, 3, 4, 5, 6]])
    holed = model({"token_ids": ids, "mask": mask})["pooled_output"][0]
    parts = [
        model({"token_ids": np.array([pair])})["pooled_output"][0] for pair in ([1, 2], [4, 5])
    ]
    assert_close(holed, np.maximum(*parts))


def test_texts_of_no_columns():
    out = make()({"token_ids": np.zeros([2, 0], "int32")})
    np.testing.assert_array_equal(out["pooled_output"], np.zeros([2, 15]))


@pytest.mark.parametrize("options", [{"num_filters": 0}, {"widths": []}, {"widths": [3, 0]}])
def test_wrong_sizes(options):
    with pytest.raises(
        ValueError, match="`num_filters` must be at least 1, and `widths` a non-empty"
    ):
        make(**options)


def test_wrong_dropout():
    with pytest.raises(ValueError, match="below 1; got -1"):
        make(dropout=-1)
