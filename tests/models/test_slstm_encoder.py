"""Tests SLSTMEncoder: the embedder, the layer, and the names of its outputs."""

import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps.models import SLSTMEncoder, TokenEmbedder

IDS = np.array([[1, 2, 3, 4, 5, 6], [6, 5, 4, 0, 0, 0], [0] * 6], "int32")


def make(embedding_dim=4, **options):
    embedder = TokenEmbedder(vocabulary_size=6, embedding_dim=embedding_dim)
    return SLSTMEncoder(embedder, **{"units": 4, "num_steps": 3, **options})


@pytest.mark.few(2)
@pytest.mark.parametrize("num_nodes", [0, 1, 2])
def test_is_an_slstm_on_the_embedded_tokens(num_nodes):
    encoder = make(num_sentence_nodes=num_nodes)
    out = encoder({"token_ids": IDS})
    embedded = encoder.embedder({"token_ids": IDS})
    words, sentence = encoder.slstm(embedded["sequence_output"], mask=embedded["mask"])
    np.testing.assert_array_equal(out["sequence_output"], words)
    np.testing.assert_array_equal(out["mask"], IDS > 0)
    assert encoder.project is None and encoder.output_dim == 4
    assert ("pooled_output" in out) == (num_nodes > 0) == (encoder.pooled_dim == 4)
    if num_nodes:
        np.testing.assert_array_equal(out["pooled_output"], sentence[:, 0])
        np.testing.assert_array_equal(out["pooled_output"][2], 0.0)  # no tokens


def test_projects_where_the_widths_differ():
    encoder = make(embedding_dim=3, input_term="embedding", initial_state="embedding")
    out = encoder({"token_ids": IDS})
    x = encoder.embedder({"token_ids": IDS})["sequence_output"] @ encoder.project.kernel
    expected, _ = encoder.slstm(x + encoder.project.bias, mask=IDS > 0)
    assert_close(out["sequence_output"], expected)


def test_reads_masks_with_holes():
    encoder = make()
    mask = np.array([[False, True, True, False, True, True]])
    holed = encoder({"token_ids": IDS[:1], "mask": mask})
    closed = encoder({"token_ids": IDS[:1][mask][None]})
    for name in ("sequence_output", "pooled_output"):
        one = holed[name][mask] if name == "sequence_output" else holed[name][0]
        assert_close(one, closed[name][0])


def test_drops_out_of_the_output_in_training_alone():
    encoder = make(dropout=0.5)
    features = {"token_ids": IDS[:1]}
    exact = encoder(features)
    dropped = encoder(features, training=True)
    for name in ("sequence_output", "pooled_output"):
        ratio = (dropped[name] / exact[name]).numpy()
        assert_close(ratio[ratio != 0], 2.0)
    assert (dropped["sequence_output"].numpy() == 0).mean() > 0.2
