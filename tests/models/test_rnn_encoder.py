"""Tests BiLSTMEncoder and BiGRUEncoder: the order of their layers, and their dropout."""

import numpy as np
import pytest

from tests.closeness import assert_close
from tests.models.toy import VOCABULARY_SIZE
from tfreps.models import BiGRUEncoder, BiLSTMEncoder, TokenEmbedder

IDS = np.array([[1, 2, 3, 4], [5, 6, 0, 0], [0, 0, 0, 0]], "int32")


@pytest.fixture(params=[BiLSTMEncoder, BiGRUEncoder])
def cls(request):
    return request.param


def make(cls, **kwargs):
    embedder = TokenEmbedder(vocabulary_size=VOCABULARY_SIZE, embedding_dim=6)
    return cls(embedder, **{"units": 5, **kwargs})


def test_layers_one_above_the_other(cls):
    encoder = make(cls, num_layers=2, dropout=0.5)
    out, mask = encoder({"token_ids": IDS}), IDS > 0
    first, _ = encoder.rnns[0](encoder.embedder({"token_ids": IDS})["sequence_output"], mask)
    second, last = encoder.rnns[1](first, mask=mask)
    assert_close(out["layer_outputs"][:, 0], first)
    assert_close(out["layer_outputs"][:, 1], second)
    np.testing.assert_array_equal(out["sequence_output"], out["layer_outputs"][:, 1])
    assert_close(out["pooled_output"], last)
    assert_close(out["pooled_output"][1, :5], out["sequence_output"][1, 1, :5])
    assert_close(out["pooled_output"][1, 5:], out["sequence_output"][1, 0, 5:])
    assert encoder.output_dim == encoder.pooled_dim == 10


def test_dropout_is_between_the_layers(cls):
    encoder = make(cls, num_layers=2, dropout=0.9)
    one, other = (encoder({"token_ids": IDS}, training=t)["layer_outputs"] for t in (False, True))
    assert_close(one[:, 0], other[:, 0])
    assert np.abs(one[:, 1] - other[:, 1]).max() > 0.01
