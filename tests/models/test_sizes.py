"""Tests that the named sizes have the parameter counts of the published models."""

import math

import pytest

from tfreps._src.convert import bilm_tf
from tfreps._src.models.sizes import BERT, ELMO, SLSTM, SLSTM_TRAINING
from tfreps.models import BertEncoder, BiLM, SLSTMEncoder, TokenEmbedder

# Millions of parameters as published, with 261 characters.
PUBLISHED = {"elmo_small": 13.593, "elmo_medium": 28.028, "elmo_original": 93.601}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_as_many_as_published(name):
    """Counts by the shapes of the published arrays, without creating them."""
    defaults = BiLM(filters=[[1, 1]], units=1, projection_dim=1).get_config()
    rows = bilm_tf.table({**defaults, **ELMO[name]})
    assert sum(math.prod(row.shape) for row in rows) / 1e6 == pytest.approx(
        PUBLISHED[name], abs=0.0005
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", ["elmo_tiny", "elmo_small", pytest.param("elmo_original", marks=pytest.mark.slow)]
)
def test_the_model_is_what_its_table_says(name):
    model = BiLM(**ELMO[name])
    rows = bilm_tf.table(model.get_config())
    no_token = model.character_dim  # this row is not in the files
    assert model.count_params() == sum(math.prod(row.shape) for row in rows) + no_token
    assert model.use_skip_connections and model.cell_clip == model.projection_clip == 3.0
    assert model.max_characters == 50 and model.activation == "relu"


@pytest.mark.parametrize("name, cell", [("slstm_paper", 3_693_000), ("slstm_released", 3_242_700)])
def test_slstm_sizes_have_the_cell_that_was_published(name, cell):
    encoder = SLSTMEncoder(TokenEmbedder(vocabulary_size=3, embedding_dim=300), **SLSTM[name])
    assert encoder.slstm.cell.count_params() == cell
    assert set(SLSTM) == set(SLSTM_TRAINING)


def test_the_recipe_of_the_paper():
    options, training = SLSTM["slstm_paper"], SLSTM_TRAINING["slstm_paper"]
    assert options == {"units": 300, "num_steps": 9, "window": 1, "l2": 0.001}
    assert training["learning_rate"] == 0.001 and training["learning_rate_decay"] == 0.97
    assert training["dropout"] == 0.5 and training["batch_size"] == 10


@pytest.mark.slow
@pytest.mark.parametrize("name, count", [("bert_6x384", 23_243_904), ("bert_tiny", 4_385_920)])
def test_bert_sizes_are_as_large_as_published(name, count):
    vocabulary = {"bert_6x384": 32_162}.get(name, 30_522)
    assert BertEncoder(vocabulary, **BERT[name]).count_params() == count


@pytest.mark.few(1)
@pytest.mark.parametrize("name", sorted(BERT))
def test_bert_sizes_make_encoders(name):
    encoder = BertEncoder(9, **{**BERT[name], "num_layers": 1, "max_sequence_length": 2})
    assert encoder.hidden_dim == BERT[name]["hidden_dim"]
