"""Tests BiLSTMEncoder: its layers in order, its dropout, and training."""

import keras
import numpy as np
import pytest

from tests.closeness import assert_close
from tests.models.toy import TAGS, VOCABULARY_SIZE, tagged
from tfreps.models import BiLSTMEncoder, Tagger, TokenEmbedder

IDS = np.array([[1, 2, 3, 4], [5, 6, 0, 0], [0, 0, 0, 0]], "int32")


def make(**kwargs):
    embedder = TokenEmbedder(vocabulary_size=VOCABULARY_SIZE, embedding_dim=6)
    return BiLSTMEncoder(embedder, **{"units": 5, **kwargs})


def test_layers_one_above_the_other():
    encoder = make(num_layers=2, dropout=0.5)
    out, mask = encoder({"token_ids": IDS}), IDS > 0
    first, _ = encoder.bilstms[0](encoder.embedder({"token_ids": IDS})["sequence_output"], mask)
    second, last = encoder.bilstms[1](first, mask=mask)
    assert_close(out["layer_outputs"][:, 0], first)
    assert_close(out["layer_outputs"][:, 1], second)
    np.testing.assert_array_equal(out["sequence_output"], out["layer_outputs"][:, 1])
    assert_close(out["pooled_output"], last)
    assert_close(out["pooled_output"][1, :5], out["sequence_output"][1, 1, :5])
    assert_close(out["pooled_output"][1, 5:], out["sequence_output"][1, 0, 5:])
    assert encoder.output_dim == encoder.pooled_dim == 10


def test_dropout_is_between_the_layers():
    encoder = make(num_layers=2, dropout=0.9)
    one, other = (encoder({"token_ids": IDS}, training=t)["layer_outputs"] for t in (False, True))
    assert_close(one[:, 0], other[:, 0])
    assert np.abs(one[:, 1] - other[:, 1]).max() > 0.01


@pytest.mark.slow
def test_two_layers_learn_and_come_back(tmp_path):
    model = Tagger(make(num_layers=2, units=8), TAGS, use_crf=False, dropout=0.0)
    model.compile(keras.optimizers.Adam(0.02))
    model.fit(tagged(), epochs=12, verbose=0)
    assert model.evaluate(tagged(64, seed=1), verbose=0, return_dict=True)["accuracy"] > 0.97
    model.encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    one, other = model.encoder({"token_ids": IDS}), loaded({"token_ids": IDS})
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])
