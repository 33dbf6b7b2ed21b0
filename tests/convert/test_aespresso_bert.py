"""aespresso's state dict: options that follow from its arrays, and outputs."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from benchmarks.bert_cases import AESPRESSO_CONFIG, aespresso_positions, array_of, shapes_of
from tests.closeness import assert_close
from tests.convert.bert_folders import hugging_face
from tfreps.models import BertEncoder, BertPretrainer, Classifier

POSITIONS = "embeddings.position_embeddings.weight"
IDS = np.array([[2, 7, 9, 3, 0], [2, 5, 3, 0, 0]])
FEATURES = {"token_ids": IDS, "segment_ids": IDS // 7, "masked_positions": np.array([[1], [1]])}


def arrays():
    shapes = shapes_of(AESPRESSO_CONFIG, "BertForPreTraining")
    return {name: array_of(name, shape) for name, shape in shapes.items()}


def state_dict(path, change=None):
    """Writes what `torch.save(model.state_dict())` stores: the tied table appears twice."""
    found = arrays()
    found["cls.predictions.decoder.weight"] = found["embeddings.word_embeddings.weight"]
    del found[POSITIONS]
    named = {n if n.startswith("cls.") else f"bert.{n}": array for n, array in found.items()}
    if change is not None:
        change(named)
    save_file(named, path)
    return path


def test_equal_to_the_same_model_with_a_table(tmp_path):
    model = BertPretrainer.from_pretrained(state_dict(tmp_path / "bert.model.epoch.3.safetensors"))
    encoder = model.encoder
    assert (encoder.num_heads, encoder.num_segments, encoder.activation) == (12, 256, "gelu")
    assert (encoder.positions, encoder.normalize_positions) == ("sinusoidal_full_index", True)
    assert (len(encoder.blocks), encoder.intermediate_dim, encoder.dropout) == (2, 96, 0.4)

    def put_table(found):
        found.clear()
        found.update(arrays())
        found[POSITIONS] = aespresso_positions(12, 24)

    config = {key: value for key, value in AESPRESSO_CONFIG.items() if key != "model_type"}
    hugging_face(tmp_path / "table", change=put_table, config=config)
    other = BertPretrainer.from_pretrained(tmp_path / "table")
    for ours, theirs in (model, other), (encoder, other.encoder):
        first, second = ours(FEATURES), theirs(FEATURES)
        for name in first:
            assert_close(first[name], second[name])


def test_label_one_is_the_next_sentence(tmp_path):
    path = state_dict(tmp_path / "x.safetensors")
    model = Classifier.from_pretrained(path, next_sentence=True)
    assert model.labels == ["other", "next"]
    pretrainer = BertPretrainer.from_pretrained(path)
    expected = pretrainer(FEATURES)["next_sentence_logits"]
    assert_close(model(FEATURES)["logits"], expected)
    pretrainer.save_pretrained(tmp_path / "published", next_label=1)  # stored as label 0
    published = Classifier.from_pretrained(tmp_path / "published", next_sentence=True)
    assert published.labels == ["next", "other"]
    assert_close(published(FEATURES)["logits"], expected[:, ::-1])


def test_what_the_file_does_not_tell_is_an_option(tmp_path):
    path = state_dict(tmp_path / "x.safetensors")
    options = {
        "num_heads": 2,
        "normalize_positions": False,
        "num_layers": 1,
        "max_sequence_length": 900,
    }
    encoder = BertEncoder.from_pretrained(path, **options)
    assert {name: getattr(encoder, name) for name in options} == options
    with pytest.raises(
        ValueError, match="`positions` of .* is 'sinusoidal_full_index' and cannot be changed"
    ):
        BertEncoder.from_pretrained(path, positions="sinusoidal")


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda found: found.update({f"bert.{POSITIONS}": np.ones((4, 24), "f")}),
            "a table of position embeddings, .*put its `config.json`",
        ),
        (
            lambda found: found.pop("bert.embeddings.word_embeddings.weight"),
            "word_embeddings.weight is a matrix; got no array of this name",
        ),
        (
            lambda found: found.pop("bert.encoder.layer.1.attention.self.key.bias"),
            "missing: bert.encoder.layer.1.attention.self.key.bias",
        ),
        (lambda found: found.update({"final_dense.weight": np.ones(3, "f")}), "not used: final_d"),
    ],
)
def test_other_files(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        BertEncoder.from_pretrained(state_dict(tmp_path / "x.safetensors", change))
