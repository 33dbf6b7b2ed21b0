import shutil

import numpy as np
import pytest

import tfreps
from tests import tiny_bert
from tfreps.models import BertEncoder, BiLM, Classifier, Elmo, Tagger, TextCNN, TokenEmbedder

WORDS = "good", "bad", "hotel"


def tiny_bilm(**options):
    return BiLM(filters=[[1, 8]], units=8, projection_dim=4, **options)


@pytest.fixture
def published(tmp_path):
    tiny_bilm().save_pretrained(tmp_path / "elmo")
    return tmp_path / "elmo"


def test_published_weights(published):
    bilm = BiLM.from_preset(published, initial_state="warm")
    assert bilm.initial_state == "warm" and bilm.trainable
    elmo = Elmo.from_preset(published, num_output_representations=2)
    assert len(elmo(np.zeros([1, 2, 50], "int32"))["elmo_representations"]) == 2
    assert not elmo.bilm.trainable


def test_an_archive(published, tmp_path, monkeypatch):
    """`from_pretrained` reads what `from_preset` reads, and errors name the archive."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    path = shutil.make_archive(tmp_path / "elmo", "zip", tmp_path, "elmo")
    ids = np.ones([1, 2, 50], "int32")
    expected = BiLM.from_pretrained(published)(ids)["sequence_output"]
    for read in BiLM.from_pretrained, BiLM.from_preset:
        np.testing.assert_array_equal(read(path)(ids)["sequence_output"], expected)
    (published / "weights.hdf5").write_bytes(b"damaged")
    path = shutil.make_archive(tmp_path / "damaged", "zip", tmp_path, "elmo")
    for read in BiLM.from_pretrained, BiLM.from_preset, tfreps.load:
        with pytest.raises(ValueError, match=f"{path}/weights.hdf5") as raised:
            read(path)
        assert "keras" not in str(raised.value)


def test_a_part_of_a_larger_model(tmp_path):
    bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
    Classifier(bert, ["bad", "good"], "pooled").save_preset(tmp_path / "reviews")
    found = BertEncoder.from_preset(tmp_path / "reviews")
    for ours, theirs in zip(found.weights, bert.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="class Classifier; expected one of the class BiLM"):
        BiLM.from_preset(tmp_path / "reviews")
    with pytest.raises(ValueError, match="`num_layers` cannot be changed"):
        BertEncoder.from_preset(tmp_path / "reviews", num_layers=1)


def test_elmo_from_the_preset_of_a_bilm(tmp_path):
    tiny_bilm().save_preset(tmp_path / "mine")
    assert isinstance(Elmo.from_preset(tmp_path / "mine", dropout=0.1), Elmo)


def test_classes_without_another_format(published):
    with pytest.raises(ValueError, match="must be a folder that `save_preset`"):
        TextCNN.from_preset(published)


def test_an_existing_folder_is_kept(tmp_path):
    (tmp_path / "file").write_text("kept")
    model = TextCNN(TokenEmbedder(vocabulary_size=9), num_filters=4)
    with pytest.raises(ValueError, match="is not an empty folder. Choose a new folder"):
        model.save_preset(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_upload_and_load_by_address(hub, tmp_path):
    """A published model opens again, with its vocabulary, and gives the same answers."""
    path, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces(*WORDS))
    mine = tfreps.load(path)
    url = mine.upload_preset("hf://me/my-bert", message="First", private=True)
    assert "/me/my-bert/commit/" in url
    theirs = tfreps.load("hf://me/my-bert")
    np.testing.assert_array_equal(theirs("good hotel").vectors, mine("good hotel").vectors)
    card = hub.repositories["me/my-bert"]["main"]["README.md"].decode()
    assert "# my-bert" in card and "library_name" in card
    names = set(hub.repositories["me/my-bert"]["main"]) - {".gitattributes"}
    assert {"vocab.txt", "tokenizer_config.json", "config.json", "model.safetensors"} <= names
    assert str(tmp_path) not in hub.repositories["me/my-bert"]["main"]["options.json"].decode()


def test_a_tagger_of_the_hub_without_vocabulary(hub):
    tagger = Tagger(TokenEmbedder(vocabulary_size=9), ["O", "X"])
    tagger.upload_preset("hf://me/tagger/small")
    found = Tagger.from_preset("hf://me/tagger/small")
    assert found.tags == ["O", "X"]
    assert type(tfreps.load("hf://me/tagger/small")).__name__ == "LoadedModel"
